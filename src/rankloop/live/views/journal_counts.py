"""The journal counted: how much happened to each key and in each minute, and what was rare.

Counting is additive, so it goes on at both ends: new entries first, then older ones, a bounded number at a time. What
has been counted is therefore always the newest part of the journal, and how far back it reaches is in every answer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from rankloop.arrays import Ints
from rankloop.live.entries import Entry
from rankloop.live.stores import Store, Tally

AT_ONCE = 20_000
"""Entries that are counted in one query."""
MINUTES = 2_000
"""Minutes of each loop that are remembered."""
NOTABLE = 1_000
"""Notable entries of each loop that are remembered."""
REMEMBERED = 2.0
"""Seconds for which the order of many keys is shown before it is worked out anew."""
MANY = 10_000
END = 2**62

IMPRESSIONS, CLICKS, LEARNED, LAST, LOOP = range(5)


class Following:
    """Ints a journal as it grows.

    Parameters
    ----------
    store
        The store, over a connection that nobody waits for.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._lock = threading.Lock()
        self._ranges: list[tuple[int, int]] = []
        """What is still to be counted, the newest last: after one entry and up to another."""
        self._high = 0
        self._table: Ints = np.zeros((5, 1024), np.int64)
        """One column for each learner."""
        self._minutes: dict[int, dict[int, tuple[int, int, int]]] = {}
        self._orders: dict[int, tuple[float, Ints]] = {}
        self.entries = 0
        """Entries that have been counted."""
        self.since: int | None = None
        """When the oldest of them was written, in milliseconds."""
        self.notable: dict[int, list[Entry]] = {}
        """The latest rare entries of each loop, in order; 0 stands for those that concern no single key."""

    def advance(self, seconds: float) -> None:
        """Count what is new, and then what is older for so long; somebody else's counting is waited for as long."""
        if not self._lock.acquire(timeout=max(0.0, seconds)):
            return
        try:
            end = time.monotonic() + seconds
            self._count(self._high, END)
            while self._ranges and time.monotonic() < end:
                after, upto = self._ranges[-1]
                self._count(after, upto)
        finally:
            self._lock.release()

    def _count(self, after: int, upto: int) -> None:
        rows = self.store.tally(after, upto, AT_ONCE)
        first, last = min((row.first for row in rows), default=0), max((row.last for row in rows), default=0)
        rare = self.store.notable(first - 1, last, NOTABLE) if rows else []
        if upto != END:
            self._ranges.pop()
        if not rows:
            return
        n = sum(row.entries for row in rows)
        if n == AT_ONCE and first - 1 > after:
            self._ranges.append((after, first - 1))
        self._high = max(self._high, last)
        self.entries += n
        oldest = min(row.from_ for row in rows)
        self.since = oldest if self.since is None else min(self.since, oldest)
        self._add(np.array([row for row in rows if row.learner], np.int64).reshape(-1, len(Tally._fields)))
        of_loop: dict[int, list[Entry]] = {}
        for entry in rare:
            of_loop.setdefault(int(self._table[LOOP, entry.learner]), []).append(entry)
        for loop, entries in of_loop.items():
            self.notable[loop] = sorted([*self.notable.get(loop, []), *entries])[-NOTABLE:]

    def _add(self, rows: Ints) -> None:
        learner, loop, minute, _, _, _, _, upto, *counts = rows.T
        if not len(learner):
            return
        most = int(learner.max()) + 1
        if most > self._table.shape[1]:
            grown = np.zeros((5, max(most, 2 * self._table.shape[1])), np.int64)
            grown[:, : self._table.shape[1]] = self._table
            self._table = grown
        for place, values in zip((IMPRESSIONS, CLICKS, LEARNED), counts, strict=True):
            np.add.at(self._table[place], learner, values)
        np.maximum.at(self._table[LAST], learner, upto)
        self._table[LOOP, learner] = loop
        places, inverse = np.unique(np.stack([loop, minute]), axis=1, return_inverse=True)
        sums = np.stack([np.bincount(inverse.ravel(), values, places.shape[1]) for values in counts]).astype(np.int64)
        for (loop_, minute_), more in zip(places.T.tolist(), sums.T.tolist(), strict=True):
            of_loop = self._minutes.setdefault(loop_, {})
            before = of_loop.get(minute_, (0, 0, 0))
            of_loop[minute_] = (before[0] + more[0], before[1] + more[1], before[2] + more[2])
        for number, of_loop in self._minutes.items():
            if len(of_loop) > 2 * MINUTES:
                self._minutes[number] = {minute: of_loop[minute] for minute in sorted(of_loop)[-MINUTES:]}

    # -- what was counted ----------------------------------------------------------------------------------------

    @property
    def counted(self) -> dict[str, Any]:
        """How far back the journal has been counted."""
        since = None if self.since is None else self.since / 1000
        return {"complete": not self._ranges, "since": since, "entries": self.entries}

    def minutes(self, loop: int, wanted: Iterable[int]) -> list[tuple[int, int, int]]:
        """Impressions, clicks and impressions learned from, in each of some minutes."""
        of_loop = self._minutes.get(loop, {})
        return [of_loop.get(minute, (0, 0, 0)) for minute in wanted]

    def of_learner(self, number: int) -> dict[str, Any]:
        """What was counted for a learner."""
        if number >= self._table.shape[1]:
            return {"impressions": 0, "clicks": 0, "learned": 0, "last": None}
        impressions, clicks, learned, last, _ = self._table[:, number].tolist()
        return {"impressions": impressions, "clicks": clicks, "learned": learned, "last": last / 1000 if last else None}

    def learned(self, loop: int) -> int:
        """Impressions of a loop that were learned from."""
        return int(self._table[LEARNED, self._table[LOOP] == loop].sum())

    def busiest(self, loop: int) -> Ints:
        """The learners of a loop that have impressions, the one with the most first."""
        at, order = self._orders.get(loop, (0.0, None))
        if order is None or len(order) < MANY or time.monotonic() - at > REMEMBERED:
            table = self._table
            numbers = np.flatnonzero((table[LOOP] == loop) & (table[IMPRESSIONS] > 0))
            order = self.by_traffic(numbers)
            self._orders[loop] = (time.monotonic(), order)
        return order

    def by_traffic(self, numbers: Ints) -> Ints:
        """Learners in the order of their impressions, those with the most first; of equal ones the older."""
        return numbers[np.lexsort((numbers, -self.impressions(numbers)))]

    def impressions(self, numbers: Ints) -> Ints:
        """The impressions of some learners."""
        table = self._table
        known = table[IMPRESSIONS, np.minimum(numbers, table.shape[1] - 1)]
        return np.where(numbers < table.shape[1], known, 0)
