"""Lists of items that are refused, with what was wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankloop.arrays import Ints


def check_list(ranking: Any, n_items: int, n_positions: int | None = None) -> Ints:
    """A list of distinct items, no longer than the positions that the model knows."""
    items = list(ranking) if isinstance(ranking, Sequence | np.ndarray) else None
    if items is None or not all(isinstance(i, int | np.integer) and not isinstance(i, bool | np.bool_) for i in items):
        raise ValueError(f"a list must be a sequence of item numbers, not {ranking!r}")
    for item in items:
        if not 0 <= item < n_items:
            raise ValueError(f"item {item} does not exist: items go from 0 to {n_items - 1}")
    if len(set(items)) < len(items):
        raise ValueError(f"a list must not hold an item twice, as {[int(i) for i in items]} does")
    if n_positions is not None and len(items) > n_positions:
        raise ValueError(f"a list of {len(items)} items is longer than the {n_positions} positions of the model")
    return np.array(items, np.int64)
