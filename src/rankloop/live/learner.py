"""Learners: a policy for one key, in terms of names, that can be packed away and brought back.

A learner's state depends on its journal entries alone: its lists, its choices, what it learned. Everything here is
therefore deterministic, and the same code runs in front of users and in a replay.
"""

from __future__ import annotations

import copy
import json
import threading
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankloop.kernels import stream
from rankloop.live.entries import Choice, News
from rankloop.live.settings import Settings
from rankloop.policies import Duel, Ranking
from rankloop.policies.base import choose_once, learn_once
from rankloop.policies.features.ridge import new_ridge

IDENTITY = "live"
"""All choices of a learner's policy carry this; the journal knows which learner they belong to."""

FORMAT = 1
"""Of packed learners: raised when a policy's state changes, so that old ones are made anew from the journal."""

OVERHEAD = 2_800
"""Bytes that a learner takes besides its policy's arrays and its names."""


class Learner:
    """What all learners share: a lock, the current list, and a policy that is packed with it."""

    kind = ""

    def __init__(self, number: int, loop: int, key: str, settings: Settings, seed: int | None) -> None:
        self.number, self.loop, self.key, self.settings, self.seed = number, loop, key, settings, seed
        self.lock: Any = threading.RLock()
        self.version = 0
        """Number of the LIST entry that the current list comes from; 0 before the first."""
        self.names: tuple[str, ...] = ()
        self.rows: tuple[int, ...] = ()
        """Where the items of the list stand in the loop's catalogue, if it has one."""
        self.policy: Any = None
        self.applied = 0
        """Number of the last entry that changed this learner."""
        self.packed = 0
        """Number of the entry after which it was last packed for the store."""
        self.reverted = 0
        """Lists that were shown before this entry are not learned from."""
        self.session = 0
        """Number of the OPENED entry whose random numbers it uses; 0 for those of its seed."""
        self.counted = 0
        """Bytes that it has been counted with."""
        self.gone = False
        """Whether it has been packed away, so that whoever still holds it must ask for it again."""
        self._noted = 0
        """How many decisions its policy had taken when they were last looked at."""

    # -- what happens to it --------------------------------------------------------------------------------------

    def relist(self, version: int, names: Sequence[str], rows: Sequence[int] = ()) -> None:
        """Take another list: what is known of items that stay is kept."""
        raise NotImplementedError

    def _take_names(self, version: int, names: Sequence[str]) -> list[int | None]:
        """Take over the names of another list, and return where each stood before, or None where it is new."""
        place = {name: i for i, name in enumerate(self.names)}
        self.version, self.names = version, tuple(names)
        return [place.get(name) for name in self.names]

    def choose(self) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """What to show next, by place in the current list, and what must be noted of the choice."""
        raise NotImplementedError

    def learn(self, choice: Choice, names: Sequence[str], clicks: Sequence[int], seen: int | None) -> bool:
        """Learn from the clicked positions of a list of this learner; False where its policy cannot use it any more.

        `names` is the list that the choice's items are counted in.
        """
        raise NotImplementedError

    def best(self) -> list[str]:
        """What looks best now, with nothing shown for the sake of learning."""
        raise NotImplementedError

    def news(self) -> News | None:
        """What the policy has decided since this was last asked, or since it was brought back or given its list."""
        n = getattr(self.policy, "n_decisions", 0)
        if n == self._noted:
            return None
        pairs = self._decisions()
        self._note()
        return News(self.version, tuple(pairs)) if pairs else None

    def _note(self) -> None:
        """All that the policy has decided until now is known."""
        self._noted = getattr(self.policy, "n_decisions", 0)

    def _decisions(self) -> list[tuple[int, int]]:
        return []

    def reseed(self, session: int, seed: int) -> None:
        """Begin new random numbers, since some of the old ones may have been used for lists that were lost."""
        self.session = session
        if self.policy is not None:
            self.policy.state.rng[:] = stream(seed, self.number)

    def revert(self, at: int) -> None:
        """Forget everything and go back to production's list."""
        self.reverted = at
        if self.policy is not None:
            rng = self.policy.state.rng.copy()
            self.policy = self._new_policy()
            self.policy.state.rng[:] = rng
        self._note()

    def _new_policy(self) -> Any:
        return _lean(self.settings.make_policy(len(self.names), seed=self.seed))

    # -- packing -------------------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """About how many bytes it takes in memory."""
        arrays = sum(array.nbytes for array in self._arrays())
        return OVERHEAD + arrays + size_of_names(self.names)

    def _arrays(self) -> list[npt.NDArray[Any]]:
        """The arrays of the policy's state, those of states inside it included."""
        return [] if self.policy is None else list(_arrays_of(self.policy.kept))

    def pack(self) -> bytes:
        """The whole state as bytes: a line of JSON, then the policy's arrays."""
        head = {
            "format": FORMAT,
            "seed": self.seed,
            "version": self.version,
            "names": self.names,
            "applied": self.applied,
            "reverted": self.reverted,
            "session": self.session,
            **self._more(),
        }
        content = [json.dumps(head, ensure_ascii=False).encode(), b"\n", *(each.tobytes() for each in self._arrays())]
        return zlib.compress(b"".join(content), 1)

    def _more(self) -> dict[str, Any]:
        return {}

    def unpack(self, state: bytes) -> None:
        """Take over a packed state."""
        head, _, rest = zlib.decompress(state).partition(b"\n")
        values = json.loads(head)
        if values["format"] != FORMAT:
            raise ValueError(f"the snapshot of learner {self.number} has format {values['format']}, not {FORMAT}")
        self.seed, self.version, self.names = values["seed"], values["version"], tuple(values["names"])
        self.applied = self.packed = values["applied"]
        self.reverted, self.session = values["reverted"], values["session"]
        self._take(values)
        if not self.version:
            return
        self.policy = self._new_policy()
        at = 0
        for array in self._arrays():
            array[...] = np.frombuffer(rest, array.dtype, array.size, at).reshape(array.shape)
            at += array.nbytes
        if at != len(rest):
            raise ValueError(f"the snapshot of learner {self.number} is of another version of rankloop")
        self._note()

    def _take(self, values: dict[str, Any]) -> None:
        pass


