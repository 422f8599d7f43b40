"""What is simulated, in words and numbers: the setting of a result."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from rankloop.arrays import Ints
from rankloop.checks import check_seed, check_whole
from rankloop.environments import HybridCascade, PreferenceMatrix
from rankloop.policies import ClickPolicy, Policy
from rankloop.simulation.result import Result
from rankloop.simulation.simulation import Simulation

DEFAULT_CHECKPOINTS = 60

LONGEST_HORIZON = 10**18
"""So that steps and their sums fit into the 64-bit numbers of compiled code."""


def blank_result(
    simulations: Sequence[Simulation], horizon: int, seed: int, checkpoints: int | Iterable[int] | None
) -> Result:
    """The result of a simulation before its first run."""
    horizon = check_whole("horizon", horizon, 1, floats=True)
    if horizon > LONGEST_HORIZON:
        raise ValueError(f"horizon must be at most {LONGEST_HORIZON:.0e}, not {horizon}")
    first = simulations[0]
    many = len(simulations) > 1
    setting = {
        "policy": policy_name(first.policy, horizon),
        "parameters": _parameters(first.policy),
        "environment": f"{len(simulations)} {_kind(first)}" if many else first.environment.name,
        "problem": digest(simulations),
        "horizon": horizon,
        "seed": check_seed(seed),
    }
    if isinstance(first.environment, PreferenceMatrix):
        setting["winners"] = first.environment.winners
    else:
        setting["top"] = first.top
        if isinstance(first.environment, HybridCascade):
            setting["hybrid"] = True
        if hasattr(first.environment, "epoch_length"):
            setting["epochs"] = first.environment.epoch_length.tolist()
    if many:
        setting["queries"] = [each.environment.name for each in simulations]
    return Result(setting, _steps(checkpoints, horizon))


def _kind(simulation: Simulation) -> str:
    return "users" if isinstance(simulation.environment, HybridCascade) else "queries"


def digest(simulations: Sequence[Simulation]) -> str:
    """A fingerprint of the environments."""
    hashed = hashlib.blake2b(digest_size=16)
    for each in simulations:
        state = each.environment_state()
        for value in (type(state).__qualname__, each.initial, *_flat(state)):
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


def _steps(given: float | Iterable[int] | None, horizon: int) -> Ints:
    if given is None or isinstance(given, int | float | np.integer | np.floating):
        number = DEFAULT_CHECKPOINTS if given is None else check_whole("checkpoints", given, 1, floats=True)
        spread = np.geomspace(1, horizon, number).round().astype(np.int64)
        spread[-1] = horizon  # a float is too coarse for the longest
        return np.unique(spread)
    if not isinstance(given, Iterable):
        raise ValueError(f"checkpoints must be a number of them or the steps themselves, not {given!r}")
    steps = np.array(sorted({check_whole("checkpoint", step, 1, floats=True) for step in given}), np.int64)
    if not len(steps) or steps[-1] > horizon:
        raise ValueError(f"checkpoints must lie between 1 and the horizon {horizon}, not be {steps.tolist()}")
    return steps
