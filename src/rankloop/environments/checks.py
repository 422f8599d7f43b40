"""Arguments of environments that are refused, with what was wrong and with what value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankloop.kernels.arrays import Floats, Ints

SLACK = 1e-9
"""Largest amount by which a number may miss its bounds through rounding."""


def check_probabilities(name: str, given: Any, least: int = 1) -> Floats:
    """A read-only copy of a sequence of probabilities."""
    try:
        values = np.array(given, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a sequence of numbers in [0, 1], not {given!r}") from None
    if values.ndim != 1 or len(values) < least:
        raise ValueError(
            f"{name} must be a sequence of at least {least} number{'s' * (least > 1)}, not of shape {values.shape}"
        )
    wrong = np.flatnonzero(~((values >= 0) & (values <= 1)))
    if len(wrong):
        raise ValueError(f"{name}[{wrong[0]}] = {values[wrong[0]]:g} is not a probability: it must lie in [0, 1]")
    values.flags.writeable = False
    return values


def check_features(
    name: str, given: Any, bounds: tuple[float, float] | None = None, width: int | None = None
) -> Floats:
    """A read-only copy of a matrix of numbers, one row for each item; or, if `width` is given, of that many numbers.

    Numbers that miss the bounds by rounding are moved to them. An array that is already read-only is not copied: many
    users may share one.
    """
    kind = "a matrix of numbers with a row for each item" if width is None else f"a sequence of {width} numbers"
    try:
        values = np.asarray(given, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be {kind}, not {given!r}") from None
    fits = values.ndim == 2 and values.size if width is None else values.shape == (width,)
    if not fits:
        raise ValueError(f"{name} must be {kind}, not of shape {values.shape}")
    right = np.isfinite(values)
    if bounds is not None:
        right &= (values >= bounds[0] - SLACK) & (values <= bounds[1] + SLACK)
    if not right.all():
        where = np.argwhere(~right)[0].tolist()
        wanted = "be finite" if bounds is None else f"lie in [{bounds[0]:g}, {bounds[1]:g}]"
        raise ValueError(f"{name}{where} = {values[tuple(where)]:g} must {wanted}")
    if bounds is not None and (values.min() < bounds[0] or values.max() > bounds[1]):
        values = values.clip(*bounds)
    if values.flags.writeable or values is not given or values.base is not None:
        values = np.array(values)
        values.flags.writeable = False
    return values


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
