"""What is simulated: a policy in an environment, or in each of a collection of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankloop.environments import ClickProblem, HybridProblem, PreferenceMatrix
from rankloop.simulation import duels, lists
from rankloop.simulation.progress import Advance
from rankloop.simulation.result import Run


@dataclass(frozen=True)
class Problem:
    """A policy, what answers it, and, for lists, how many positions count and which list is the safe one."""

    policy: Any
    environment: Any
    top: int | None = None
    initial: Sequence[int] | None = None

    @property
    def is_duel(self) -> bool:
        """Whether rankers are compared, not lists shown."""
        return isinstance(self.environment, PreferenceMatrix)

    def check(self) -> None:
        """Refuse a policy that cannot be simulated in this environment."""
        ask = "duel" if self.is_duel else "rank"
        if not all(callable(getattr(self.policy, method, None)) for method in (ask, "update")):
            raise ValueError(
                f"a policy in {self.environment!r} needs the methods {ask} and update, which {self.policy!r} has not"
            )
        if self.is_duel:
            if self.top is not None or self.initial is not None:
                raise ValueError("top and initial are for lists, not for duels")
            duels.check_problem(self.policy, self.environment)
        else:
            lists.check_problem(self.policy, self.environment, self.top, self.initial)

    def warm_up(self) -> None:
        """Compile the loop before the clock and the threads start."""
        if self.is_duel:
            duels.warm_up(self.policy, self.environment)
        else:
            lists.warm_up(self.policy, self.environment, self.top, self.initial)

    def play(self, run: int, seed: int, checkpoints: npt.NDArray[np.int64], horizon: int, report: Advance) -> Run:
        """One run from scratch."""
        if self.is_duel:
            return duels.play(self.policy, self.environment, run, seed, checkpoints, horizon, report)
        return lists.play(
            self.policy, self.environment, run, seed, checkpoints, horizon, report, self.top, self.initial
        )


def problems(policy: Any, environment: Any, top: int | None, initial: Sequence[int] | None) -> list[Problem]:
    """The problems of a collection of environments, or the one of a single environment, checked."""
    single = isinstance(environment, ClickProblem | HybridProblem) or not isinstance(environment, list | tuple)
    found = [_problem(policy, each, top, initial) for each in ([environment] if single else environment)]
    if not found:
        raise ValueError("there is no environment to simulate in: the collection is empty")
    for problem in found:
        problem.check()
    return found


def _problem(policy: Any, environment: Any, top: int | None, initial: Sequence[int] | None) -> Problem:
    given = environment
    if isinstance(environment, ClickProblem):
        initial = environment.initial if initial is None else initial
        environment = environment.environment
    elif isinstance(environment, HybridProblem):
        environment = environment.environment
    if not (isinstance(environment, PreferenceMatrix) or hasattr(environment, "state_at")):
        raise ValueError(f"environment must be a PreferenceMatrix or users who click, not {environment!r}")
    if not hasattr(policy, "update") and callable(policy):
        policy = policy(given)
    if initial is None and hasattr(environment, "attraction"):
        initial = getattr(policy, "initial", None)
    return Problem(policy, environment, top, initial)


def digest(found: Sequence[Problem]) -> str:
    """A fingerprint of the environments."""
    hashed = hashlib.blake2b(digest_size=16)
    for problem in found:
        state = problem.environment.state if problem.is_duel else problem.environment.state_at(problem.top)
        for value in (type(state).__qualname__, problem.initial, *_flat(state)):
            hashed.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
    return hashed.hexdigest()


def _flat(state: tuple[Any, ...]) -> Iterator[Any]:
    """The arrays and numbers of a state, those of states within it included."""
    for value in state:
        if isinstance(value, tuple):
            yield type(value).__qualname__
            yield from _flat(value)
        else:
            yield value
