"""Names as numbers, in a table that compiled readers fill: about 30 bytes per name where a Python dict takes 150."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np

from rankloop.kernels import compiled, entry
from rankloop.kernels.arrays import Bytes, Ints, Ints32

NUMERIC = 1 << 30
"""Item codes below this are the item's name, a decimal number; those from it on count the other names."""


@compiled
def intern(
    text: Bytes, begin: int, end: int, add: bool, table: Ints32, names: Bytes, offsets: Ints, counts: Ints
) -> int:
    """The number of the name text[begin:end]; a new name is added, or has the number -1."""
    word = np.uint64(0xCBF29CE484222325)
    for i in range(begin, end):
        word = (word ^ np.uint64(text[i])) * np.uint64(0x100000001B3)
    word ^= word >> np.uint64(32)
    mask = len(table) - 1
    slot = np.int64(word & np.uint64(mask))
    length = end - begin
    while table[slot] >= 0:
        known = table[slot]
        start = offsets[known]
        if offsets[known + 1] - start == length:
            i = 0
            while i < length and names[start + i] == text[begin + i]:
                i += 1
            if i == length:
                return known
        slot = (slot + 1) & mask
    if not add:
        return -1
    number = counts[0]
    table[slot] = number
    start = offsets[number]
    for i in range(length):
        names[start + i] = text[begin + i]
    offsets[number + 1] = start + length
    counts[0] = number + 1
    return number


@compiled
def item_code(
    text: Bytes, begin: int, end: int, add: bool, table: Ints32, names: Bytes, offsets: Ints, counts: Ints
) -> int:
    """The code of an item's name: itself where it is a plain number, which needs no place in the table."""
    if 0 < end - begin < 10 and (text[begin] != 48 or end - begin == 1):
        value = 0
        for i in range(begin, end):
            if not 48 <= text[i] <= 57:
                value = -1
                break
            value = 10 * value + int(text[i]) - 48
        if value >= 0:
            return value
    number = intern(text, begin, end, add, table, names, offsets, counts)
    return number + NUMERIC if number >= 0 else number


@entry
def _intern_one(text: Bytes, add: bool, as_item: bool, table: Ints32, names: Bytes, offsets: Ints, counts: Ints) -> int:
    find = 0
    if as_item:
        find = item_code(text, 0, len(text), add, table, names, offsets, counts)
    else:
        find = intern(text, 0, len(text), add, table, names, offsets, counts)
    return find


@entry
def _rehash(table: Ints32, names: Bytes, offsets: Ints, n: int) -> None:
    mask = len(table) - 1
    for number in range(n):
        word = np.uint64(0xCBF29CE484222325)
        for i in range(offsets[number], offsets[number + 1]):
            word = (word ^ np.uint64(names[i])) * np.uint64(0x100000001B3)
        word ^= word >> np.uint64(32)
        slot = np.int64(word & np.uint64(mask))
        while table[slot] >= 0:
            slot = (slot + 1) & mask
        table[slot] = number


class Vocabulary(Sequence[str]):
    """Distinct names, numbered in the order in which they first appear.

    Examples
    --------
    >>> names = Vocabulary()
    >>> [names.add(name) for name in ("red", "shoes", "red")]
    [0, 1, 0]
    >>> names[1], names.find("blue"), len(names)
    ('shoes', -1, 2)
    """

    def __init__(self) -> None:
        self.table = np.full(16, -1, np.int32)
        self.names = np.zeros(64, np.uint8)
        self.offsets = np.zeros(9, np.int64)
        self.counts = np.zeros(1, np.int64)

    @property
    def arrays(self) -> tuple[Ints32, Bytes, Ints, Ints]:
        """What the compiled functions take."""
        return self.table, self.names, self.offsets, self.counts

    def reserve(self, n_names: int, n_bytes: int) -> None:
        """Make room for more names, of so many bytes in all."""
        n = len(self)
        # Grown by little, and in place where the operating system can: twice would not fit beside a large log.
        if self.offsets[n] + n_bytes > len(self.names):
            self.names.resize(int(max(self.offsets[n] + n_bytes, 1.2 * len(self.names))), refcheck=False)
        if n + n_names + 1 > len(self.offsets):
            self.offsets.resize(int(max(n + n_names + 1, 1.2 * len(self.offsets))), refcheck=False)
        if 3 * (n + n_names) > 2 * len(self.table):
            self.table = np.full(1 << (3 * (n + n_names) // 2).bit_length(), -1, np.int32)
            _rehash(self.table, self.names, self.offsets, n)

    def add(self, name: str, as_item: bool = False) -> int:
        """The number of a name, or its code as an item, new or known."""
        text = _bytes(name)
        self.reserve(1, len(text))
        return int(_intern_one(text, True, as_item, *self.arrays))

    def find(self, name: str, as_item: bool = False) -> int:
        """The number of a name, or its code as an item; -1 where it is not known."""
        return int(_intern_one(_bytes(name), False, as_item, *self.arrays))

    def item_name(self, code: int) -> str:
        """The name of an item by its code."""
        return str(code) if code < NUMERIC else self[code - NUMERIC]

    def trim(self) -> None:
        """Give back the room that was reserved and not needed."""
        n = len(self)
        self.names.resize(int(self.offsets[n]) or 1, refcheck=False)
        self.offsets.resize(n + 1, refcheck=False)

    def __len__(self) -> int:
        return int(self.counts[0])

    @overload
    def __getitem__(self, number: int) -> str: ...
    @overload
    def __getitem__(self, number: slice) -> list[str]: ...
    def __getitem__(self, number: int | slice) -> str | list[str]:
        if isinstance(number, slice):
            return [self[i] for i in range(*number.indices(len(self)))]
        if not 0 <= number < len(self):
            raise IndexError(f"no name has the number {number}: there are {len(self)}")
        return self.names[self.offsets[number] : self.offsets[number + 1]].tobytes().decode(errors="replace")

    def __iter__(self) -> Iterator[str]:
        return (self[i] for i in range(len(self)))


def _bytes(name: str) -> Bytes:
    return np.frombuffer(name.encode() or b"", np.uint8)
