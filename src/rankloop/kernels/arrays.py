"""The types of arrays that compiled steps work on."""

from __future__ import annotations

from typing import TypeAlias

from rankloop.arrays import Array, Bytes, Flags, Floats, Ints, Ints32, Words

__all__ = [
    "Array",
    "Bytes",
    "Clicks",
    "Flags",
    "Floats",
    "Ints",
    "Ints32",
    "Items",
    "Notes",
    "Stream",
    "Words",
]

Items: TypeAlias = Ints
"""What is shown: the two arms of a duel, or the items of a list from the top."""

Notes: TypeAlias = Floats
"""Numbers that a policy wants to see again with the feedback to what it chose."""

Clicks: TypeAlias = Bytes
"""1 or 0 for each position of a list."""

Stream: TypeAlias = Words
"""The state of a random number generator (`kernels.random`)."""
