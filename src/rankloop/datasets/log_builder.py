"""A click log put together session by session, for the readers that are not compiled."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np

from rankloop.datasets.click_logs import ClickLog, ReadReport
from rankloop.datasets.vocabulary import Vocabulary

MOST_CACHED = 1 << 20
REPEATED = "an item shown twice in one list (its first place is kept, those below move up)"
DEEP = "an item below the last position that is read"


class LogBuilder:
    """Collects sessions into compact arrays and counts what it leaves out."""

    def __init__(self, source: str, n_positions: int) -> None:
        if not 1 <= n_positions <= 64:
            raise ValueError(f"n_positions must lie between 1 and 64, not be {n_positions!r}")
        self.report = ReadReport(source)
        self.n_positions = n_positions
        self._query_names = Vocabulary()
        self._items_known = Vocabulary()
        self._codes: dict[str, int] = {}
        self._queries = array("i")
        self._items = array("i")
        self._clicks = array("B")

    def __len__(self) -> int:
        return len(self._queries)

    def code(self, item: str) -> int:
        """The code of an item, new or known."""
        code = self._codes.get(item)
        if code is None:
            if len(self._codes) >= MOST_CACHED:
                self._codes.clear()
            code = self._codes[item] = self._items_known.add(item, as_item=True)
        return code

    def add(self, query: str, items: Sequence[str], clicks: Sequence[int], line: int) -> None:
        """Add a session with 0 or 1 for each item."""
        codes: list[int] = []
        flags: list[int] = []
        for item, click in zip(items, clicks, strict=True):
            code = self.code(item)
            if code in codes:
                self.report.skip(REPEATED, line)
                first = codes.index(code)
                flags[first] = max(flags[first], click)
            elif len(codes) == self.n_positions:
                self.report.skip(DEEP, line)
            else:
                codes.append(code)
                flags.append(click)
        missing = self.n_positions - len(codes)
        self._queries.append(self._query_names.add(query))
        self._items.extend(codes + [-1] * missing)
        self._clicks.extend(flags + [0] * missing)

    def click(self, session: int, item: str) -> bool:
        """Note a click on an item of a session; False if that session did not show it."""
        code = self.code(item)
        begin = session * self.n_positions
        for place in range(begin, begin + self.n_positions):
            if self._items[place] == code:
                self._clicks[place] = 1
                return True
        return False

    def click_at(self, session: int, position: int) -> bool:
        """Note a click on a position of a session, counted from 0; False if its list is not that long."""
        place = session * self.n_positions + position
        if not 0 <= position < self.n_positions or self._items[place] < 0:
            return False
        self._clicks[place] = 1
        return True

    def finish(self) -> ClickLog:
        """The log; ValueError if it is empty."""
        self.report.refuse_empty(len(self))
        self._query_names.trim()
        self._items_known.trim()
        shape = (len(self), self.n_positions)
        return ClickLog(
            np.frombuffer(self._queries, np.int32),
            np.frombuffer(self._items, np.int32).reshape(shape),
            np.frombuffer(self._clicks, np.uint8).reshape(shape),
            self._query_names,
            self._items_known,
            self.report,
        )
