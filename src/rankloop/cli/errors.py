"""What is refused, in one line that says how to do better."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class Refused(Exception):
    """Bad input: the command ends with exit code 2 and this one line."""


@contextmanager
def refusing(what: str = "") -> Iterator[None]:
    """Turn the errors that bad values and bad files raise into `Refused`."""
    before = f"{what}: " if what else ""
    try:
        yield
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        raise Refused(f"{before}{place}{error.strerror or error}") from error
    except ValueError as error:
        raise Refused(f"{before}{error}") from error


def suggestion(name: str, options: Iterable[str]) -> str:
    """How to go on after a wrong name: the nearest right one, or all there are.

    >>> suggestion("mergedts", ["DTS", "MergeDTS"])
    ': did you mean MergeDTS?'
    >>> suggestion("x", ["DTS", "MergeDTS"])
    ': there are DTS, MergeDTS'
    """
    names = {option.casefold(): option for option in sorted(options)}
    near = difflib.get_close_matches(name.casefold().replace("-", ""), names, n=1, cutoff=0.55)
    if near:
        return f": did you mean {names[near[0]]}?"
    return f": there are {', '.join(names.values())}" if names else ""
