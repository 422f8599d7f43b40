"""The learners of each kind of loop: of lists, of duels, and of what is known of items."""

from __future__ import annotations

import copy
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from rankloop.arrays import Array, Floats, Ints
from rankloop.kernels import stream
from rankloop.live.entries import Choice
from rankloop.live.learner import IDENTITY, Learner, arrays_of, lean
from rankloop.live.loop_items import LoopItems
from rankloop.live.settings import Settings
from rankloop.policies import Duel, Ranking
from rankloop.policies.base import choose_once, learn_once
from rankloop.policies.features.ridge import new_ridge


class ListLearner(Learner):
    """Learns a list for one key: for loops that re-rank, or that follow change."""

    kind = "list"

    def __init__(self, number: int, loop: int, key: str, settings: Settings, seed: int | None) -> None:
        super().__init__(number, loop, key, settings, seed)
        self._items: Ints = np.zeros(0, np.int64)
        self._notes: Floats = np.zeros(0)

    def relist(self, version: int, names: Sequence[str], rows: Sequence[int] = ()) -> None:
        """Take another production list: items that stay keep their evidence, new ones stand where they were put."""
        del rows
        kept = self._take_names(version, names)
        if self.policy is None:
            self.policy = self._new_policy()
        else:
            positions = min(self.settings.positions, len(kept))
            self.policy = lean(self.policy.relisted(kept, n_positions=positions))
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
        self.policy = self._new_policy() if self.policy is None else lean(self.policy.relisted(kept))
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


class FeatureLearner(Learner):
    """Learns what one user, or one segment, cares for: for loops that diversify."""

    kind = "features"

    def __init__(
        self, number: int, loop: int, key: str, settings: Settings, seed: int | None, items: LoopItems
    ) -> None:
        super().__init__(number, loop, key, settings, seed)
        self.items = items
        self.lock = items.lock  # learners of one loop share what they compute with
        self._edition = -1

    def relist(self, version: int, names: Sequence[str], rows: Sequence[int] = ()) -> None:
        """Take another set of candidates; the model of the user stays as it is."""
        self.version, self.names, self.rows = version, tuple(names), tuple(rows)
        if self.policy is None:
            self.policy = self._new_policy()

    def _new_policy(self) -> Any:
        policy = copy.copy(self.items.policy())
        policy._lock = threading.RLock()
        state = policy.state
        policy.state = state._replace(
            model=new_ridge(len(state.model.weights), policy.ridge),
            widths=state.widths.copy(),
            rng=stream(self.seed),
        )
        self._edition = self.items.edition
        return policy

    def up_to_date(self) -> Any:
        """The policy, over the items that there are now."""
        if self._edition != self.items.edition:
            self.policy.adopt_catalogue(self.items.policy())
            self._edition = self.items.edition
        return self.policy

    def choose(self) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """The list to show next, from the candidates."""
        ranking = self.up_to_date().rank(candidates=self.rows)
        place = {row: i for i, row in enumerate(self.rows)}
        return tuple(place[row] for row in ranking), tuple(float(row) for row in ranking)

    def learn(self, choice: Choice, names: Sequence[str], clicks: Sequence[int], seen: int | None) -> bool:
        """Learn from the clicks on a list of this learner; its rows are in the notes, whatever the list is now."""
        del names
        policy = self.up_to_date()
        clicked = [0] * len(choice.items)
        for position in clicks:
            clicked[position] = 1
        policy.update(Ranking([int(row) for row in choice.notes], policy=policy._tag), clicked, seen=seen)
        return True

    def best(self) -> list[str]:
        """The candidates in the order that looks best now."""
        policy = self.up_to_date()
        ranked = copy.copy(policy)
        ranked.state = policy.state_without_exploring
        place = {row: i for i, row in enumerate(self.rows)}
        return [self.names[place[row]] for row in ranked.rank(candidates=self.rows)]

    def _arrays(self) -> list[Array]:
        return [] if self.policy is None else list(arrays_of((self.policy.state.rng, self.policy.state.model)))

    def _more(self) -> dict[str, Any]:
        return {"rows": self.rows}

    def _take(self, values: dict[str, Any]) -> None:
        self.rows = tuple(values["rows"])


def new_learner(
    number: int, loop: int, key: str, settings: Settings, seed: int | None, items: LoopItems | None
) -> Learner:
    """A learner of the kind that a loop's settings ask for."""
    if items is not None:
        return FeatureLearner(number, loop, key, settings, seed, items)
    kind = DuelLearner if settings.kind == "evaluate" else ListLearner
    return kind(number, loop, key, settings, seed)
