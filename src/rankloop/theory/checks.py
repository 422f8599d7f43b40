"""Arguments of bounds that are refused, with what was wrong and with what value."""

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


def check_whole(name: str, value: Any, least: int) -> int:
    """A whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, not {value!r}")
    return int(value)


def check_between(name: str, value: Any, low: float, high: float, *, closed: bool = False) -> float:
    """A number strictly between two others, or equal to the higher one where `closed`."""
    number = float(_numbers(name, value)) if np.ndim(value) == 0 else np.nan
    if not (low < number < high or (closed and number == high)):
        upto = f"be more than {low:g} and at most {high:g}" if closed else f"lie between {low:g} and {high:g}"
        raise ValueError(f"{name} must {upto}, not be {value!r}")
    return number


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
