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
    """Steps evenly spread on a logarithmic scale; among them powers of ten, a tenth and half of the horizon."""
    spread = np.geomspace(1, horizon, number).round().astype(int).tolist()
    return _within(horizon, [*spread, *(10**k for k in range(19)), horizon // 10, horizon // 2, horizon])


def even(horizon: int, number: int = 200) -> tuple[int, ...]:
    """Steps evenly spread over time, the ends of all tenths and their middles among them."""
    spread = [horizon * k // number for k in range(1, number + 1)]
    return _within(horizon, [*spread, *(horizon * k // 20 for k in range(1, 21))])


def _within(horizon: int, steps: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted({step for step in steps if 1 <= step <= horizon}))
