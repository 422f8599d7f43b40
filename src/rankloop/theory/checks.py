"""Arrays that bounds are computed of: numbers of steps, numbers of things."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankloop.arrays import Floats


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


def _numbers(name: str, values: Any) -> Floats:
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be numbers, not {values!r}") from None
