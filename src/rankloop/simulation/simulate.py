"""Many runs of a policy in an environment, in parallel."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np
import numpy.typing as npt

from rankloop.environments import PreferenceMatrix
from rankloop.policies import Policy
from rankloop.simulation import duels
from rankloop.simulation.progress import Bar, Silence
from rankloop.simulation.result import Result, Run

DEFAULT_CHECKPOINTS = 60


class _Stopped(Exception):
    """Raised inside a run that is asked to stop before its horizon."""


def simulate(
    policy: Any,
    environment: PreferenceMatrix,
    *,
    horizon: int,
    runs: int = 1,
    seed: int = 0,
    checkpoints: int | Iterable[int] | None = None,
    workers: int | None = None,
    progress: bool = True,
    resume: Result | None = None,
    after_run: Callable[[Result], None] | None = None,
) -> Result:
    """Run a policy from scratch, many times over, and record its regret.

    Each run has its own random numbers and its own random names for the arms, all of them determined by `seed` and the
    number of the run alone: more runs or other workers never change a run. Ctrl-C ends the simulation and returns
    the runs that are finished.

    Parameters
    ----------
    policy
        A policy of this package, of which each run takes a fresh copy; or any object with `duel` and `update`, which
        each run copies as it is, and which runs at Python's speed.
    environment
        What answers it.
    horizon
        Steps in a run.
    runs
        How many independent runs.
    seed
        Of everything random.
    checkpoints
        Steps at which to record, or how many of them to spread over the horizon, evenly on a logarithmic scale.
    workers
        Threads; all cores if not given.
    progress
        Whether to show a bar when it takes long and standard error is a terminal.
    resume
        An earlier result of the same setting: its runs are taken over, only those missing are run.
    after_run
        Called with the result so far whenever a run has finished, in the thread that called `simulate`.

    Examples
    --------
    >>> import rankloop as rl
    >>> result = rl.simulate(rl.MergeDTS(20), rl.PreferenceMatrix.cycle2(), horizon=10_000, runs=4, checkpoints=[100, 10_000])
    >>> result.regret.shape
    (4, 2)
    >>> bool(result.regret[:, -1].mean() < 0.1 * 10_000)
    True
    """
    if not isinstance(environment, PreferenceMatrix):
        raise ValueError(f"environment must be a PreferenceMatrix, not {environment!r}")
    if not (callable(getattr(policy, "duel", None)) and callable(getattr(policy, "update", None))):
        raise ValueError(f"policy must have the methods duel and update, which {policy!r} has not")
    duels.check_problem(policy, environment)
    horizon = _whole("horizon", horizon, 1)
    runs = _whole("runs", runs, 1)
    seed = _whole("seed", seed, 0)
    workers = os.cpu_count() or 1 if workers is None else _whole("workers", workers, 1)
    steps = _checkpoints(checkpoints, horizon)
    result = _start(policy, environment, horizon, seed, steps, resume)
    missing = [run for run in range(runs) if run not in result.finished]
    if not missing:
        return result

    duels.warm_up(policy, environment)
    stop = threading.Event()
    label = f"{result.policy} on {result.environment}" if result.environment else result.policy
    with (
        Bar(label, len(missing) * horizon) if progress else Silence() as bar,
        ThreadPoolExecutor(min(workers, len(missing))) as pool,
    ):

        def report(played: int) -> None:
            bar.advance(played)
            if stop.is_set():
                raise _Stopped

        futures: dict[Future[Run], int] = {}
        try:
            for run in missing:
                futures[pool.submit(duels.play, policy, environment, run, seed, steps, horizon, report)] = run
            waiting = set(futures)
            while waiting:
                done, waiting = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in done:
                    result.finished[futures[future]] = future.result()
                    if after_run is not None:
                        after_run(result)
        except BaseException as error:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            _keep_finished(result, futures)
            if not isinstance(error, KeyboardInterrupt) or not result.finished:
                raise
            result.interrupted = True
            if after_run is not None:
                after_run(result)
    result.finished = dict(sorted(result.finished.items()))
    return result


def _keep_finished(result: Result, futures: dict[Future[Run], int]) -> None:
    for future, run in futures.items():
        if future.done() and not future.cancelled() and future.exception() is None:
            result.finished[run] = future.result()


def _start(
    policy: Any,
    environment: PreferenceMatrix,
    horizon: int,
    seed: int,
    steps: npt.NDArray[np.int64],
    resume: Result | None,
) -> Result:
    """An empty result for this setting, or an earlier one of the same setting to go on with."""
    setting = {
        "policy": type(policy).__name__,
        "parameters": repr(policy) if isinstance(policy, Policy) else type(policy).__qualname__,
        "environment": environment.name,
        "problem": hashlib.blake2b(environment.preferences.tobytes(), digest_size=16).hexdigest(),
        "horizon": horizon,
        "seed": seed,
    }
    if resume is None:
        return Result(setting, steps)
    for key, value in setting.items():
        if key != "environment" and resume.setting.get(key) != value:
            raise ValueError(f"cannot resume: {key} was {resume.setting.get(key)!r} and is now {value!r}")
    if not np.array_equal(resume.steps, steps):
        raise ValueError("cannot resume: the checkpoints are not the same")
    return Result(resume.setting, steps, dict(resume.finished))


def _whole(name: str, value: Any, least: int) -> int:
    """A whole number of at least `least`; 1e6 counts as one."""
    numeric = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not numeric or not np.isfinite(value) or value != int(value) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, not {value!r}")
    return int(value)


def _checkpoints(given: int | Iterable[int] | None, horizon: int) -> npt.NDArray[np.int64]:
    if given is None or isinstance(given, int | np.integer):
        number = DEFAULT_CHECKPOINTS if given is None else _whole("checkpoints", given, 1)
        spread = np.unique(np.geomspace(1, horizon, number).round().astype(np.int64))
        return spread if number > 1 else np.array([horizon])
    steps = np.array(sorted({_whole("checkpoint", step, 1) for step in given}), np.int64)
    if not len(steps) or steps[-1] > horizon:
        raise ValueError(f"checkpoints must lie between 1 and the horizon {horizon}, not be {steps.tolist()}")
    return steps
