"""Arguments that are refused, with what was wrong and with what value."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

LARGEST_WHOLE = 2**63 - 1
"""What compiled code can count to."""


def check_whole(name: str, value: Any, least: int) -> int:
    """A whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, not {value!r}")
    if value > LARGEST_WHOLE:
        raise ValueError(f"{name} must be less than 2^63, not {value!r}")
    return int(value)


def check_seed(seed: Any) -> int:
    """A seed: a whole number of any size."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed must be a whole number of at least 0, not {seed!r}")
    return int(seed)


def check_positive(name: str, value: Any) -> float:
    """A positive, finite number."""
    if not is_finite(value) or not value > 0:
        raise ValueError(f"{name} must be a positive number, not {value!r}")
    return float(value)


def check_between(name: str, value: Any, low: float, high: float) -> float:
    """A number strictly between two others."""
    if not is_number(value) or not low < value < high:
        raise ValueError(f"{name} must lie between {low:g} and {high:g}, not be {value!r}")
    return float(value)


def check_flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, not {value!r}")
    return bool(value)


def is_number(value: Any) -> bool:
    """Whether the value is a real number, which True and False are not."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def is_finite(value: Any) -> bool:
    """Whether the value is a real number that a float can hold."""
    return is_number(value) and bool(abs(value) <= sys.float_info.max)


def is_index(value: Any, n: int) -> bool:
    """Whether the value names one of n things counted from 0."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and 0 <= int(value) < n


def check_kept(kept: Any, n: int) -> list[int | None]:
    """What another list keeps of the n items or arms before it: for each its old number, at most once, or None."""
    if not isinstance(kept, Sequence | np.ndarray) or isinstance(kept, str | bytes) or len(kept) == 0:
        raise ValueError(f"kept must have an old number or None for each item of the new list, not {kept!r}")
    for old in kept:
        if old is not None and not is_index(old, n):
            raise ValueError(f"kept holds old numbers, from 0 to {n - 1}, or None for what is new, not {old!r}")
    numbers = [None if old is None else int(old) for old in kept]
    known = [old for old in numbers if old is not None]
    if len(set(known)) < len(known):
        raise ValueError(f"kept must name each old number once, not as in {numbers!r}")
    return numbers
