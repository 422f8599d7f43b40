"""Does the loop help? The difference in click rate between its users and a holdout, with an interval for daily looks.

Users fall into buckets by a hash, and buckets into holdout and loop. The clicks of one user depend on each other, those
of different buckets do not: so the standard error of the difference is that between buckets. The interval is an
asymptotic confidence sequence, which may be looked at after every impression: the chance that it ever excludes the
truth is at most alpha.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

BUCKETS = 65_536
TIGHTEST_AT = 20_000
"""Number of impressions at which the interval is tightest relative to one for a single look."""
LEAST_BUCKETS = 200
"""Buckets that each arm must have heard from before there is an interval: fewer do not make a normal distribution."""
LEAST_CLICKS = 20
"""Impressions with a click, and without, that each arm must have: of fewer the standard error is not known. An arm
without any click would seem to have none at all."""


@dataclass(frozen=True)
class Uplift:
    """The click rate of impressions (the share with at least one click) with the loop minus that of the holdout.

    Parameters
    ----------
    loop, holdout
        Click rates.
    difference
        The first minus the second.
    low, high
        Ends of the interval; None while there are too few users.
    impressions
        Number of impressions that were compared: those of the loop and those of the holdout.
    """

    loop: float | None
    holdout: float | None
    difference: float | None
    low: float | None
    high: float | None
    impressions: tuple[int, int]

    @property
    def decided(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low is not None and self.high is not None and not self.low <= 0.0 <= self.high

    def __str__(self) -> str:
        if self.difference is None:
            return "no comparison yet"
        if self.low is None or self.high is None:
            return f"{self.difference:+.2%} (too few users for an interval)"
        return f"{self.difference:+.2%} ({self.low:+.2%} to {self.high:+.2%})"


def half_width(n: int, error: float, alpha: float) -> float:
    """Half the width of the confidence sequence after n impressions, where the standard error is `error`.

    >>> round(half_width(20_000, 0.001, 0.05) / 0.00196, 2)  # against an interval for a single look
    1.55
    """
    spread = (-2 * math.log(alpha) + math.log(1 - 2 * math.log(alpha))) / TIGHTEST_AT
    scale = n * spread
    return error * math.sqrt(2 * (scale + 1) / scale * math.log(math.sqrt(scale + 1) / alpha))


class HoldoutCounts:
    """Impressions and clicked impressions of each bucket; those below `boundary` are the holdout."""

    def __init__(self, holdout: float) -> None:
        self.boundary = round(holdout * BUCKETS)
        self.shown: npt.NDArray[np.uint32] = np.zeros(BUCKETS, np.uint32)
        self.clicked: npt.NDArray[np.uint32] = np.zeros(BUCKETS, np.uint32)

    def count(self, bucket: int, clicked: bool) -> None:
        """Take in one impression."""
        self.shown[bucket] += 1
        if clicked:
            self.clicked[bucket] += 1

    def uplift(self, alpha: float = 0.05) -> Uplift:
        """The difference so far."""
        arms = (slice(self.boundary, None), slice(0, self.boundary))
        rates: list[float | None] = []
        squares, heard, counts, rarer = [], [], [], []
        for arm in arms:
            n, c = self.shown[arm].astype(np.float64), self.clicked[arm].astype(np.float64)
            total = n.sum()
            counts.append(int(total))
            heard.append(int(np.count_nonzero(n)))
            if not total:
                rates.append(None)
                continue
            rarer.append(min(c.sum(), total - c.sum()))
            rate = float(c.sum() / total)
            rates.append(rate)
            units = max(2, heard[-1])
            squares.append(float(((c - rate * n) ** 2).sum()) / total**2 * units / (units - 1))
        loop, holdout = rates
        impressions = (counts[0], counts[1])
        if loop is None or holdout is None:
            return Uplift(loop, holdout, None, None, None, impressions)
        difference = loop - holdout
        error = math.sqrt(sum(squares))
        if min(heard) < LEAST_BUCKETS or min(rarer) < LEAST_CLICKS:
            return Uplift(loop, holdout, difference, None, None, impressions)
        half = half_width(sum(counts), error, alpha)
        return Uplift(loop, holdout, difference, difference - half, difference + half, impressions)

    def pack(self) -> bytes:
        """The counts as bytes."""
        return self.shown.tobytes() + self.clicked.tobytes()

    def unpack(self, state: bytes) -> None:
        """Take over packed counts."""
        self.shown[:] = self.clicked[:] = 0
        self.add(state)

    def add(self, state: bytes) -> None:
        """Add packed counts of others."""
        shown, clicked = np.frombuffer(state, np.uint32).reshape(2, BUCKETS)
        self.shown += shown
        self.clicked += clicked
