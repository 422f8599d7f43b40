"""CascadeSWUCB: follow changing preferences by learning from the latest lists only."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rankloop.checks import check_flag, check_positive, check_whole
from rankloop.kernels import choose, inlined, learn, rare, step
from rankloop.kernels.arrays import Clicks, Floats, Ints, Ints32, Items, Notes, Stream
from rankloop.policies.clicks.cascading import (
    _CascadingPolicy,
    n_examined,
    show_largest,
)
from rankloop.policies.clicks.forgetting import check_schedule
from rankloop.theory import best_window

LEARNED, WINDOW, NEWEST, OLDEST = range(4)
LAST_DOUBLING = 27
"""The window of an unknown horizon grows up to 2^27 lists; there it spans 100,238."""
STALE = -1.0
"""The width of an item whose counts have changed."""


class CascadeSWUCBState(NamedTuple):
    """`ring` has one row for each list of the window: the items examined, each plus 1, negative where clicked.

    A row ends with a 0, or at its width; where lists teach down to the first click, also with that click.
    NEWEST is the row to be written next, OLDEST that of the list to be forgotten next once the window is full.
    """

    rng: Stream
    order: Ints
    bounds: Floats
    clicked: Floats
    seen: Floats
    mean: Floats
    width: Floats
    ring: Ints32
    counts: Ints
    level: Floats
    epsilon: float
    doubling: bool
    last_click: bool


@step(choose, CascadeSWUCBState, counted=False)
def _choose(state: CascadeSWUCBState, items: Items, notes: Notes) -> None:
    index, mean, width = state.bounds, state.mean, state.width
    level = state.level[0]
    for a in range(len(index)):
        if width[a] == STALE:  # here, since an item that leaves the window mostly enters it again in the same step
            width[a] = 1.0 / math.sqrt(state.seen[a])
            mean[a] = state.clicked[a] * width[a] * width[a]
            if state.seen[a] == 0.0:
                width[a] = 0.0
                mean[a] = np.inf
        index[a] = mean[a] + level * width[a]
    show_largest(state.rng, state.order, index, items)


@step(learn, CascadeSWUCBState, counted=False)
def _learn(state: CascadeSWUCBState, items: Items, notes: Notes, clicks: Clicks) -> None:
    clicked, seen, width, ring, counts = state.clicked, state.seen, state.width, state.ring, state.counts
    if counts[LEARNED] >= counts[WINDOW]:
        _count_row(clicked, seen, width, ring, counts[OLDEST], -1.0, state.last_click)
        counts[OLDEST] = _next(counts[OLDEST], len(ring))
    newest = counts[NEWEST]
    n = n_examined(clicks, state.last_click)
    for k in range(n):
        a = items[k]
        seen[a] += 1.0
        clicked[a] += clicks[k]
        width[a] = STALE
        ring[newest, k] = (a + 1) * (1 - 2 * clicks[k])
    if n < ring.shape[1]:
        ring[newest, n] = 0
    counts[NEWEST] = _next(newest, len(ring))
    counts[LEARNED] += 1
    t = counts[LEARNED] + 1
    if t <= counts[WINDOW]:
        state.level[0] = math.sqrt(state.epsilon * math.log(float(t)))
    if state.doubling and t & (t - 1) == 0 and t <= 1 << LAST_DOUBLING:
        _double(clicked, seen, width, ring, counts, float(t), state.last_click)
        state.level[0] = math.sqrt(state.epsilon * math.log(min(float(t), float(counts[WINDOW]))))


@inlined
def _next(row: int, n_rows: int) -> int:
    return 0 if row + 1 == n_rows else row + 1


@inlined
def _count_row(
    clicked: Floats, seen: Floats, width: Floats, ring: Ints32, row: int, weight: float, last_click: bool
) -> None:
    """Add a list of the ring to the statistics, or with weight -1 take it away."""
    for k in range(ring.shape[1]):
        if ring[row, k] == 0:
            break
        a = abs(ring[row, k]) - 1
        seen[a] += weight
        width[a] = STALE
        if ring[row, k] < 0:
            clicked[a] += weight
            if not last_click:
                break


@rare
def _double(
    clicked: Floats, seen: Floats, width: Floats, ring: Ints32, counts: Ints, t: float, last_click: bool
) -> None:
    """Widen the window to that of the horizon t, and take in again the lists that it now reaches back to."""
    before = min(counts[WINDOW], counts[LEARNED])
    counts[WINDOW] = math.ceil(2.0 * math.sqrt(t * math.log(t)))
    for _ in range(min(counts[WINDOW], counts[LEARNED]) - before):
        counts[OLDEST] = (counts[OLDEST] - 1) % len(ring)
        _count_row(clicked, seen, width, ring, counts[OLDEST], 1.0, last_click)


class CascadeSWUCB(_CascadingPolicy):
    """Shows the items with the largest upper confidence bounds, learned from the latest lists only.

    The bound of an item seen N times in the last tau lists is its mean in them plus sqrt(epsilon log(min(t, tau)) / N).
    Items not seen in this window come first. The time per step does not depend on the length of the window; the memory
    does, with one row of positions for each list.

    Parameters
    ----------
    n_items, n_positions
        Number of items to choose from, and of items shown.
    window
        Number of lists to learn from, tau.
    horizon
        Number of lists that will be shown; if no window is given, it is 2 sqrt(horizon log horizon), rounded up.
    breakpoints
        Number of times that preferences change before the horizon; the window is then
        2 sqrt(horizon log horizon / breakpoints). If none of the three is given, the window is, from list 2^k on, that
        of a horizon of 2^k, for k up to 27.
    epsilon, last_click, seed
        As in `CascadeDUCB`.

    Examples
    --------
    >>> policy = CascadeSWUCB(4, 2, window=100, seed=1)
    >>> for wanted in [3] * 1000 + [0] * 1000:  # everybody wants item 3, and then item 0
    ...     policy.update(ranking := policy.rank(), clicks=[item == wanted for item in ranking])
    >>> policy.best[0]
    0

    References
    ----------
    C. Li, M. de Rijke. Cascading Non-Stationary Bandits: Online Learning to Rank in the Non-Stationary Cascade Model.
    IJCAI 2019.
    """

    state: CascadeSWUCBState
    examples = (
        {"n_items": 5, "n_positions": 2, "window": 2000},
        {"n_items": 4, "n_positions": 4, "horizon": 100_000},
        {"n_items": 5, "n_positions": 3, "horizon": 100_000, "breakpoints": 2},
        {"n_items": 5, "n_positions": 2},
        {"n_items": 5, "n_positions": 3, "window": 2000, "last_click": True},
    )

    def __init__(
        self, n_items: int, n_positions: int, *, window: int | None = None, horizon: int | None = None,
        breakpoints: int | None = None, epsilon: float = 0.5, last_click: bool = False, seed: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(n_items, n_positions, seed)
        self.window = None if window is None else check_whole("window", window, 1)
        self.horizon, self.breakpoints = check_schedule("window", self.window, horizon, breakpoints)
        self.epsilon = check_positive("epsilon", epsilon)
        self.last_click = check_flag("last_click", last_click)
        doubling = self.window is None and self.horizon is None
        if self.window is not None:
            first = rows = self.window
        elif self.horizon is not None:
            first = rows = best_window(self.horizon, self.breakpoints or 1)
        else:
            first, rows = 1, best_window(1 << LAST_DOUBLING)
        self.state = CascadeSWUCBState(
            **self._blank(),
            mean=np.full(self.n_items, np.inf),
            width=np.zeros(self.n_items),
            ring=np.zeros((rows, self.n_positions), np.int32),
            counts=np.array([0, first, 0, 0]),
            level=np.zeros(1),
            epsilon=self.epsilon,
            doubling=doubling,
            last_click=self.last_click,
        )

    @property
    def memory(self) -> int:
        """How many lists the window spans now."""
        return int(self.state.counts[WINDOW])

    def _take_over(self, before: CascadeSWUCB, new: Ints, old: Ints) -> None:
        """Keep the clicks and looks of items that stay; new items have none, and so are shown soon."""
        state = self.state
        super()._take_over(before, new, old)
        self._renumber_ring(before.state.ring, new, old)
        counts = state.counts
        n_rows = min(counts[LEARNED], counts[WINDOW])
        rows = state.ring[(counts[OLDEST] + np.arange(n_rows)) % len(state.ring)]
        state.seen[:] = np.bincount(np.abs(rows[rows != 0]) - 1, minlength=self.n_items)
        state.clicked[:] = np.bincount(-rows[rows < 0] - 1, minlength=self.n_items)
        state.width[:] = STALE

    def _renumber_ring(self, theirs: Ints32, new: Ints, old: Ints) -> None:
        """Rewrite the lists of the window in today's numbers; items that are gone leave them.

        Where lists have become shorter, what stood lowest leaves them too.
        """
        number = np.zeros(max(np.abs(theirs).max(), old.max(initial=0) + 1) + 1, np.int32)
        number[old + 1] = new + 1
        rows = np.sign(theirs) * number[np.abs(theirs)]
        rows[np.logical_or.accumulate(theirs == 0, axis=1)] = 0  # what stands after the end of a row
        rows = np.take_along_axis(rows, np.argsort(rows == 0, axis=1, kind="stable"), axis=1)
        width = min(rows.shape[1], self.n_positions)
        self.state.ring[:, :width] = rows[:, :width]
