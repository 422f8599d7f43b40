"""Many runs of policies in an environment, in parallel."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Required, TypedDict, Unpack, cast, overload

import numpy as np

from rankloop.arrays import Ints
from rankloop.checks import check_whole
from rankloop.runs import Bar, Job, Runner, Silent, Status, Watcher
from rankloop.simulation.jobs import SimulationJob
from rankloop.simulation.result import Result


class Options(TypedDict, total=False):
    """Options of `simulate`, which documents them."""

    horizon: Required[int]
    runs: int
    seed: int
    checkpoints: int | Iterable[int] | None
    workers: int | None
    top: int | None
    initial: Sequence[int] | None
    progress: bool | Watcher
    resume: Result | Sequence[Result] | None
    after_run: Callable[[Result], None] | None


@overload
def simulate(policy: list[Any] | tuple[Any, ...], environment: Any, **options: Unpack[Options]) -> list[Result]: ...


@overload
def simulate(policy: Any, environment: Any, **options: Unpack[Options]) -> Result: ...


def simulate(
    policy: Any,
    environment: Any,
    *,
    horizon: int,
    runs: int = 1,
    seed: int = 0,
    checkpoints: int | Iterable[int] | None = None,
    workers: int | None = None,
    top: int | None = None,
    initial: Sequence[int] | None = None,
    progress: bool | Watcher = True,
    resume: Result | Sequence[Result] | None = None,
    after_run: Callable[[Result], None] | None = None,
) -> Result | list[Result]:
    """Run a policy from scratch, many times over, and record its regret; for lists also violations, NDCG and clicks.

    Each run has its own random numbers and, in duels, its own random names for the arms, all of them determined by
    `seed` and the number of the run alone: more runs or other workers never change a run. Ctrl-C ends the simulation
    and returns the runs that are finished.

    Parameters
    ----------
    policy
        A policy of this package, of which each run takes a fresh copy; or any object with `duel` or `rank` and
        `update`, which runs at Python's speed: each run then uses `policy.fresh(seed)` where there is such a method,
        else a deep copy. For a collection of environments also a function that makes the policy for each of them. A
        list of policies gives a list of results.
    environment
        Environment that answers the policy; or a list of users who click (`ClickProblem`s, say), with so many runs for
        each of them.
    horizon
        Number of steps of a run.
    runs
        Number of independent runs.
    seed
        Seed of all random numbers.
    checkpoints
        Steps at which to record, or how many of them to spread over the horizon, evenly on a logarithmic scale.
    workers
        Number of threads; as many as there are cores if not given.
    top
        For lists: regret and NDCG count the first `top` positions only.
    initial
        For lists: production's order of the items, against which violations of safety are counted. A policy that
        starts from such a list brings it along.
    progress
        Whether to show a bar when it takes long and standard error is a terminal; or a watcher, which is told of the
        progress (`rankloop.runs.Watcher`).
    resume
        An earlier result of the same setting, or a list of them for a list of policies: its runs are taken over, and
        only those missing are run.
    after_run
        Function that is called with the result so far whenever a run has finished, in the thread that called
        `simulate`.

    Examples
    --------
    >>> import rankloop as rl
    >>> problem = rl.PreferenceMatrix.cycle2()
    >>> result = rl.simulate(rl.MergeDTS(20), problem, horizon=10_000, runs=4, checkpoints=[100, 10_000])
    >>> result.regret.shape
    (4, 2)
    >>> bool(result.regret[:, -1].mean() < 0.1 * 10_000)
    True
    """
    several = isinstance(policy, list | tuple)
    earlier = [resume] if resume is None or isinstance(resume, Result) else list(resume)
    runs = check_whole("runs", runs, 1, floats=True)
    workers = None if workers is None else check_whole("workers", workers, 1, floats=True)
    given: dict[str, Any] = {"seed": seed, "checkpoints": checkpoints, "top": top, "initial": initial}
    jobs = [SimulationJob(each, environment, horizon=horizon, runs=runs, **given) for each in _listed(policy)]
    results: dict[str, Result] = {}
    for number, job in enumerate(jobs):
        job.key = f"{number}"
        results[job.key] = job.blank if number >= len(earlier) else _take_over(earlier[number], job.blank)

    def hand_out(job: Job, unit: int) -> None:
        runner.place = (job.label, jobs.index(cast(SimulationJob, job)) + 1, len(jobs))
        results[job.key].finished[unit] = runner.store.runs(job.key)[unit]
        if after_run is not None:
            after_run(results[job.key])

    with _shown(progress, jobs[0]) as watcher, Runner(watcher=watcher, workers=workers, strict=True) as runner:
        for job in jobs:
            runner.store.runs(job.key).update(results[job.key].finished)
        runner.prepare(jobs)
        runner.place = (jobs[0].label, 1, len(jobs))
        for job in jobs:
            if job.left:
                job.simulations()[0].warm_up()
        runner.run(jobs, hand_out)
    for job in jobs:
        result = results[job.key]
        result.finished = dict(sorted(runner.store.runs(job.key).items()))
        result.interrupted = job.left > 0
    if runner.stopping:
        if not any(result.finished for result in results.values()):
            raise KeyboardInterrupt
        for result in results.values():
            if after_run is not None and result.interrupted and result.finished:
                after_run(result)
    return list(results.values()) if several else results[jobs[0].key]


def _listed(policy: Any) -> Sequence[Any]:
    if not isinstance(policy, list | tuple):
        return [policy]
    if not policy:
        raise ValueError("there is no policy to simulate: the list is empty")
    return policy


def _take_over(resume: Result | None, wanted: Result) -> Result:
    """The runs of an earlier result, to go on with, if it is of the wanted setting."""
    if resume is None:
        return wanted
    for key, value in wanted.setting.items():
        if key != "environment" and resume.setting.get(key) != value:
            raise ValueError(f"cannot resume: {key} was {resume.setting.get(key)!r} and is now {value!r}")
    if not np.array_equal(resume.steps, wanted.steps):
        raise ValueError(f"cannot resume: checkpoints were {_brief(resume.steps)} and are now {_brief(wanted.steps)}")
    return Result(wanted.setting, wanted.steps, dict(resume.finished))


def _brief(steps: Ints) -> str:
    return f"{len(steps)} from {steps[0]} to {steps[-1]}" if len(steps) else "none"


@contextmanager
def _shown(progress: Any, job: SimulationJob) -> Iterator[Watcher]:
    if hasattr(progress, "show"):
        yield progress
    elif callable(progress):
        warnings.warn(
            "a function as `progress` is deprecated: give a watcher, which has the methods show and note",
            DeprecationWarning,
            stacklevel=4,
        )
        with progress(job.label, job.n_units * job.n_steps) as advance:
            yield _OldProgress(advance, job.n_steps)
    elif progress:
        with Bar(patient=True) as bar:
            yield bar
    else:
        yield Silent()


class _OldProgress(Silent):
    """Tells a function of the steps done since it was last told."""

    def __init__(self, advance: Callable[[int], None], n_steps: int) -> None:
        self._advance, self._n_steps, self._told = advance, n_steps, 0

    def show(self, status: Status) -> None:
        """Tell of new steps."""
        done = round((status.done + status.begun) * self._n_steps)
        if done > self._told:
            self._advance(done - self._told)
            self._told = done
