"""What is refused, in one line that says how to do better."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


class Refused(Exception):
    """Bad input: the command ends with exit code 2 and this one line."""


@contextmanager
def refusing(what: str = "", options: Mapping[str, str] | None = None) -> Iterator[None]:
    """Turn the errors that bad values and bad files raise into `Refused`.

    `what` is said before the error, and `options` are the names on the command line of parameters that it may name.
    """
    before = f"{what}: " if what else ""
    try:
        yield
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        raise Refused(f"{before}{place}{error.strerror or error}") from error
    except ValueError as error:
        named = options or {}
        text = re.sub(r"\w+", lambda word: named.get(word[0], word[0]), str(error))
        raise Refused(f"{before}{text}") from error
