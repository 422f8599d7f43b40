"""What the declarations share: players, and when to record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from rankloop.experiments.declare import Player
from rankloop.policies.making import Maker


def player(label: str, policy: Callable[..., Any], n_positions: int | None = None, **parameters: Any) -> Player:
    """A policy with these parameters, made for each matrix, query or user; for lists, of that many positions."""
    return Player(label, Maker(policy, parameters, n_positions))


def logarithmic(horizon: int, number: int = 60) -> tuple[int, ...]:
    """Steps evenly spread on a logarithmic scale; among them 1, 2, 3 and 5 times powers of ten, a tenth and half."""
    spread = np.geomspace(1, horizon, number).round().astype(int).tolist()
    round_ones = (digit * 10**k for digit in (1, 2, 3, 5) for k in range(19))
    return _sorted(horizon, [*spread, *round_ones, *_ends(horizon)])


def even(horizon: int, number: int = 200) -> tuple[int, ...]:
    """Steps evenly spread over time, the ends of all tenths and their middles among them."""
    spread = [horizon * k // number for k in range(1, number + 1)]
    return _sorted(horizon, [*spread, *(horizon * k // 20 for k in range(1, 21))])


def checkpoints_within(horizon: int, checkpoints: int | Sequence[int] | None) -> int | Sequence[int] | None:
    """Checkpoints of a panel for a player with a horizon of its own: those up to there, and the ends.

    >>> checkpoints_within(200, [10, 100, 1000]), checkpoints_within(1000, [10, 100, 1000])
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
