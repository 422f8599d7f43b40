"""One way to make a policy for a problem, from what it asks for and what the problem offers."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from rankloop.environments.problems import offers
from rankloop.policies.base import Policy
from rankloop.wording import listed

SET_BY_HORIZON = ("delta", "gamma", "window")
"""Parameters that the horizon sets: a policy that is given one of them is not told the horizon too."""


@dataclass(frozen=True)
class Maker:
    """Makes a policy for each problem that it is called with; `simulate` takes it in place of a policy.

    A policy asks by the names of its constructor's parameters, and gets what the problem offers: `n_arms`; or
    `n_items`, `n_positions`, `initial`, and `examination`, `relevance`, `topics` and others where the problem has them.
    It gets a seed if it asks for one; each run has its own.

    Parameters
    ----------
    make
        The class of the policy, or a function that makes one. A function of one argument that is not offered by name
        gets the problem itself.
    parameters
        Values of the policy's parameters, which take precedence over what is offered.
    n_positions
        The length of lists; the longest possible if not given.
    horizon
        The number of steps, for policies that want to know it; not told if not given.

    Examples
    --------
    >>> import rankloop as rl
    >>> maker = Maker(rl.TopRank, n_positions=2, horizon=1000)
    >>> policy = maker(rl.CascadeModel([0.5, 0.2, 0.1]))
    >>> policy.n_items, policy.n_positions, policy.horizon
    (3, 2, 1000)
    >>> Maker(rl.TopRank)(rl.PreferenceMatrix.cycle())
    Traceback (most recent call last):
    ValueError: TopRank asks for n_items and n_positions, but this problem offers only n_arms
    """

    make: Callable[..., Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    n_positions: int | None = None
    horizon: int | None = None

    def __call__(self, problem: Any) -> Any:
        """The policy for a problem."""
        found = offers(problem)
        if self.n_positions is not None and "n_positions" in found:
            found["n_positions"] = self.n_positions
        if self.horizon is not None:
            found["horizon"] = self.horizon
        return make_policy(self.make, found, self.parameters, problem)


def make_policy(
    make: Callable[..., Any], offered: Mapping[str, Any], parameters: Mapping[str, Any], problem: Any = None
) -> Any:
    """A policy with these parameters, and with what is offered of the others that it asks for."""
    asked, required = _asked(make)
    if not inspect.isclass(make) and len(required) == 1 and required[0] not in offered:
        return make(problem)
    given = {name: offered[name] for name in asked if name in offered}
    if "horizon" not in required and any(parameters.get(name) is not None for name in SET_BY_HORIZON):
        given.pop("horizon", None)
    given |= parameters
    lacking = [name for name in required if name not in given and name != "seed"]
    if lacking:
        name = getattr(make, "__name__", repr(make))
        there = listed(sorted(offered))
        raise ValueError(f"{name} asks for {listed(lacking)}, but this problem offers only {there}")
    if "seed" not in asked:
        return make(**given)
    policy = make(**{"seed": 0, **given})
    if not isinstance(policy, Policy) and not hasattr(policy, "fresh"):
        with suppress(AttributeError):  # where there is no room for it, runs share the policy's random numbers
            policy.fresh = functools.partial(_fresh, make, given)
    return policy


@functools.lru_cache(maxsize=256)  # a live loop makes a policy for each of thousands of keys
def _asked(make: Callable[..., Any]) -> tuple[list[str], list[str]]:
    """What a policy may be given by name, and what of it must be given."""
    parameters = [
        parameter
        for parameter in inspect.signature(make).parameters.values()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    return [each.name for each in parameters], [each.name for each in parameters if each.default is each.empty]


def _fresh(make: Callable[..., Any], given: Mapping[str, Any], seed: int) -> Any:
    """A policy of the same parameters with random numbers of its own."""
    return make(**{**given, "seed": seed})