def size_of_names(names: Sequence[str]) -> int:
    """About how many bytes the names of a list take in memory."""
    return 200 + sum(map(len, names)) + 60 * len(names)


def _lean(policy: Any) -> Any:
    """A policy without what only programs need that keep no journal: a memory of the draws behind its lists."""
    policy.identity = IDENTITY
    if hasattr(policy.state, "draws"):
        policy.state = policy.state._replace(draws=np.zeros((2, 0), np.uint64))
    return policy


def _arrays_of(state: Any) -> Iterator[npt.NDArray[Any]]:
    for value in state:
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, tuple):
            yield from _arrays_of(value)


class ListLearner(Learner):
    """Learns a list for one key: for loops that re-rank, or that follow change."""

    kind = "list"

    def __init__(self, number: int, loop: int, key: str, settings: Settings, seed: int | None) -> None:
        super().__init__(number, loop, key, settings, seed)
        self._items: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._notes: npt.NDArray[np.float64] = np.zeros(0)

    def relist(self, version: int, names: Sequence[str], rows: Sequence[int] = ()) -> None:
        """Take another production list: items that stay keep their evidence, new ones stand where they were put."""
        del rows
        kept = self._take_names(version, names)
        if self.policy is None:
            self.policy = self._new_policy()
        else:
            positions = min(self.settings.positions, len(kept))
            self.policy = _lean(self.policy.relisted(kept, n_positions=positions))
        self._note()

    def _decisions(self) -> list[tuple[int, int]]:
        return [(raised, lowered) for _, raised, lowered in self.policy.exchanges(self._noted)]

    def choose(self) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """The list to show next."""
        policy = self.policy
        if len(self._items) != policy.n_positions or len(self._notes) != policy.n_notes:
            self._items, self._notes = np.zeros(policy.n_positions, np.int64), np.zeros(policy.n_notes)
        choose_once(policy.state, self._items, self._notes)
        return tuple(self._items.tolist()), tuple(self._notes.tolist())

    def learn(self, choice: Choice, names: Sequence[str], clicks: Sequence[int], seen: int | None) -> bool:
        """Learn from the clicks on a list of this learner, as far as its items are still there."""
        policy = self.policy
        clicked = [0] * len(choice.items)
        for position in clicks:
            clicked[position] = 1
        if choice.version == self.version:
            observed = np.array(clicked[:seen], np.uint8)
            if len(observed):  # the journal, or a signature, says that the list is this learner's: no need to check it
                learn_once(policy.state, np.array(choice.items), np.array(choice.notes, np.float64), observed)
            return True
        place = {name: i for i, name in enumerate(self.names)}
        items = [place.get(names[item]) for item in choice.items]
        return bool(policy.update_outdated(items, choice.notes, clicked, seen))

    def best(self) -> list[str]:
        """The list that looks best now."""
        return [self.names[item] for item in self.policy.best]


class DuelLearner(Learner):
    """Learns which ranker is best."""

    kind = "duel"

    def relist(self, version: int, names: Sequence[str], rows: Sequence[int] = ()) -> None:
        """Take another set of rankers: some may have joined, others left."""
        del rows
        kept = self._take_names(version, names)
        self.policy = self._new_policy() if self.policy is None else _lean(self.policy.relisted(kept))
        self._note()

    def _note(self) -> None:
        super()._note()
        self._lost: frozenset[int] = frozenset(self.policy.lost) if self._noted else frozenset()

    def _decisions(self) -> list[tuple[int, int]]:
        policy = self.policy
        pairs = [(policy.beaten_by(ranker), ranker) for ranker in policy.lost if ranker not in self._lost]
        return pairs if policy.winner is None else [*pairs, (policy.winner, policy.winner)]

    def choose(self) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """The two rankers to compare next."""
        duel = self.policy.duel()
        return (duel.left, duel.right), duel.notes

    def learn_winner(self, choice: Choice, names: Sequence[str], winner: int) -> bool:
        """Learn that a ranker, the left one (0) or the right one (1), has won."""
        pair = choice.items
        if choice.version != self.version:
            place = {name: i for i, name in enumerate(self.names)}
            now = [place.get(names[ranker]) for ranker in pair]
            if None in now:
                return False
            pair = tuple(ranker for ranker in now if ranker is not None)
        self.policy.update(Duel(pair[0], pair[1], choice.notes, policy=IDENTITY), winner=pair[winner])
        return True

    def best(self) -> list[str]:
        """The ranker that looks best now."""
        return [self.names[self.policy.best]]


