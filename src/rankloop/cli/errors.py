"""What is refused, in one line that says how to do better."""

from __future__ import annotations

from collections.abc import Iterator
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
