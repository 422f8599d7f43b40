"""Units of work: one run of one policy in one environment, alone or several in one errand."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankloop.policies import Policy
from rankloop.simulation.problems import Problem
from rankloop.simulation.result import Run


class Stopped(Exception):
    """Raised inside a unit that is asked to end before its horizon."""


class Pulse:
    """How far an errand is, and whether it shall go on; in another process, only the copy that travels with it.

    >>> pulse = Pulse()
    >>> pulse(64)
    >>> pulse.steps
    64
    """

    def __init__(self) -> None:
        self.steps = 0
        self.stopping = False

    def __call__(self, steps: int) -> None:
        """Count steps that were played, and end the unit where that is wanted."""
        self.steps += steps
        if self.stopping:
            raise Stopped

    def __reduce__(self) -> Any:
        return Pulse, ()


class Played(NamedTuple):
    """A unit that was played: its run, or why there is none."""

    unit: int
    run: Run | None
    error: str = ""


@dataclass(frozen=True)
class Errand:
    """Some units of one curve, each with what answers it: what is sent to a worker.

    Unit `u` of a curve in n environments is run number `u` in environment `u % n`; its random numbers follow from the
    seed and `u` alone, so it gives the same wherever and whenever it is played.
    """

    units: tuple[int, ...]
    problems: tuple[Problem, ...]
    """One for each unit, or the only one there is."""
    seed: int
    steps: npt.NDArray[np.int64]
    horizon: int

    def __reduce__(self) -> Any:
        light = tuple(replace(problem, policy=_Recipe.of(problem.policy)) for problem in self.problems)
        return _unpacked, (self.units, light, self.seed, self.steps, self.horizon)


class _Recipe(NamedTuple):
    """A policy of this package without its state, which can be large and which no run starts from."""

    cls: type[Policy]
    parameters: dict[str, Any]

    @classmethod
    def of(cls, policy: Any) -> Any:
        return cls(type(policy), policy.parameters) if isinstance(policy, Policy) else policy


def _unpacked(units: Any, problems: Sequence[Problem], *rest: Any) -> Errand:
    """The errand as it was, each policy made anew (a worker that lacks a policy's module fails here, by name)."""
    made = (
        replace(problem, policy=problem.policy.cls(**problem.policy.parameters))
        if isinstance(problem.policy, _Recipe)
        else problem
        for problem in problems
    )
    return Errand(units, tuple(made), *rest)


def play(errand: Errand, pulse: Pulse) -> list[Played]:
    """Play the units of an errand one after the other, as many as there are before it is told to stop."""
    played: list[Played] = []
    for i, unit in enumerate(errand.units):
        problem = errand.problems[i % len(errand.problems)]
        try:
            run = problem.play(unit, errand.seed, errand.steps, errand.horizon, pulse)
        except Stopped:
            break
        except (Exception, SystemExit) as error:
            played.append(Played(unit, None, explain(error)))
        else:
            played.append(Played(unit, run))
    return played


def explain(error: BaseException) -> str:
    """An error in one line, with the place where it came from.

    >>> try:
    ...     [][1]
    ... except IndexError as error:
    ...     print(explain(error).partition(" (")[0])
    IndexError: list index out of range
    """
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{traceback.format_exception_only(error)[-1].strip()}{place}"
