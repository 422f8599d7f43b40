"""What the declarations share: players, and when to record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from rankloop.experiments.declare import Player


def duelist(label: str, policy: Callable[..., Any], **parameters: Any) -> Player:
    """A dueling policy, made for the rankers of a matrix."""
    return Player(label, partial(_for_matrix, policy, parameters))


def ranker(label: str, policy: Callable[..., Any], n_positions: int, **parameters: Any) -> Player:
    """A click policy that starts from nothing, made for the items of a query."""
    return Player(label, partial(_for_items, policy, n_positions, parameters))


def reranker(label: str, policy: Callable[..., Any], n_positions: int, **parameters: Any) -> Player:
    """A click policy that starts from production's list of a query."""
    return Player(label, partial(_for_list, policy, n_positions, parameters))


def recommender(
    label: str, policy: Callable[..., Any], features: Sequence[str], n_positions: int, **parameters: Any
) -> Player:
    """A policy that ranks by features, made for the catalogue of a user; `features` are `relevance` and `topics`."""
    return Player(label, partial(_for_user, policy, tuple(features), n_positions, parameters))


def _for_matrix(policy: Callable[..., Any], parameters: dict[str, Any], matrix: Any) -> Any:
    return policy(matrix.n_arms, **parameters)


def _for_items(policy: Callable[..., Any], n_positions: int, parameters: dict[str, Any], users: Any) -> Any:
    return policy(users.n_items, n_positions, **parameters)


def _for_list(policy: Callable[..., Any], n_positions: int, parameters: dict[str, Any], users: Any) -> Any:
    initial = getattr(users, "initial", range(users.n_items))  # production's order is that of the items' numbers
    return policy(list(initial), n_positions=n_positions, **parameters)


def _for_user(
    policy: Callable[..., Any], features: Sequence[str], n_positions: int, parameters: dict[str, Any], user: Any
) -> Any:
    return policy(*(getattr(user, name) for name in features), n_positions, **parameters)


def logarithmic(horizon: int, number: int = 60) -> tuple[int, ...]:
    """Steps evenly spread on a logarithmic scale; among them 1, 2, 3 and 5 times powers of ten, a tenth and half."""
    spread = np.geomspace(1, horizon, number).round().astype(int).tolist()
    round_ones = (digit * 10**k for digit in (1, 2, 3, 5) for k in range(19))
    return _sorted(horizon, [*spread, *round_ones, *_ends(horizon)])


def even(horizon: int, number: int = 200) -> tuple[int, ...]:
    """Steps evenly spread over time, the ends of all tenths and their middles among them."""
    spread = [horizon * k // number for k in range(1, number + 1)]
    return _sorted(horizon, [*spread, *(horizon * k // 20 for k in range(1, 21))])


def within(horizon: int, checkpoints: int | Sequence[int] | None) -> int | Sequence[int] | None:
    """Checkpoints of a panel for a player with a horizon of its own: those up to there, and the ends.

    >>> within(200, [10, 100, 1000]), within(1000, [10, 100, 1000])
    ((10, 20, 100, 200), [10, 100, 1000])
    """
    if checkpoints is None or isinstance(checkpoints, int) or max(checkpoints) <= horizon:
        return checkpoints
    return _sorted(horizon, [*checkpoints, *_ends(horizon)])


def _ends(horizon: int) -> tuple[int, int, int]:
    """A tenth of the steps, half of them, and all."""
    return horizon // 10, horizon // 2, horizon


def _sorted(horizon: int, steps: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted({step for step in steps if 1 <= step <= horizon}))
