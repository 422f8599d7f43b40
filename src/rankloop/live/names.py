"""Names of loops, keys, items, rankers and users: what they may be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

LONGEST_NAME = 1_024
LONGEST_LIST = 1_000


def check_name(what: str, value: Any) -> str:
    """A text that names a loop, a key, an item, a ranker or a user."""
    if type(value) is str and 0 < len(value) <= LONGEST_NAME and value.isascii() and "\0" not in value:
        return value  # as nearly all are
    if not isinstance(value, str):
        raise ValueError(f"{what} must be a text, not {value!r}")
    if not value:
        raise ValueError(f"{what} must not be empty")
    if len(value) > LONGEST_NAME:
        raise ValueError(f"{what} must have at most {LONGEST_NAME:,} characters, not {len(value):,}: {value[:40]!r}...")
    if "\0" in value or not _encodes(value):
        raise ValueError(f"{what} must not hold NUL or surrogate characters: {value[:80]!r}")
    return value


def _encodes(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_names(what: str, values: Any, *, least: int = 1) -> tuple[str, ...]:
    """A list of different names."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise ValueError(f"{what} must be a list of texts, not {values!r}")
    names = tuple(values)
    if len(names) < least:
        wanted = "must not be empty" if least == 1 else f"must have at least {least} entries"
        raise ValueError(f"{what} {wanted}" if not names else f"{what} {wanted}, not {len(names)}")
    if len(names) > LONGEST_LIST:
        raise ValueError(f"{what} must have at most {LONGEST_LIST:,} entries, not {len(names):,}")
    for name in names:
        check_name(f"each entry of {what}", name)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{what} must name each entry once: {twice!r} is there twice")
    return names
