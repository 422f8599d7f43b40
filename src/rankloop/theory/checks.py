"""Arrays that bounds are computed of: numbers of steps, numbers of things, probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def check_steps(steps: npt.ArrayLike, least: float = 1, name: str = "steps") -> Floats:
    """One number of steps or many, each at least `least`."""
    given = _numbers(name, steps)
    wrong = ~((given >= least) & np.isfinite(given))
    if wrong.any():
        raise ValueError(f"{name} must be numbers of at least {least:g}, not {given[wrong].flat[0]:g}")
    return given


def check_counts(name: str, counts: npt.ArrayLike) -> Floats:
    """One number of things or many, none of them negative."""
    given = _numbers(name, counts)
    wrong = ~((given >= 0) & np.isfinite(given))
    if wrong.any():
        raise ValueError(f"{name} must be numbers of at least 0, not {given[wrong].flat[0]:g}")
    return given


def check_probabilities(name: str, values: npt.ArrayLike, ndim: int) -> Floats:
    """An array of that many dimensions of probabilities, with something in it."""
    given = _numbers(name, values)
    if given.ndim != ndim or given.size == 0:
        raise ValueError(f"{name} must have {ndim} dimension{'s' * (ndim > 1)} and not be empty: shape {given.shape}")
    wrong = ~((given >= 0) & (given <= 1))
    if wrong.any():
        raise ValueError(f"{name} must be probabilities in [0, 1], not {given[wrong].flat[0]:g}")
    return given


def _numbers(name: str, values: Any) -> Floats:
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be numbers, not {values!r}") from None
