"""Anybody's policies, in any experiment: found by import path, and made for each panel's environment."""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from rankloop.environments import ClickProblem, PreferenceMatrix
from rankloop.experiments.declare import Amount, Panel, Player
from rankloop.policies import Policy

OFFERED = ("n_arms", "n_items", "n_positions", "horizon", "initial", "relevance", "topics", "features")
"""What a policy may ask for by the names of its parameters."""


def load_player(path: str) -> Any:
    """The policy class, or the function that makes a policy, of an import path such as `my_module:MyPolicy`.

    Modules are also looked for in the current folder. On a cluster or in other processes every worker must be able to
    import the module: install it there, or have its folder in their PYTHONPATH.

    Examples
    --------
    >>> load_player("rankloop:BubbleRank").__name__
    'BubbleRank'
    """
    name, colon, attribute = path.partition(":")
    if not (name and colon and attribute):
        raise ValueError(f"a policy is named as module:name, my_module:MyPolicy for example, not {path!r}")
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Any = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise ValueError(f"{path}: the module {name} itself cannot be imported ({error})") from error
        raise ValueError(f"{path}: there is no module {name} in the current folder or among those installed") from None
    except Exception as error:
        raise ValueError(f"{path}: the module {name} cannot be imported ({type(error).__name__}: {error})") from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            there = [key for key, value in vars(found).items() if inspect.isclass(value) and not key.startswith("_")]
            raise ValueError(f"{path}: {name} has no {part}" + (f", only {', '.join(there)}" if there else ""))
        found = getattr(found, part)
    if not (callable(found) or hasattr(found, "update")):
        raise ValueError(f"{path} is {found!r}: neither a policy nor a class or function that makes one")
    return found


def join(panels: Sequence[Panel], players: Sequence[tuple[str, Any]], amount: Amount) -> tuple[list[Panel], list[str]]:
    """The panels with more players, and the labels of those who can play in none of them.

    A player is an import path, a policy class, a function that makes a policy, or a policy; classes that only duel
    stay out of panels with lists, and the other way round.
    """
    found = [(label, load_player(given) if isinstance(given, str) else given) for label, given in players]
    joined, playing = [], set()
    for panel in panels:
        taken = {player.label for player in panel.players}
        added = []
        for label, given in found:
            if label in taken:
                raise ValueError(f"{panel.name} already has a player {label!r}: give yours another label")
            taken.add(label)
            if _fits(given, _first(panel.environment)):
                playing.add(label)
                horizon = amount.of(panel.name, label).horizon
                added.append(Player(label, _policy_or_maker(given, panel, horizon)))
        joined.append(replace(panel, players=[*panel.players, *added]))
    return joined, [label for label, _ in found if label not in playing]


def _fits(given: Any, environment: Any) -> bool:
    plain_function = not inspect.isclass(given) and not hasattr(given, "update")
    return plain_function or hasattr(given, "duel" if isinstance(environment, PreferenceMatrix) else "rank")


def _policy_or_maker(given: Any, panel: Panel, horizon: int) -> Any:
    if hasattr(given, "update") and not inspect.isclass(given):
        return given
    return functools.partial(_make, given, panel.players, panel.top, horizon)


def _make(maker: Callable[..., Any], others: Sequence[Player], top: int | None, horizon: int, environment: Any) -> Any:
    """A policy for an environment, given what its constructor asks for."""
    parameters = inspect.signature(maker).parameters
    required = [
        name
        for name, parameter in parameters.items()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    if not inspect.isclass(maker) and len(required) == 1 and required[0] not in OFFERED:
        return maker(environment)  # as `simulate` takes it
    offers = _offers([name for name in OFFERED if name in parameters], others, top, horizon, environment)
    lacking = [name for name in required if name not in offers]
    if lacking:
        raise ValueError(
            f"{maker.__name__} asks for {', '.join(lacking)}, which this panel does not have; "
            f"it may ask for {', '.join(OFFERED)}"
        )
    policy = maker(**offers, **({"seed": 0} if "seed" in parameters else {}))
    if "seed" in parameters and not isinstance(policy, Policy) and not hasattr(policy, "fresh"):
        with suppress(AttributeError):  # where there is no room for it, runs share the policy's random numbers
            policy.fresh = functools.partial(_fresh, maker, offers)
    return policy


def _fresh(maker: Callable[..., Any], offers: Mapping[str, Any], seed: int) -> Any:
    """A policy of the same parameters with random numbers of its own."""
    return maker(**offers, seed=seed)


def _offers(
    names: Sequence[str], others: Sequence[Player], top: int | None, horizon: int, environment: Any
) -> dict[str, Any]:
    """What the environment has under these names, or else the other players in it."""
    users = environment.environment if isinstance(environment, ClickProblem) else environment
    offers: dict[str, Any] = {}
    for name in names:
        if name == "horizon":
            offers[name] = horizon
            continue
        sources = [environment] if name == "initial" else [users]
        if name == "n_positions":  # as long as the others' lists; the environment only knows what is too long
            sources = []
        sources += [_policy_of(player, environment) for player in others]
        if name == "n_positions":
            sources.append(users)
        value = next((value for source in sources if (value := getattr(source, name, None)) is not None), None)
        if value is None and name == "n_positions":
            value = users.n_items if top is None else top
        if value is not None:
            offers[name] = value
    return offers


def _policy_of(player: Player, environment: Any) -> Any:
    policy = player.policy
    return policy if hasattr(policy, "update") else policy(environment)


def _first(environment: Any) -> Any:
    many = isinstance(environment, list | tuple) and not isinstance(environment, ClickProblem)
    first = environment[0] if many and environment else environment
    return first.environment if isinstance(first, ClickProblem) else first
