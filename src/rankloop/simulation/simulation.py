"""A policy in an environment, and what the simulations of duels and of lists have in common."""

from __future__ import annotations

import copy
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rankloop.arrays import Ints
from rankloop.kernels import stream
from rankloop.runs import Advance, Run

SLICE_SECONDS = 0.1
"""About how long compiled code runs before Python can report progress, or stop."""


@dataclass(frozen=True)
class Simulation(ABC):
    """A policy and what answers it; for lists also how many positions count, and which list is the safe one."""

    policy: Any
    environment: Any
    top: int | None = None
    initial: Sequence[int] | None = None

    @abstractmethod
    def check(self) -> None:
        """Refuse a policy that cannot be simulated in this environment."""

    @abstractmethod
    def environment_state(self) -> Any:
        """The state of the environment that compiled code gets."""

    @abstractmethod
    def warm_up(self) -> None:
        """Compile the loop before the clock and the threads start."""

    @abstractmethod
    def run(self, number: int, seed: int, checkpoints: Ints, horizon: int, advance: Advance) -> Run:
        """Run a fresh copy of the policy once; all random numbers follow from the seed and the number of the run.

        `advance` is told of the steps done, about ten times per second, and may raise to end the run.
        """

    def require(self, *methods: str) -> None:
        """Refuse a policy without these methods."""
        if not all(callable(getattr(self.policy, method, None)) for method in methods):
            raise ValueError(
                f"a policy in {self.environment!r} needs the methods {' and '.join(methods)}, "
                f"which {self.policy!r} does not have"
            )

    def fresh_policy(self, number: int, seed: int) -> Any:
        """A copy of the policy with random numbers of its own, as it was before its first step."""
        fresh = getattr(self.policy, "fresh", None)
        return fresh(int(stream(seed, number, 0)[0])) if callable(fresh) else copy.deepcopy(self.policy)


class Slices:
    """Finds out how many steps take about a tenth of a second, and does as many at a time."""

    def __init__(self, advance: Advance) -> None:
        self._advance = advance
        self._size = 64

    def run(self, play: Callable[[int], int], most: int) -> tuple[int, bool]:
        """Do at most that many steps; tell how many were done, and whether the policy has settled before."""
        n = min(self._size, most)
        begin = time.perf_counter()
        done = play(n)
        if done == self._size:
            took = max(1e-9, time.perf_counter() - begin)
            self._size = round(self._size * min(8.0, SLICE_SECONDS / took)) + 1
        self._advance(done)
        return done, done < n
