"""A job: work that consists of many units, each of which can be done alone, anywhere and in any order."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from rankloop.arrays import Floats

Advance = Callable[[int], None]
"""Is told that so many more steps of a unit are done, and raises `Stopped` where the unit shall end early."""

TASK_SECONDS = 0.25
"""About how much work one task holds: much more than sending it takes, and little enough to share it out evenly."""

MOST_UNITS = 256
"""Units of one task."""


class Stopped(Exception):
    """Raised inside a unit that is asked to end early."""


@dataclass(frozen=True)
class Run:
    """One finished unit: what was recorded, how it ended, and how long it took."""

    records: Mapping[str, Floats]
    best: int = -1
    failed: bool = False
    seconds: float = math.nan


class Work(Protocol):
    """What a worker does for each unit of a task. In other processes, a copy of it does the work."""

    def __call__(self, unit: int, advance: Advance) -> Run:
        """Do one unit; the same number gives the same records wherever and whenever it is done."""


@dataclass
class Job:
    """Units that differ only in their numbers, and how many of them are still to be done.

    >>> job = Job("squares", "Squares", 3, lambda units: lambda unit, advance: Run({"square": np.array([unit**2])}))
    >>> job.begin({1: Run({})})
    >>> job.missing
    [0, 2]
    """

    key: str
    """All that the results depend on, as text: jobs with the same key have the same results."""
    label: str
    n_units: int
    """How many units there are; their numbers begin with 0."""
    work: Callable[[Sequence[int]], Work]
    """Gives the work of some units."""
    n_steps: int = 1
    """Steps of one unit, of which `Advance` is told."""
    missing: list[int] = field(default_factory=list)
    """Units that have not been sent to a worker."""
    left: int = 0
    """Units that are not finished, including those at a worker."""
    seconds_per_step: float = 0.0
    """Estimated seconds per step; 0 while not known."""

    def begin(self, finished: Mapping[int, Run]) -> None:
        """Find out which units are missing, and how long a step took in those that are finished."""
        self.missing = [unit for unit in range(self.n_units) if unit not in finished]
        self.left = len(self.missing)
        known = [run.seconds for run in finished.values() if not math.isnan(run.seconds)]
        self.seconds_per_step = float(np.mean(known)) / self.n_steps if known else 0.0

    @property
    def unit_seconds(self) -> float:
        """How long a unit takes, as far as it is known."""
        return self.seconds_per_step * self.n_steps

    def next_task(self, workers: int) -> Task:
        """The next units for one worker: several where they are short, one where nothing is known of them."""
        fair = math.ceil(len(self.missing) / (4 * workers))
        wanted = int(TASK_SECONDS / self.unit_seconds) if self.unit_seconds else 1
        many = max(1, min(MOST_UNITS, fair, wanted))
        units, self.missing = tuple(self.missing[:many]), self.missing[many:]
        return Task(units, self.work(units))

    def learn(self, runs: Sequence[Run]) -> None:
        """Correct the time of a step by that of finished units; the latest count for half."""
        if runs:
            now = sum(run.seconds for run in runs) / len(runs) / self.n_steps
            self.seconds_per_step = (self.seconds_per_step + now) / 2 if self.seconds_per_step else now


class Task(NamedTuple):
    """Some units of one job, as they are sent to a worker."""

    units: tuple[int, ...]
    work: Work


class Counter:
    """Counts the steps of a task, and ends it when it shall stop; another process has a copy that nobody can stop.

    >>> counter = Counter()
    >>> counter(64)
    >>> counter.steps
    64
    """

    def __init__(self) -> None:
        self.steps = 0
        self.stopping = False

    def __call__(self, steps: int) -> None:
        """Count steps that were done, and end the unit where that is wanted."""
        self.steps += steps
        if self.stopping:
            raise Stopped

    def __reduce__(self) -> Any:
        return Counter, ()


class Finished(NamedTuple):
    """A unit that has ended: its run, or else the error in one line; neither where it was interrupted."""

    unit: int
    run: Run | None = None
    error: str = ""


def do(task: Task, counter: Counter, strict: bool = False) -> list[Finished]:
    """Do the units of a task one after the other, until it is told to stop; an error is raised only if `strict`."""
    finished: list[Finished] = []
    for unit in task.units:
        try:
            finished.append(Finished(unit, task.work(unit, counter)))
        except Stopped:
            break
        except KeyboardInterrupt:  # the terminal sends it to worker processes as well
            finished.append(Finished(unit))
            break
        except (Exception, SystemExit) as error:
            if strict:
                raise
            finished.append(Finished(unit, error=explain_error(error)))
    return finished


def explain_error(error: BaseException) -> str:
    """An error in one line, with the place where it came from.

    >>> try:
    ...     [][1]
    ... except IndexError as error:
    ...     print(explain_error(error).partition(" (")[0])
    IndexError: list index out of range
    """
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{traceback.format_exception_only(error)[-1].strip()}{place}"
