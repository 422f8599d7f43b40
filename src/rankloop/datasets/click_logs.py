"""Click logs as compact arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rankloop.arrays import Bytes
from rankloop.checks import check_between, check_whole
from rankloop.datasets.vocabulary import Vocabulary
from rankloop.wording import count

Codes = npt.NDArray[np.int32]


@dataclass
class ReadReport:
    """What a reader met: how much it read, and what it skipped and why.

    Attributes
    ----------
    source
        The file.
    lines
        Number of lines (or rows).
    skipped
        Number of times that each thing was skipped.
    first_line
        The line where each first occurred.
    """

    source: str = ""
    lines: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    first_line: dict[str, int] = field(default_factory=dict)

    def skip(self, reason: str, line: int, times: int = 1) -> None:
        """Count something as skipped."""
        if times:
            self.skipped[reason] = self.skipped.get(reason, 0) + times
            self.first_line.setdefault(reason, line)

    def refuse_empty(self, n_sessions: int) -> None:
        """Raise ValueError if nothing could be read."""
        if n_sessions:
            return
        if not self.skipped:
            raise ValueError(f"{self.source} is empty: it has no session")
        reason, line = min(self.first_line.items(), key=lambda item: item[1])
        raise ValueError(
            f"{self.source}, line {line}: {reason}; none of {count(self.lines, 'line')} could be read as a session"
        )

    def __str__(self) -> str:
        text = f"{self.source}: {self.lines:,} lines"
        for reason, times in sorted(self.skipped.items(), key=lambda item: -item[1]):
            text += f"\n  {times:,} × {reason} (first on line {self.first_line[reason]:,})"
        return text


class ClickLog:
    """Sessions of one query each: the list that was shown and which of its items were clicked.

    Attributes
    ----------
    queries
        The number of each session's query, (n_sessions,) int32.
    items
        The code of the item at each position, (n_sessions, n_positions) int32; -1 past the end of a list.
    clicks
        1 where the position was clicked, else 0; uint8.
    query_names
        The name of each query.
    report
        Report of what was skipped while reading.

    Examples
    --------
    >>> log = ClickLog.from_sessions([("shoes", ["red", "blue"], [0, 1]), ("shoes", ["blue", "red"], [1, 0])])
    >>> log
    ClickLog(2 sessions, 1 queries)
    >>> log.item_name(log.items[1, 0]), log.clicks.tolist()
    ('blue', [[0, 1], [1, 0]])
    """

    def __init__(
        self,
        queries: Codes,
        items: Codes,
        clicks: Bytes,
        query_names: Sequence[str],
        item_vocabulary: Vocabulary,
        report: ReadReport | None = None,
    ) -> None:
        if items.ndim != 2 or clicks.shape != items.shape or queries.shape != items.shape[:1]:
            raise ValueError(
                f"queries, items and clicks must have shapes (n,), (n, k) and (n, k), "
                f"not {queries.shape}, {items.shape} and {clicks.shape}"
            )
        if items.shape[1] and not (items[:, -1] >= 0).any():
            width = int((items >= 0).any(axis=0).sum())
            items, clicks = np.ascontiguousarray(items[:, :width]), np.ascontiguousarray(clicks[:, :width])
        self.queries = queries
        self.items = items
        self.clicks = clicks
        self.query_names = query_names
        self.item_vocabulary = item_vocabulary
        self.report = report or ReadReport()

    @classmethod
    def from_sessions(cls, sessions: Iterable[tuple[Any, Sequence[Any], Sequence[int]]]) -> ClickLog:
        """A log from (query, items, clicks), with 0 or 1 for each item."""
        query_vocabulary, items = Vocabulary(), Vocabulary()
        queries: list[int] = []
        rows: list[list[int]] = []
        flags: list[Sequence[int]] = []
        codes: dict[str, int] = {}
        for number, (query, shown, clicks) in enumerate(sessions):
            if len(clicks) != len(shown) or any(click not in (0, 1) for click in clicks):
                raise ValueError(f"session {number}: clicks must be {len(shown)} zeros and ones, not {clicks!r}")
            queries.append(query_vocabulary.add(str(query)))
            for name in map(str, shown):
                if name not in codes:
                    codes[name] = items.add(name, as_item=True)
            rows.append([codes[str(item)] for item in shown])
            flags.append(clicks)
        width = max(map(len, rows), default=0)
        return cls(
            np.array(queries, np.int32),
            np.array([row + [-1] * (width - len(row)) for row in rows], np.int32).reshape(-1, width),
            np.array([[*row, *[0] * (width - len(row))] for row in flags], np.uint8).reshape(-1, width),
            query_vocabulary,
            items,
        )

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def n_positions(self) -> int:
        """The length of the longest list."""
        return self.items.shape[1]

    @property
    def nbytes(self) -> int:
        """The memory that the sessions take, names aside."""
        return self.queries.nbytes + self.items.nbytes + self.clicks.nbytes

    def item_name(self, code: int) -> str:
        """The name of an item."""
        return self.item_vocabulary.item_name(int(code))

    def item_code(self, name: str) -> int:
        """The code of an item, -1 for one that the log does not know."""
        return self.item_vocabulary.find(name, as_item=True)

    def select(self, sessions: npt.NDArray[Any]) -> ClickLog:
        """The log of some sessions, by their numbers or a mask, with the same numbers for queries."""
        return ClickLog(
            self.queries[sessions], self.items[sessions], self.clicks[sessions], self.query_names,
            self.item_vocabulary, self.report,
        )  # fmt: skip

    def only(self, queries: Sequence[int] | npt.NDArray[Any]) -> ClickLog:
        """The log of some queries, by their numbers, which are then numbered in the order given."""
        chosen = np.asarray(queries, np.int64)
        number = np.full(len(self.query_names), -1, np.int32)
        number[chosen] = np.arange(len(chosen), dtype=np.int32)
        kept = self.select(number[self.queries] >= 0)
        kept.queries = number[kept.queries]
        kept.query_names = [self.query_names[q] for q in chosen.tolist()]
        return kept

    def frequent(self, n: int, *, n_items: int = 10, among: int | None = None, seed: int | None = None) -> ClickLog:
        """The log of n frequent queries that show at least `n_items` different items, the most frequent first.

        With `among`, the n are drawn at random from that many most frequent ones.
        """
        check_whole("n", n, 1)
        if among is not None and check_whole("among", among, 1) < n:
            raise ValueError(f"{n} queries cannot be drawn from the {among} most frequent: give a larger `among`")
        count = np.bincount(self.queries, minlength=len(self.query_names))
        order = np.argsort(-count, kind="stable")
        order = order[count[order] > 0]
        wanted = n if among is None else among
        rich: list[int] = []
        for q in order.tolist():
            if len(rich) == wanted:
                break
            if n_items <= 1 or self._n_items_of(q) >= n_items:
                rich.append(q)
        if not rich:
            raise ValueError(f"no query of the log shows {n_items} different items")
        if among is not None and len(rich) > n:
            draw = np.random.default_rng(seed).choice(len(rich), n, replace=False)
            rich = [rich[i] for i in sorted(draw.tolist())]
        return self.only(rich)

    def _n_items_of(self, query: int) -> int:
        shown = self.items[self.queries == query]
        return len(np.unique(shown[shown >= 0]))

    def split(self, share: float) -> tuple[ClickLog, ClickLog]:
        """The first `share` of each query's sessions, in the order of the log, and the rest."""
        check_between("share", share, 0, 1)
        order = np.argsort(self.queries, kind="stable")
        count = np.bincount(self.queries, minlength=len(self.query_names))
        rank = np.empty(len(self), np.int64)
        rank[order] = np.arange(len(self)) - np.repeat(np.cumsum(count) - count, count)
        early = rank < share * count[self.queries]
        return self.select(early), self.select(~early)

    def __repr__(self) -> str:
        return f"ClickLog({len(self):,} sessions, {len(self.query_names):,} queries)"