class Catalogue:
    """The items of a loop that ranks by features. Rows are never given twice: an item that changes gets a new one."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.row: dict[str, int] = {}
        self.lock = threading.RLock()
        self.edition = 0
        """Number of the ITEMS entry that was taken last."""
        self._relevance = np.zeros((0, settings.relevance))
        self._topics = np.zeros((0, len(settings.topics)))
        self._policy: Any = None

    def put(self, edition: int, names: Sequence[str], relevance: Any, topics: Any) -> None:
        """Take items, new or changed."""
        z = np.asarray(relevance, np.float64).reshape(len(names), self.settings.relevance)
        x = np.asarray(topics, np.float64).reshape(len(names), len(self.settings.topics))
        first = len(self._relevance)
        self._relevance, self._topics = np.concatenate([self._relevance, z]), np.concatenate([self._topics, x])
        self._policy = None
        self.row.update({name: first + i for i, name in enumerate(names)})
        self.edition = edition

    def check(self, loop: str, names: Sequence[str]) -> None:
        """Refuse items whose features are not known."""
        for name in names:
            if name not in self.row:
                raise ValueError(
                    f"item {name!r} is not in the catalogue of loop {loop!r}: give its features to put_items first"
                )

    def policy(self) -> Any:
        """A policy over all items that knows nothing; learners share its catalogue."""
        if self._policy is None:
            self._policy = self.settings.make_policy(0, features=(self._relevance, self._topics))
            self._policy.identity = IDENTITY
        return self._policy


class FeatureLearner(Learner):
    """Learns what one user, or one segment, cares for: for loops that diversify."""

    kind = "features"

    def __init__(
        self, number: int, loop: int, key: str, settings: Settings, seed: int | None, catalogue: Catalogue
    ) -> None:
        super().__init__(number, loop, key, settings, seed)
        self.catalogue = catalogue
        self.lock = catalogue.lock  # learners of one loop share what they compute with
        self._edition = -1

    def relist(self, version: int, names: Sequence[str], rows: Sequence[int] = ()) -> None:
        """Take another set of candidates; the model of the user stays as it is."""
        self.version, self.names, self.rows = version, tuple(names), tuple(rows)
        if self.policy is None:
            self.policy = self._new_policy()

    def _new_policy(self) -> Any:
        policy = copy.copy(self.catalogue.policy())
        policy._lock = threading.RLock()
        state = policy.state
        policy.state = state._replace(
            model=new_ridge(len(state.model.weights), policy.ridge),
            widths=state.widths.copy(),
            rng=stream(self.seed),
        )
        self._edition = self.catalogue.edition
        return policy

    def _up_to_date(self) -> Any:
        if self._edition != self.catalogue.edition:
            self.policy.adopt_catalogue(self.catalogue.policy())
            self._edition = self.catalogue.edition
        return self.policy

    def choose(self) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """The list to show next, from the candidates."""
        ranking = self._up_to_date().rank(candidates=self.rows)
        place = {row: i for i, row in enumerate(self.rows)}
        return tuple(place[row] for row in ranking), tuple(float(row) for row in ranking)

    def learn(self, choice: Choice, names: Sequence[str], clicks: Sequence[int], seen: int | None) -> bool:
        """Learn from the clicks on a list of this learner; its rows are in the notes, whatever the list is now."""
        del names
        policy = self._up_to_date()
        clicked = [0] * len(choice.items)
        for position in clicks:
            clicked[position] = 1
        policy.update(Ranking([int(row) for row in choice.notes], policy=policy._tag), clicked, seen=seen)
        return True

    def best(self) -> list[str]:
        """The candidates in the order that looks best now."""
        policy = self._up_to_date()
        ranked = copy.copy(policy)
        ranked.state = policy.state_without_exploring
        place = {row: i for i, row in enumerate(self.rows)}
        return [self.names[place[row]] for row in ranked.rank(candidates=self.rows)]

    def _arrays(self) -> list[npt.NDArray[Any]]:
        return [] if self.policy is None else list(_arrays_of((self.policy.state.rng, self.policy.state.model)))

    def _more(self) -> dict[str, Any]:
        return {"rows": self.rows}

    def _take(self, values: dict[str, Any]) -> None:
        self.rows = tuple(values["rows"])


def new_learner(
    number: int, loop: int, key: str, settings: Settings, seed: int | None, catalogue: Catalogue | None
) -> Learner:
    """A learner of the kind that a loop's settings ask for."""
    if catalogue is not None:
        return FeatureLearner(number, loop, key, settings, seed, catalogue)
    kind = DuelLearner if settings.kind == "evaluate" else ListLearner
    return kind(number, loop, key, settings, seed)
