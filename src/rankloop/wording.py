"""One way to say a duration, a number of things, a list of names, and which name was probably meant or was changed."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any

MINUTE, HOUR, DAY = 60, 3_600, 86_400
YEAR = 365.25 * DAY


def duration(seconds: float) -> str:
    """A length of time as a person says it, in at most two units.

    >>> [duration(s) for s in (0.001, 0.02, 4.26, 42.3, 75, 300, 2_000)]
    ['<0.01 s', '0.02 s', '4.3 s', '42 s', '1 min 15 s', '5 min', '33 min']
    >>> [duration(s) for s in (8_000, 80_000, 200_000, 1e6, 5e7)]
    ['2 h 13 min', '22 h', '2 days 8 h', '12 days', '1.6 years']
    """
    if seconds < 0.005:
        return "<0.01 s"
    if round(seconds, 1) < 10:
        return f"{seconds:.2f} s" if seconds < 1 else f"{seconds:.1f} s"
    if seconds >= YEAR:
        return f"{seconds / YEAR:,.1f} years"
    units = ((DAY, "day"), (HOUR, "h"), (MINUTE, "min"), (1, "s"))
    for (size, unit), (smaller, smaller_unit) in pairwise(units):
        if round(seconds / smaller) * smaller >= 10 * size:
            return _amount(round(seconds / size), unit)
        if (parts := round(seconds / smaller) * smaller) >= size:
            rest = parts % size // smaller
            return _amount(parts // size, unit) + (f" {_amount(rest, smaller_unit)}" if rest else "")
    return f"{round(seconds)} s"


def _amount(number: int, unit: str) -> str:
    return count(number, unit) if unit == "day" else f"{number} {unit}"


def count(number: int, thing: str, things: str | None = None) -> str:
    """A number of things, in the singular where it is one.

    >>> count(1, "run"), count(2000, "run"), count(0, "query", "queries")
    ('1 run', '2,000 runs', '0 queries')
    """
    return f"{number:,} {thing if number == 1 else things or f'{thing}s'}"


def listed(names: Iterable[Any], last: str = "and") -> str:
    """Names in a row, the last one after `last`.

    >>> listed(["CM", "DCM", "PBM"], "or"), listed(["CM"])
    ('CM, DCM or PBM', 'CM')
    """
    texts = [str(name) for name in names]
    return f" {last} ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def shorten(value: Any) -> str:
    """A value for a message, which nobody wants to fill the screen."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def nearest(name: str, options: Iterable[str]) -> str | None:
    """The option that was probably meant by a name which is not among them, if there is one.

    >>> nearest("merge-dts", ["DTS", "MergeDTS"]), nearest("x", ["DTS", "MergeDTS"])
    ('MergeDTS', None)
    """
    plain = {_plain(option): option for option in sorted(options)}
    near = difflib.get_close_matches(_plain(name), plain, n=1, cutoff=0.55)
    return plain[near[0]] if near else None


def _plain(name: str) -> str:
    return name.casefold().replace("-", "").replace("_", "")


def suggestion(name: str, options: Iterable[str]) -> str:
    """How to go on after a wrong name: the nearest right one, or all there are.

    >>> suggestion("mergedts", ["DTS", "MergeDTS"])
    ': did you mean MergeDTS?'
    >>> suggestion("x", ["DTS", "MergeDTS"])
    ': there are DTS and MergeDTS'
    """
    known = list(options)
    near = nearest(name, known)
    if near is not None:
        return f": did you mean {near}?"
    return f": there {'is' if len(known) == 1 else 'are'} {listed(known)}" if known else ""


def short_number(value: float) -> str:
    """A number in few characters: 10k rather than 10,000.

    >>> [short_number(v) for v in (0, 0.25, 512, 1000, 25_000, 1e6, 1.5e8, 2e9, -3000)]
    ['0', '0.25', '512', '1k', '25k', '1M', '150M', '2G', '-3k']
    """
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.4g}{letter}"
    return f"{value:.3g}"


def former_names(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a module in which some things have a new name: former ones are found too, with a warning.

    Parameters
    ----------
    module
        Name of the module.
    names
        Today's name of each former one.
    """

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warnings.warn(f"{module}.{name} is called {names[name]} now", DeprecationWarning, stacklevel=2)
        return getattr(sys.modules[module], names[name])

    return find
