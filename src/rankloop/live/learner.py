"""Learners: a policy for one key, in terms of names, that can be packed away and brought back.

A learner's state depends on its journal entries alone: its lists, its choices, what it learned. Everything here is
therefore deterministic, and the same code runs in front of users and in a replay.
"""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rankloop.arrays import Array
from rankloop.kernels import stream
from rankloop.live.entries import Choice, News
from rankloop.live.settings import Settings

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
        return lean(self.settings.make_policy(len(self.names), seed=self.seed))

    # -- packing -------------------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """About how many bytes it takes in memory."""
        arrays = sum(array.nbytes for array in self._arrays())
        return OVERHEAD + arrays + size_of_names(self.names)

    def _arrays(self) -> list[Array]:
        """The arrays of the policy's state, those of states inside it included."""
        return [] if self.policy is None else list(arrays_of(self.policy.kept))

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


def lean(policy: Any) -> Any:
    """A policy without what only programs need that keep no journal: a memory of the draws behind its lists."""
    policy.identity = IDENTITY
    if hasattr(policy.state, "draws"):
        policy.state = policy.state._replace(draws=np.zeros((2, 0), np.uint64))
    return policy


def arrays_of(state: Any) -> Iterator[Array]:
    """The arrays of a state, those of states inside it included."""
    for value in state:
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, tuple):
            yield from arrays_of(value)
