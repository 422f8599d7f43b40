"""A click log boiled down to what models are fitted to: distinct sessions with counts.

Frequent queries repeat the same few lists and the same few patterns of clicks, so everything after this step works on
a fraction of the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from rankloop.kernels import entry, inlined
from rankloop.kernels.arrays import Clicks, Floats, Ints, Ints32, Words

Codes = Ints32

MOST_POSITIONS = 64
"""The clicks of a session are kept as the bits of one word."""


class Log(Protocol):
    """What a click log must offer; `rankloop.datasets.ClickLog` does."""

    @property
    def queries(self) -> Codes:
        """The number of each session's query, (n_sessions,)."""

    @property
    def items(self) -> Codes:
        """The code of the item at each position, (n_sessions, n_positions); -1 past the end of a list."""

    @property
    def clicks(self) -> Clicks:
        """1 where the position was clicked, else 0."""

    @property
    def query_names(self) -> Sequence[str]:
        """The name of each query."""

    def item_name(self, code: int) -> str:
        """The name of an item."""

    def item_code(self, name: str) -> int:
        """The code of an item, -1 for one that the log does not know."""


class Sessions(NamedTuple):
    """Distinct lists, and distinct sessions on them.

    Attributes
    ----------
    lists
        The item, or query-item pair, at each position of each distinct list; -1 past its end.
    list_query
        The query of each list.
    list_count
        Number of times that each list was shown.
    of_list
        The list of each distinct session.
    clicks
        The clicks of each distinct session, by position.
    weight
        Number of times that each distinct session was seen.
    """

    lists: Codes
    list_query: Codes
    list_count: Ints
    of_list: Codes
    clicks: Clicks
    weight: Floats

    @property
    def n_positions(self) -> int:
        """The length of the longest list."""
        return self.lists.shape[1]

    @property
    def n_sessions(self) -> int:
        """How many sessions the log had."""
        return int(self.list_count.sum())

    def blocks(self, size: int = 1 << 18) -> Iterator[tuple[Codes, Clicks, Floats]]:
        """The items, clicks and weights of the distinct sessions, some at a time to save memory."""
        for begin in range(0, len(self.of_list), size):
            part = slice(begin, begin + size)
            yield self.lists[self.of_list[part]], self.clicks[part], self.weight[part]


@inlined
def _mixed(word: np.uint64, value: int | np.integer[Any]) -> np.uint64:
    """One step of a hash: murmur's finaliser over the running word."""
    word = (word ^ np.uint64(value)) * np.uint64(0xFF51AFD7ED558CCD)
    return word ^ (word >> np.uint64(32))


@entry
def _group(queries: Codes, items: Codes, clicks: Clicks, table: Codes, table2: Codes, list_first: Codes,
           list_count: Ints, of_list: Codes, bits: Words, weight: Codes) -> tuple[int, int]:  # fmt: skip
    """Number the distinct (query, list) and the distinct (list, clicks); tables are of a power of two, full of -1."""
    n, n_positions = items.shape
    mask = np.uint64(len(table) - 1)
    n_lists = 0
    n_distinct = 0
    for s in range(n):
        word = np.uint64(queries[s])
        clicked = np.uint64(0)
        for k in range(n_positions):
            word = _mixed(word, np.int64(items[s, k]) + 2)
            if clicks[s, k]:
                clicked |= np.uint64(1) << np.uint64(k)
        slot = np.int64((word ^ (word >> np.uint64(29))) & mask)
        found = -1
        while table[slot] >= 0:
            first = list_first[table[slot]]
            same = queries[first] == queries[s]
            for k in range(n_positions):
                same = same and items[first, k] == items[s, k]
            if same:
                found = table[slot]
                break
            slot = (slot + 1) & np.int64(mask)
        if found < 0:
            found = n_lists
            table[slot] = n_lists
            list_first[n_lists] = s
            n_lists += 1
        list_count[found] += 1
        word = _mixed(_mixed(np.uint64(found), clicked), 1)
        slot = np.int64((word ^ (word >> np.uint64(29))) & mask)
        known = -1
        while table2[slot] >= 0:
            other = table2[slot]
            if of_list[other] == found and bits[other] == clicked:
                known = other
                break
            slot = (slot + 1) & np.int64(mask)
        if known < 0:
            known = n_distinct
            table2[slot] = n_distinct
            of_list[n_distinct] = found
            bits[n_distinct] = clicked
            n_distinct += 1
        weight[known] += 1
    return n_lists, n_distinct


def group_sessions(log: Log) -> Sessions:
    """The distinct lists and sessions of a log, in the order in which they first appear."""
    queries = np.ascontiguousarray(log.queries, np.int32)
    items = np.ascontiguousarray(log.items, np.int32)
    clicks = np.ascontiguousarray(log.clicks, np.uint8)
    n, n_positions = items.shape
    if n == 0:
        raise ValueError("the log has no sessions")
    if n_positions > MOST_POSITIONS:
        raise ValueError(f"lists may have at most {MOST_POSITIONS} positions, not {n_positions}")
    size = 1 << max(4, (2 * n - 1).bit_length())
    list_first = np.empty(n, np.int32)
    list_count = np.zeros(n, np.int64)
    of_list = np.empty(n, np.int32)
    bits = np.empty(n, np.uint64)
    weight = np.zeros(n, np.int32)
    n_lists, m = _group(queries, items, clicks, np.full(size, -1, np.int32), np.full(size, -1, np.int32), list_first,
                        list_count, of_list, bits, weight)  # fmt: skip
    first = list_first[:n_lists]
    places = np.arange(n_positions, dtype=np.uint64)
    expanded = np.empty((m, n_positions), np.uint8)
    for begin in range(0, m, 1 << 18):
        part = slice(begin, min(m, begin + (1 << 18)))
        expanded[part] = (bits[part, None] >> places) & np.uint64(1)
    return Sessions(
        lists=items[first],
        list_query=queries[first],
        list_count=list_count[:n_lists].copy(),
        of_list=of_list[:m].copy(),
        clicks=expanded,
        weight=weight[:m].astype(np.float64),
    )
