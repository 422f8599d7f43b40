"""Arrays: one name for each type of them, and one way to check those that are given."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Ints32: TypeAlias = npt.NDArray[np.int32]
Flags: TypeAlias = npt.NDArray[np.bool_]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Words: TypeAlias = npt.NDArray[np.uint64]

SLACK = 1e-9
"""By how much a number may miss its bounds through rounding."""


def check_probabilities(name: str, given: Any, ndim: int = 1) -> Floats:
    """A read-only copy of a sequence of probabilities, or of a table where `ndim` is 2.

    >>> check_probabilities("attraction", [0.5, 0.1]).tolist()
    [0.5, 0.1]
    >>> check_probabilities("attractions", [[0.5, 0.1], [0.2, 1.1]], ndim=2)
    Traceback (most recent call last):
    ValueError: attractions[1, 1] = 1.1 is not a probability: it must lie in [0, 1]
    """
    kind = "sequence" if ndim == 1 else "table"
    try:
        values = np.array(given, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a {kind} of numbers in [0, 1], not {given!r}") from None
    if values.ndim != ndim or not values.size:
        raise ValueError(f"{name} must be a {kind} of at least 1 number, not of shape {values.shape}")
    refuse_any(name, values, ~((values >= 0) & (values <= 1)), "is not a probability: it must lie in [0, 1]")
    values.flags.writeable = False
    return values


def check_features(name: str, given: Any, width: int | None = None) -> Floats:
    """A read-only table of numbers, one row for each item; `width` is how many columns it must have.

    An array that is already read-only is not copied: many users may share one.

    >>> check_features("relevance", [[0.5, 2], [1, 0]], width=3)
    Traceback (most recent call last):
    ValueError: relevance must have 3 columns, not 2
    """
    try:
        values = np.asarray(given, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a table of numbers, one row for each item, not {given!r}") from None
    if values.ndim != 2 or values.shape[1] == 0:
        raise ValueError(f"{name} must be a table of numbers, one row for each item, not of shape {values.shape}")
    if width is not None and values.shape[1] != width:
        raise ValueError(f"{name} must have {width} columns, not {values.shape[1]}")
    refuse_any(name, values, ~np.isfinite(values), "must be finite")
    if values.flags.writeable or values is not given or values.base is not None:
        values = np.array(values)
        values.flags.writeable = False
    return values


def check_topics(name: str, given: Any, width: int | None = None, *, least: float = 0.0) -> Floats:
    """Features that say how much of each topic an item covers, from `least` to 1; those that miss it by rounding too.

    >>> check_topics("topics", [[0.5, 1.2]])
    Traceback (most recent call last):
    ValueError: topics[0, 1] = 1.2 is no coverage of a topic: it must lie in [0, 1]
    """
    values = check_features(name, given, width)
    outside = (values < least) | (values > 1.0)
    if outside.any():
        wrong = (values < least - SLACK) | (values > 1.0 + SLACK)
        refuse_any(name, values, wrong, f"is no coverage of a topic: it must lie in [{least:g}, 1]")
        values = values.clip(least, 1.0)
        values.flags.writeable = False
    return values


def refuse_any(name: str, values: Floats, wrong: Flags, reason: str) -> None:
    """Raise an error that names the first of the values that are wrong."""
    if wrong.any():
        where = np.argwhere(wrong)[0].tolist()
        raise ValueError(f"{name}{where} = {values[tuple(where)]:g} {reason}")
