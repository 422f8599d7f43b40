"""Many runs of a policy in an environment, in parallel."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankloop.environments import HybridCascade
from rankloop.policies import ClickPolicy, Policy
from rankloop.simulation.problems import Problem, digest, problems
from rankloop.simulation.progress import Advance, Progress, bar, silence
from rankloop.simulation.result import Result, Run
from rankloop.simulation.workers import Workers

DEFAULT_CHECKPOINTS = 60

LONGEST_HORIZON = 10**18
"""So that steps and their sums fit into the 64-bit numbers of compiled code."""


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
    progress: bool | Progress = True,
    resume: Result | None = None,
    after_run: Callable[[Result], None] | None = None,
) -> Result:
    """Run a policy from scratch, many times over, and record its regret; for lists also violations, NDCG and clicks.

    Each run has its own random numbers and, in duels, its own random names for the arms, all of them determined by
    `seed` and the number of the run alone: more runs or other workers never change a run. Ctrl-C ends the simulation
    and returns the runs that are finished.

    Parameters
    ----------
    policy
        A policy of this package, of which each run takes a fresh copy; or any object with `duel` or `rank` and
        `update`, which runs at Python's speed: each run then plays `policy.fresh(seed)` where there is such a method,
        else a deep copy. For a collection of environments also a function that makes the policy for each of them.
    environment
        What answers it; or a list of users who click (`ClickProblem`s, say), each of which is run that many times.
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
    top
        For lists: regret and NDCG count the first `top` positions only.
    initial
        For lists: production's order of the items, against which violations of safety are counted. A policy that
        starts from such a list brings it along.
    progress
        Whether to show a bar when it takes long and standard error is a terminal; or another way to show progress:
        a function that takes a label and the number of steps and returns a context manager, which gives a function to
        be told of steps done.
    resume
        An earlier result of the same setting: its runs are taken over, only those missing are run.
    after_run
        Called with the result so far whenever a run has finished, in the thread that called `simulate`.

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
    found = problems(policy, environment, top, initial)
    result = _blank(found, environment, horizon, seed, checkpoints)
    horizon, seed = result.setting["horizon"], result.setting["seed"]
    runs = _whole("runs", runs, 1)
    workers = os.cpu_count() or 1 if workers is None else _whole("workers", workers, 1)
    if resume is not None:
        result = _take_over(resume, result)
    # A unit is one run of one problem; its number does not depend on how many runs there are, so more can be added.
    missing = [unit for unit in range(runs * len(found)) if unit not in result.finished]
    if not missing:
        return result

    found[0].warm_up()
    label = f"{result.policy} on {result.environment}" if result.environment else result.policy
    show = progress if callable(progress) else bar if progress else silence

    def play(unit: int, report: Advance) -> Run:
        return found[unit % len(found)].play(unit, seed, result.steps, horizon, report)

    with show(label, len(missing) * horizon) as advance, Workers(play, missing, workers, advance) as pool:
        try:
            for unit in pool:
                result.finished[unit] = pool.finished[unit]
                if after_run is not None:
                    after_run(result)
        except KeyboardInterrupt:
            pool.stop()
            result.finished.update(pool.finished)
            if not result.finished:
                raise
            result.interrupted = True
            if after_run is not None:
                after_run(result)
    result.finished = dict(sorted(result.finished.items()))
    return result


def blank(
    policy: Any,
    environment: Any,
    *,
    horizon: int,
    seed: int = 0,
    checkpoints: int | Iterable[int] | None = None,
    top: int | None = None,
    initial: Sequence[int] | None = None,
) -> Result:
    """The result of a simulation before its first run: it says what would be simulated, or why it cannot be."""
    return _blank(problems(policy, environment, top, initial), environment, horizon, seed, checkpoints)


