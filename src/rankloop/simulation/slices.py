"""Long work in slices, between which Python may report progress or stop."""

from __future__ import annotations

import time
from collections.abc import Callable

SLICE_SECONDS = 0.1
"""About how long compiled code runs before Python gets a word in."""


class Slices:
    """Finds out how many steps take about a tenth of a second, and asks for so many at a time."""

    def __init__(self, report: Callable[[int], None]) -> None:
        self._report = report
        self._size = 64

    def run(self, play: Callable[[int], int], most: int) -> int:
        """Play at most that many steps; tell how many were played, and report them."""
        n = min(self._size, most)
        begin = time.perf_counter()
        played = play(n)
        if n == self._size:
            self._size = round(n * min(8.0, SLICE_SECONDS / max(1e-9, time.perf_counter() - begin))) + 1
        self._report(played)
        return played
