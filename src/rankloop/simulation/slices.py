"""Long work in slices, between which Python may report progress or stop."""

from __future__ import annotations

import time
from collections.abc import Callable

from rankloop.simulation.progress import Advance

SLICE_SECONDS = 0.1
"""About how long compiled code runs before Python gets a word in."""


class Slices:
    """Finds out how many steps take about a tenth of a second, and asks for so many at a time."""

    def __init__(self, report: Advance) -> None:
        self._report = report
        self._size = 64

    def run(self, play: Callable[[int], int], most: int) -> tuple[int, bool]:
        """Play at most that many steps; tell how many were played, and whether fewer were than asked for."""
        n = min(self._size, most)
        begin = time.perf_counter()
        played = play(n)
        if played == self._size:
            took = max(1e-9, time.perf_counter() - begin)
            self._size = round(self._size * min(8.0, SLICE_SECONDS / took)) + 1
        self._report(played)
        return played, played < n