def _blank(
    found: Sequence[Problem], environment: Any, horizon: int, seed: int, checkpoints: int | Iterable[int] | None
) -> Result:
    horizon = _whole("horizon", horizon, 1)
    if horizon > LONGEST_HORIZON:
        raise ValueError(f"horizon must be at most {LONGEST_HORIZON:.0e}, not {horizon}")
    first = found[0]
    many = len(found) > 1
    setting = {
        "policy": policy_name(first.policy, horizon),
        "parameters": _parameters(first.policy),
        "environment": f"{len(found)} {_kind(first)}" if many else first.environment.name,
        "problem": digest(found),
        "horizon": horizon,
        "seed": _whole("seed", seed, 0),
    }
    if first.is_duel:
        setting["winners"] = first.environment.winners
    else:
        setting["top"] = first.top
        if isinstance(first.environment, HybridCascade):
            setting["hybrid"] = True
        if hasattr(first.environment, "epoch_length"):
            setting["epochs"] = first.environment.epoch_length.tolist()
    if many:
        setting["queries"] = [problem.environment.name for problem in found]
    return Result(setting, _checkpoints(checkpoints, horizon))


def _kind(problem: Problem) -> str:
    return "users" if isinstance(problem.environment, HybridCascade) else "queries"


def _take_over(resume: Result, wanted: Result) -> Result:
    """The runs of an earlier result, to go on with, if it is of the wanted setting."""
    for key, value in wanted.setting.items():
        if key != "environment" and resume.setting.get(key) != value:
            raise ValueError(f"cannot resume: {key} was {resume.setting.get(key)!r} and is now {value!r}")
    if not np.array_equal(resume.steps, wanted.steps):
        raise ValueError(f"cannot resume: checkpoints were {_brief(resume.steps)} and are now {_brief(wanted.steps)}")
    return Result(wanted.setting, wanted.steps, dict(resume.finished))


def _brief(steps: npt.NDArray[np.int64]) -> str:
    return f"{len(steps)} from {steps[0]} to {steps[-1]}" if len(steps) else "none"


def policy_name(policy: Any, horizon: int) -> str:
    """The policy as a user would write it, without what depends on the problem and what is left as it is by default."""
    name = type(policy).__name__
    if not isinstance(policy, Policy):
        return name
    signature = inspect.signature(type(policy)).parameters
    changed = [
        f"{key}={value:.6g}" if isinstance(value, float) else f"{key}={value!r}"
        for key, value in policy.parameters.items()
        if signature[key].default is not inspect.Parameter.empty
        and not isinstance(value, np.ndarray)
        and value != signature[key].default
        and (key, value) not in (("n_positions", getattr(policy, "n_items", None)), ("horizon", horizon))
    ]
    if not changed and isinstance(policy, ClickPolicy) and policy.parameters.get("horizon", horizon) is None:
        changed = ["horizon=None"]  # learns by doubling, unlike the same policy that knows the horizon
    return f"{name}({', '.join(changed)})" if changed else name


def _parameters(policy: Any) -> Any:
    """All that makes the policy what it is, as JSON can hold it."""
    if not isinstance(policy, Policy):
        return type(policy).__qualname__

    def plain(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return hashlib.blake2b(value.tobytes(), digest_size=16).hexdigest()
        return value.item() if isinstance(value, np.generic) else repr(value)

    return json.loads(json.dumps(policy.parameters, default=plain))


def _whole(name: str, value: Any, least: int) -> int:
    """A whole number of at least `least`; 1e6 counts as one."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not (whole or (isinstance(value, float | np.floating) and float(value).is_integer())) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, not {value!r}")
    return int(value)


def _checkpoints(given: float | Iterable[int] | None, horizon: int) -> npt.NDArray[np.int64]:
    if given is None or isinstance(given, int | float | np.integer | np.floating):
        number = DEFAULT_CHECKPOINTS if given is None else _whole("checkpoints", given, 1)
        spread = np.geomspace(1, horizon, number).round().astype(np.int64)
        spread[-1] = horizon  # a float is too coarse for the longest
        return np.unique(spread)
    if not isinstance(given, Iterable):
        raise ValueError(f"checkpoints must be a number of them or the steps themselves, not {given!r}")
    steps = np.array(sorted({_whole("checkpoint", step, 1) for step in given}), np.int64)
    if not len(steps) or steps[-1] > horizon:
        raise ValueError(f"checkpoints must lie between 1 and the horizon {horizon}, not be {steps.tolist()}")
    return steps
