"""One way to check an argument: a value that is refused is named, with what was wrong and what is wanted."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable
from datetime import timedelta
from numbers import Integral, Real
from typing import Any

from rankloop.wording import DAY, HOUR, MINUTE, YEAR, listed, nearest

LARGEST_WHOLE = 2**63 - 1
"""The largest number that compiled code can count to."""

LONGEST_TIME = 100 * YEAR
"""Seconds: times in the journal are numbers of milliseconds, which have their limits."""

_SECONDS = {"ms": 0.001, "s": 1, "sec": 1, "second": 1, "min": MINUTE, "minute": MINUTE, "h": HOUR, "hour": HOUR}
_SECONDS |= {"d": DAY, "day": DAY, "week": 7 * DAY}
_BYTES = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9}


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


def check_choice(name: str, value: Any, choices: Collection[str]) -> str:
    """One of a few words, all of which are told where it is none of them.

    >>> check_choice("link", "logistic", ("logistic", "linear"))
    'logistic'
    >>> check_choice("link", "cubic", ("logistic", "linear"))
    Traceback (most recent call last):
    ValueError: link must be logistic or linear, not 'cubic'
    """
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be {listed(choices, 'or')}, not {value!r}")
    return value


def check_known(what: str, value: Any, known: Iterable[str]) -> str:
    """One of the names of things that there are, which may be many: where it is none, the nearest is suggested.

    >>> check_known("loop", "serach", ["search", "home"])
    Traceback (most recent call last):
    ValueError: there is no loop 'serach': did you mean 'search'?
    """
    names = list(known)
    if isinstance(value, str) and value in names:
        return value
    near = nearest(value, names) if isinstance(value, str) else None
    hint = f"did you mean {near!r}?" if near else f"there are {', '.join(names) or 'none yet'}"
    raise ValueError(f"there is no {what} {value!r}: {hint}")


def parse_duration(name: str, value: Any) -> float:
    """A length of time in seconds, from a number of seconds, a timedelta or a text such as "30 min".

    >>> parse_duration("window", "30 min"), parse_duration("keep", "90 days")
    (1800.0, 7776000.0)
    """
    if isinstance(value, timedelta):
        seconds = value.total_seconds()
    elif is_number(value):
        seconds = float(value)
    else:
        match = re.fullmatch(r"\s*([0-9.]+)\s*([a-z]+)\s*", value) if isinstance(value, str) else None
        unit = match[2].removesuffix("s") if match and match[2] not in _SECONDS else match and match[2]
        try:
            seconds = float(match[1]) * _SECONDS[unit] if match and unit else -1.0
        except (ValueError, KeyError):
            seconds = -1.0
    if not 0 < seconds <= LONGEST_TIME:
        told = 'a length of time such as "30 min", "2 h" or "90 days", and at most 100 years'
        raise ValueError(f"{name} must be {told}, not {value!r}")
    return seconds


def parse_size(name: str, value: Any) -> int:
    """A number of bytes, from a number or a text such as "256 MB".

    >>> parse_size("memory", "256 MB")
    256000000
    """
    match = re.fullmatch(r"\s*([0-9.]+)\s*([kmg]?)b\s*", value.lower()) if isinstance(value, str) else None
    number: Any = value
    if match:
        try:
            number = float(match[1]) * _BYTES[match[2]]
        except ValueError:
            number = None
    if not is_number(number) or not 0 < number < float("inf"):
        raise ValueError(f'{name} must be a size such as "256 MB", not {value!r}')
    return int(number)
