"""The job of a policy in an environment, or in each of a collection of them: its units are runs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from rankloop.arrays import Ints
from rankloop.environments import ClickProblem, PreferenceMatrix
from rankloop.environments.problems import each_of, users_of
from rankloop.policies import Policy
from rankloop.runs import Advance, Job, Run, Stopped
from rankloop.runs.job import Task
from rankloop.simulation.duels import DuelSimulation
from rankloop.simulation.lists import ListSimulation
from rankloop.simulation.result import Result
from rankloop.simulation.setting import blank_result
from rankloop.simulation.simulation import Simulation

PROBE_SECONDS = 0.003
"""Least time that a policy runs to see how long a step takes; there can be hundreds of jobs."""


def simulations(policy: Any, environment: Any, top: int | None, initial: Sequence[int] | None) -> list[Simulation]:
    """The simulations in a collection of environments, or the one in a single environment, checked."""
    found = [_simulation(policy, each, top, initial) for each in each_of(environment)]
    if not found:
        raise ValueError("there is no environment to simulate in: the collection is empty")
    for each in found:
        each.check()
    return found


def _simulation(policy: Any, problem: Any, top: int | None, initial: Sequence[int] | None) -> Simulation:
    environment = users_of(problem)
    if not (isinstance(environment, PreferenceMatrix) or hasattr(environment, "state_at")):
        raise ValueError(f"environment must be a PreferenceMatrix or users who click, not {environment!r}")
    if not hasattr(policy, "update") and callable(policy):
        policy = policy(problem)
    if initial is None and isinstance(problem, ClickProblem):
        initial = problem.initial
    if initial is None and hasattr(environment, "attraction"):
        initial = getattr(policy, "initial", None)
    kind = DuelSimulation if isinstance(environment, PreferenceMatrix) else ListSimulation
    return kind(policy, environment, top, initial)


class SimulationJob(Job):
    """The runs of one policy in one environment, or in each of several.

    Unit `u` in n environments is run number `u`, in environment `u % n`. Its random numbers follow from the seed and
    `u` alone, so that more runs, other workers or another order never change a run.
    """

    def __init__(
        self,
        policy: Any,
        environment: Any,
        *,
        horizon: int,
        runs: int,
        seed: int = 0,
        checkpoints: int | Iterable[int] | None = None,
        top: int | None = None,
        initial: Sequence[int] | None = None,
    ) -> None:
        self._source = (policy, environment, top, initial)
        self._made: list[Simulation] = simulations(*self._source)
        self.blank: Result = blank_result(self._made, horizon, seed, checkpoints)
        """The result before its first run: what is simulated."""
        self.n_environments = len(self._made)
        label = f"{self.blank.policy} on {self.blank.environment}" if self.blank.environment else self.blank.policy
        super().__init__(label, label, runs * len(self._made), self._work, int(self.blank.setting["horizon"]))

    def simulations(self) -> list[Simulation]:
        """One simulation for each environment."""
        if not self._made:  # made when they are needed, since the policies of a hundred users can be large
            self._made = simulations(*self._source)
        return self._made

    def let_go(self) -> None:
        """Keep no policies in memory until they are needed."""
        self._made = []

    def result(self, finished: dict[int, Run]) -> Result:
        """The result with the runs that are finished."""
        runs = {unit: finished[unit] for unit in range(self.n_units) if unit in finished}
        return Result(self.blank.setting, self.blank.steps, runs, len(runs) < self.n_units)

    def next_task(self, workers: int) -> Task:
        """The next units for one worker."""
        task = super().next_task(workers)
        if not self.missing:
            self.let_go()
        return task

    def _work(self, units: Sequence[int]) -> SimulationWork:
        every = self.simulations()
        wanted = {unit % len(every): every[unit % len(every)] for unit in units}
        return SimulationWork(wanted, len(every), self.blank.setting["seed"], self.blank.steps, self.n_steps)

    def measure(self) -> None:
        """Load the loop, or compile it, and see how long a step takes."""
        first = self.simulations()[0]
        first.warm_up()
        probe = _Probe()
        try:
            first.run(0, 0, np.array([self.n_steps]), self.n_steps, probe)
        except Stopped:
            pass
        finally:
            self.let_go()
        self.seconds_per_step = probe.seconds_per_step


@dataclass(frozen=True)
class SimulationWork:
    """What a worker does for each run of a job."""

    simulations: dict[int, Simulation]
    """Simulations of this task, by the number of the environment."""
    n_environments: int
    seed: int
    steps: Ints
    horizon: int

    def __call__(self, unit: int, advance: Advance) -> Run:
        """Do one run."""
        simulation = self.simulations[unit % self.n_environments]
        return simulation.run(unit, self.seed, self.steps, self.horizon, advance)

    def __reduce__(self) -> Any:
        light = {k: replace(each, policy=_Recipe.of(each.policy)) for k, each in self.simulations.items()}
        return _unpacked, (light, self.n_environments, self.seed, self.steps, self.horizon)


class _Recipe(NamedTuple):
    """A policy of this package without its state, which can be large and which no run starts from."""

    cls: type[Policy]
    parameters: dict[str, Any]

    @classmethod
    def of(cls, policy: Any) -> Any:
        return cls(type(policy), policy.parameters) if isinstance(policy, Policy) else policy


def _unpacked(simulations: dict[int, Simulation], *rest: Any) -> SimulationWork:
    """The work as it was, each policy made anew (a worker that lacks a policy's module fails here, by name)."""
    made = {
        k: replace(each, policy=each.policy.cls(**each.policy.parameters)) if isinstance(each.policy, _Recipe) else each
        for k, each in simulations.items()
    }
    return SimulationWork(made, *rest)


class _Probe:
    """Measures a step in a short run, and ends it."""

    def __init__(self) -> None:
        self.seconds_per_step = 0.0
        self._begin = self._last = time.perf_counter()

    def __call__(self, steps: int) -> None:
        now = time.perf_counter()
        if steps:
            self.seconds_per_step = (now - self._last) / steps
        self._last = now
        if now - self._begin > PROBE_SECONDS:
            raise Stopped
