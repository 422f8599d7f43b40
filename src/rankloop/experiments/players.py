"""Anybody's policies, in any experiment: found by import path, and made for each panel's environment."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rankloop.environments import PreferenceMatrix
from rankloop.environments.problems import each_of, users_of
from rankloop.experiments.declare import Amount, Panel, Player
from rankloop.policies.making import Maker
from rankloop.wording import suggestion


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
            there = [key for key, value in vars(found).items() if _is_own(value, found) and not key.startswith("_")]
            raise ValueError(f"{path}: {name} has no {part}{suggestion(part, there)}")
        found = getattr(found, part)
    if not (callable(found) or hasattr(found, "update")):
        raise ValueError(f"{path} is {found!r}: neither a policy nor a class or function that makes one")
    if inspect.isclass(found) and not (hasattr(found, "rank") or hasattr(found, "duel")):
        raise ValueError(f"{path} is not a policy: it has neither a method rank nor a method duel")
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
        first = each_of(panel.environment)[0]
        added = []
        for label, given in found:
            if label in taken:
                raise ValueError(f"{panel.name} already has a player {label!r}: give yours another label")
            taken.add(label)
            if _fits(given, users_of(first)):
                playing.add(label)
                horizon = amount.of(panel.name, label).horizon
                added.append(Player(label, _policy_or_maker(given, panel, first, horizon)))
        joined.append(replace(panel, players=[*panel.players, *added]))
    return joined, [label for label, _ in found if label not in playing]


def _is_own(value: Any, owner: Any) -> bool:
    """Whether a module or class defines this class or function itself."""
    return callable(value) and getattr(value, "__module__", None) == getattr(owner, "__module__", owner.__name__)


def _fits(given: Any, environment: Any) -> bool:
    plain_function = not inspect.isclass(given) and not hasattr(given, "update")
    return plain_function or hasattr(given, "duel" if isinstance(environment, PreferenceMatrix) else "rank")


def _policy_or_maker(given: Any, panel: Panel, first: Any, horizon: int) -> Any:
    """The policy that is given, or what makes one: told the horizon, and for lists as long as those of the others."""
    if hasattr(given, "update") and not inspect.isclass(given):
        return given
    lengths = (getattr(_policy_of(player, first), "n_positions", None) for player in panel.players)
    n_positions = next((length for length in lengths if length is not None), panel.top)
    return Maker(given, n_positions=n_positions, horizon=horizon)


def _policy_of(player: Player, problem: Any) -> Any:
    return player.policy if hasattr(player.policy, "update") else player.policy(problem)
