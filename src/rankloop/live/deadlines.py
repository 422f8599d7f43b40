"""When windows end: the deadlines of open impressions, in few bytes, since a busy loop has millions of them."""

from __future__ import annotations

import heapq
from array import array
from collections import deque

CHUNK = 8_192
NEVER = 2**62


class Deadlines:
    """Deadlines with the numbers of their impressions, the earliest first.

    Those that come in order, as nearly all do, take 16 bytes each. Callers see to it that one thread at a time changes
    them; `first` may be read at any time.

    >>> deadlines = Deadlines()
    >>> for deadline, number in ((10, 1), (30, 2), (20, 3)):
    ...     deadlines.push(deadline, number)
    >>> deadlines.first, deadlines.least
    (10, 1)
    >>> [deadlines.pop() for _ in range(3)], deadlines.first == NEVER
    ([(10, 1), (20, 3), (30, 2)], True)
    """

    __slots__ = ("_at", "_chunks", "_last", "_leasts", "_others", "first")

    def __init__(self) -> None:
        self.first = NEVER
        """The earliest deadline."""
        self._chunks: deque[array[int]] = deque([array("q")])
        self._leasts: deque[int] = deque([NEVER])
        """The smallest number that each chunk has had."""
        self._at = 0
        self._last = -NEVER
        self._others: list[tuple[int, int]] = []
        """Those that came out of order, as a heap."""

    def push(self, deadline: int, number: int) -> None:
        """Take one in."""
        if deadline < self._last:
            heapq.heappush(self._others, (deadline, number))
        else:
            self._last = deadline
            chunk = self._chunks[-1]
            if len(chunk) >= CHUNK:
                chunk = array("q")
                self._chunks.append(chunk)
                self._leasts.append(NEVER)
            chunk.append(deadline)
            chunk.append(number)
            if number < self._leasts[-1]:
                self._leasts[-1] = number
        if deadline < self.first:
            self.first = deadline

    def pop(self) -> tuple[int, int]:
        """Take the one with the earliest deadline out."""
        chunk, at = self._chunks[0], self._at
        if self._others and (at == len(chunk) or self._others[0][0] < chunk[at]):
            earliest = heapq.heappop(self._others)
        else:
            earliest = chunk[at], chunk[at + 1]
            self._at = at + 2
            if self._at == len(chunk):
                self._at = 0
                self._chunks.popleft()
                self._leasts.popleft()
                if not self._chunks:
                    self._chunks.append(array("q"))
                    self._leasts.append(NEVER)
        self.first = min(
            self._chunks[0][self._at] if self._chunks[0] else NEVER, self._others[0][0] if self._others else NEVER
        )
        return earliest

    @property
    def least(self) -> int:
        """No number is smaller: the smallest of those that came with the ones here, of which some may have gone."""
        return min(min(self._leasts), min((number for _, number in self._others), default=NEVER))
