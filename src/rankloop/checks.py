"""One way to check an argument: a value that is refused is named, with what was wrong and what is wanted."""

from __future__ import annotations

import sys
from numbers import Integral, Real
from typing import Any

LARGEST_WHOLE = 2**63 - 1
"""The largest number that compiled code can count to."""


def is_whole(value: Any) -> bool:
    """Whether the value is a whole number, which True and False are not."""
    return type(value) is int or (isinstance(value, Integral) and not isinstance(value, bool))


def is_number(value: Any) -> bool:
    """Whether the value is a real number, which True and False are not."""
    return type(value) in (int, float) or (isinstance(value, Real) and not isinstance(value, bool))


def is_finite(value: Any) -> bool:
    """Whether the value is a real number that a float can hold."""
    return is_number(value) and bool(abs(value) <= sys.float_info.max)


def is_index(value: Any, n: int) -> bool:
    """Whether the value names one of n things counted from 0."""
    return is_whole(value) and 0 <= int(value) < n


def check_whole(name: str, value: Any, least: int, most: int | None = None, *, floats: bool = False) -> int:
    """A whole number of at least `least` and, where that is given, at most `most`.

    Parameters
    ----------
    floats
        Whether floats that are whole numbers, 1e6 for example, are taken too.

    Examples
    --------
    >>> check_whole("runs", 3, 1), check_whole("horizon", 1e6, 1, floats=True)
    (3, 1000000)
    >>> check_whole("runs", 0, 1)
    Traceback (most recent call last):
    ValueError: runs must be a whole number of at least 1, not 0
    >>> check_whole("top", 12, 1, 10)
    Traceback (most recent call last):
    ValueError: top must be a whole number from 1 to 10, not 12
    """
    whole = is_whole(value) or (floats and is_number(value) and float(value).is_integer())
    if not whole or value < least or (most is not None and value > most):
        wanted = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name} must be a whole number {wanted}, not {value!r}")
    if value > LARGEST_WHOLE:
        raise ValueError(f"{name} must be less than 2^63, not {value!r}")
    return int(value)


def check_seed(seed: Any, name: str = "seed") -> int:
    """A seed: a whole number of any size."""
    if not is_whole(seed) or seed < 0:
        raise ValueError(f"{name} must be a whole number of at least 0, not {seed!r}")
    return int(seed)


def check_number(name: str, value: Any, least: float, most: float | None = None) -> float:
    """A finite number of at least `least` and, where that is given, at most `most`."""
    if not is_finite(value) or value < least or (most is not None and value > most):
        wanted = f"of at least {least:g}" if most is None else f"from {least:g} to {most:g}"
        raise ValueError(f"{name} must be a number {wanted}, not {value!r}")
    return float(value)


def check_positive(name: str, value: Any) -> float:
    """A positive, finite number."""
    if not is_finite(value) or not value > 0:
        raise ValueError(f"{name} must be a positive number, not {value!r}")
    return float(value)


def check_between(name: str, value: Any, low: float, high: float, *, closed: bool = False) -> float:
    """A number strictly between two others, or equal to the higher one where `closed`.

    >>> check_between("alpha", 0.8, 0, 1), check_between("gap", 1, 0, 1, closed=True)
    (0.8, 1.0)
    """
    if not is_number(value) or not (low < value < high or (closed and value == high)):
        wanted = f"be more than {low:g} and at most {high:g}" if closed else f"lie between {low:g} and {high:g}"
        raise ValueError(f"{name} must {wanted}, not be {value!r}")
    return float(value)


def check_probability(name: str, value: Any) -> float:
    """A number from 0 to 1."""
    return check_number(name, value, 0, 1)


def check_flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        import numpy as np  # here, since clients of the service do without it

        if not isinstance(value, np.bool_):
            raise ValueError(f"{name} must be True or False, not {value!r}")
    return bool(value)
