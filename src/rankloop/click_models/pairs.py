"""Query-item pairs: what attraction and satisfaction are parameters of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rankloop.click_models.sessions import Codes, Log, Sessions
from rankloop.kernels import entry
from rankloop.kernels.arrays import Ints


@entry
def _find_pairs(query: Codes, lists: Codes, pair_query: Codes, pair_item: Codes, table: Codes, n_pairs: int, add: bool,
                found: Codes) -> int:  # fmt: skip
    """Write the number of each (query, item) into `found`; unknown ones are added, or get the number n_pairs."""
    mask = np.uint64(len(table) - 1)
    n_lists, n_positions = lists.shape
    unknown = n_pairs
    for g in range(n_lists):
        for k in range(n_positions):
            item = lists[g, k]
            if item < 0:
                found[g, k] = -1
                continue
            word = (np.uint64(query[g]) << np.uint64(32) | np.uint64(item)) * np.uint64(0x9E3779B97F4A7C15)
            slot = np.int64((word ^ (word >> np.uint64(32))) & mask)
            while table[slot] >= 0:
                pair = table[slot]
                if pair_item[pair] == item and pair_query[pair] == query[g]:
                    break
                slot = (slot + 1) & np.int64(mask)
            if table[slot] >= 0:
                found[g, k] = table[slot]
            elif add:
                table[slot] = n_pairs
                pair_item[n_pairs] = item
                pair_query[n_pairs] = query[g]
                found[g, k] = n_pairs
                n_pairs += 1
            else:
                found[g, k] = unknown
    return n_pairs


def _table(n: int) -> Codes:
    return np.full(1 << max(4, (2 * n - 1).bit_length()), -1, np.int32)


@dataclass(frozen=True)
class QueryItems:
    """The items of each query, in the order that gives them their numbers there.

    First come those of the query's most frequent list, the initial list R_0, in its order; then all others, the most
    shown first.

    Attributes
    ----------
    query_names
        The queries.
    start
        The pairs of query q are `start[q]` to `start[q + 1]`.
    item_names
        The item of each pair.
    n_sessions
        Number of times that each query was asked.
    list_length
        Number of items of the most frequent list of each query.
    """

    query_names: Sequence[str]
    start: Ints
    item_names: Sequence[str]
    n_sessions: Ints
    list_length: Ints

    def __len__(self) -> int:
        return len(self.item_names)

    @cached_property
    def query_numbers(self) -> dict[str, int]:
        """The number of each query."""
        return {name: q for q, name in enumerate(self.query_names)}

    def query_number(self, query: str) -> int:
        """The number of a query, by its name."""
        if query not in self.query_numbers:
            raise ValueError(f"the model has no query {query!r}")
        return self.query_numbers[query]

    def of(self, query: str) -> slice:
        """The pairs of a query."""
        q = self.query_number(query)
        return slice(int(self.start[q]), int(self.start[q + 1]))

    def items(self, query: str) -> list[str]:
        """The items of a query."""
        return list(self.item_names[self.of(query)])

    def find(self, query: str, items: Sequence[str]) -> Codes:
        """The pair at each position of a list; unknown ones have the number one past the last."""
        found = np.full((1, len(items)), len(self), np.int32)
        if query in self.query_numbers:
            span = self.of(query)
            number = {name: span.start + i for i, name in enumerate(self.item_names[span])}
            found[0] = [number.get(item, len(self)) for item in items]
        return found

    def locate(self, log: Log, sessions: Sessions) -> Sessions:
        """The same sessions with pairs for items, by name; unknown ones have the number one past the last."""
        number_here = {name: q for q, name in enumerate(log.query_names)}
        query = np.full(len(self), -1, np.int32)
        item = np.full(len(self), -1, np.int32)
        for q, name in enumerate(self.query_names):
            there = number_here.get(name)
            if there is not None:
                span = slice(int(self.start[q]), int(self.start[q + 1]))
                query[span] = there
                item[span] = [log.item_code(name) for name in self.item_names[span]]
        lists = np.empty_like(sessions.lists)
        known = np.flatnonzero((query >= 0) & (item >= 0)).astype(np.int32)
        table = _table(len(known))
        spare_query, spare_item = np.empty(len(known), np.int32), np.empty(len(known), np.int32)
        own = np.empty((len(known), 1), np.int32)
        n = _find_pairs(query[known], item[known, None], spare_query, spare_item, table, 0, True, own)
        _find_pairs(sessions.list_query, sessions.lists, spare_query, spare_item, table, n, False, lists)
        renumbered = np.concatenate([known, [len(self)], [-1]]).astype(np.int32)
        return sessions._replace(lists=renumbered[lists])


def index_pairs(log: Log, sessions: Sessions) -> tuple[QueryItems, Sessions]:
    """The pairs of a log, and its sessions with pairs for items."""
    most = int((sessions.lists >= 0).sum())
    query, item = np.empty(most, np.int32), np.empty(most, np.int32)
    lists = np.empty_like(sessions.lists)
    n = _find_pairs(sessions.list_query, sessions.lists, query, item, _table(most), 0, True, lists)
    query, item = query[:n], item[:n]

    # Rank of each pair in its query: its place in the most frequent list, else behind it by how often it was shown.
    n_queries = len(log.query_names)
    by_count = np.lexsort((np.arange(len(lists)), -sessions.list_count))
    queries, where = np.unique(sessions.list_query[by_count], return_index=True)
    initial = lists[by_count[where]]
    place = np.full(n, lists.shape[1], np.int64)
    rows, positions = np.nonzero(initial >= 0)
    # From the last position up: of an item that a list shows twice, the first place counts.
    place[initial[rows, positions][::-1]] = positions[::-1]
    shown = lists >= 0
    times = np.repeat(sessions.list_count, shown.sum(axis=1))
    views = np.bincount(lists[shown], weights=times, minlength=n)
    order = np.lexsort((-views, place, query))
    number = np.append(np.empty(n, np.int32), np.int32(-1))
    number[order] = np.arange(n, dtype=np.int32)

    list_length = np.zeros(n_queries, np.int64)
    list_length[queries] = np.bincount(rows, minlength=len(queries))
    repeats = np.bincount(query, weights=place < lists.shape[1], minlength=n_queries).astype(np.int64)
    pairs = QueryItems(
        query_names=list(log.query_names),
        start=np.concatenate([[0], np.cumsum(np.bincount(query, minlength=n_queries))]),
        item_names=[log.item_name(code) for code in item[order].tolist()],
        n_sessions=np.bincount(sessions.list_query, weights=sessions.list_count, minlength=n_queries).astype(np.int64),
        list_length=np.minimum(list_length, repeats),
    )
    return pairs, sessions._replace(lists=number[lists])
