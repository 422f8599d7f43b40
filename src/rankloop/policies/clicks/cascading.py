"""What the cascading bandits share: the items of the largest indices on top, and means of clicks.

An index changes little from one step to the next, so the order of the last list is kept and repaired by insertion:
a few comparisons where nothing moved. Only what is shown is kept in order. Ties cost nothing where there are none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from rankloop.kernels import compiled, draw_index, inlined
from rankloop.kernels.arrays import Clicks, Floats, Ints, Items, Stream
from rankloop.policies.base import learn_once
from rankloop.policies.clicks.base import ClickPolicy


@inlined
def show_largest(rng: Stream, order: Ints, index: Floats, items: Items) -> None:
    """Write the items of the largest indices into `items`, in descending order and with ties in random order."""
    if repair_order(order, index, len(items), 0.0):
        break_ties(rng, order, index, len(items))
    for k in range(len(items)):
        items[k] = order[k]


@inlined
def repair_order(order: Ints, index: Floats, n: int, tolerance: float) -> bool:
    """Bring the n items of the largest indices to the front of `order`, in descending order.

    Tells whether two that matter may be closer than the tolerance: neighbours at the front, or the last one there
    and one that was left behind.
    """
    close = False
    for k in range(1, n):
        if index[order[k - 1]] <= index[order[k]] + tolerance:
            close |= _insert(order, index, k, tolerance)
    last = index[order[n - 1]]
    for q in range(n, len(order)):
        if index[order[q]] >= last - tolerance:
            close |= index[order[q]] <= last + tolerance
            if index[order[q]] > last:
                order[n - 1], order[q] = order[q], order[n - 1]
                close |= _insert(order, index, n - 1, tolerance)
                last = index[order[n - 1]]
    return close


@compiled
def _insert(order: Ints, index: Floats, k: int, tolerance: float) -> bool:
    """Move the k-th item up to its place among those before it, which are in order; is it close to a neighbour?"""
    item = order[k]
    value = index[item]
    close = False
    while k > 0 and index[order[k - 1]] < value:
        close = value <= index[order[k - 1]] + tolerance
        order[k] = order[k - 1]
        k -= 1
    order[k] = item
    return close | (k > 0 and index[order[k - 1]] <= value + tolerance)


@compiled
def break_ties(rng: Stream, order: Ints, index: Floats, n: int) -> None:
    """Put items of equal index into random order, each order equally likely.

    Each group of ties is first sorted by number, so that the outcome depends on the indices and the stream alone.
    """
    start = 0
    while start < n:
        value = index[order[start]]
        end = start + 1
        while end < n and index[order[end]] == value:
            end += 1
        for q in range(n, len(order) if end == n else n):
            if index[order[q]] == value:
                order[end], order[q] = order[q], order[end]
                end += 1
        for i in range(start + 1, end):
            item = order[i]
            j = i
            while j > start and order[j - 1] > item:
                order[j] = order[j - 1]
                j -= 1
            order[j] = item
        for i in range(start, min(end - 1, n)):
            j = i + draw_index(rng, end - i)
            order[i], order[j] = order[j], order[i]
        start = end


@inlined
def n_examined(clicks: Clicks, last_click: bool) -> int:
    """How many positions the user is taken to have looked at: down to the first click, or the last one; else all."""
    n = len(clicks)
    if last_click:
        while n > 0 and not clicks[n - 1]:
            n -= 1
        return n if n > 0 else len(clicks)
    for k in range(n):
        if clicks[k]:
            return k + 1
    return n


class _CascadingPolicy(ClickPolicy):
    """Base of the policies that show the items of the largest confidence bounds on their probability of a click.

    Their states have the fields `clicked` and `seen`, with one number for each item.
    """

    last_click: bool
    takes_seen = True

    _of_items: ClassVar[frozenset[str]] = frozenset({"bounds", "clicked", "seen", "mean", "width", "tangent"})
    """Fields of the states that have one row for each item."""

    def _blank(self) -> dict[str, Any]:
        """The fields that every state begins with, before anything is seen."""
        n = self.n_items
        arrays = {name: np.zeros(n) for name in ("bounds", "clicked", "seen")}
        return {"rng": self._rng, "order": np.arange(n), **arrays}

    def _take_over(self, before: Self, new: Ints, old: Ints) -> None:
        """Keep the clicks and looks of items that stay; new items have none, and so are shown soon."""
        for name, mine in self.state._asdict().items():
            theirs = getattr(before.state, name)
            if name in self._of_items:
                mine[new] = theirs[old]
            elif isinstance(mine, np.ndarray) and name not in ("rng", "order", "ring"):
                mine[...] = theirs

    def update_outdated(
        self, items: Sequence[int | None], notes: Sequence[float], clicks: Sequence[int], seen: int | None = None
    ) -> bool:
        """Learn from those items of an earlier list that were examined and are still there."""
        del notes
        shown, observed = examined_of_outdated(items, clicks, seen, self.last_click, self.n_positions)
        if len(observed):
            learn_once(self.state, shown, np.zeros(0), observed)
        return True

    @property
    def best(self) -> list[int]:
        """The items with the highest means, best first."""
        return highest_means(self.state.clicked, self.state.seen, self.n_positions)


def examined_of_outdated(
    items: Sequence[int | None], clicks: Sequence[int], seen: int | None, last_click: bool, n_positions: int
) -> tuple[Ints, Clicks]:
    """The items of an earlier list that were examined and are still there, with their clicks; at most `n_positions`.

    Those that were clicked come last: all of them were examined, and none must seem to stand below the last click,
    which may have been on an item that is gone.
    """
    observed = np.array(clicks[: len(items) if seen is None else seen], np.uint8)
    n = n_examined(observed, last_click) if len(observed) else 0
    there = [k for k in range(n) if items[k] is not None][:n_positions]
    there.sort(key=lambda k: observed[k])
    return np.array([items[k] for k in there], np.int64), observed[there]


def highest_means(clicked: Floats, seen: Floats, n_positions: int) -> list[int]:
    """The items with the highest means; those never seen come last, and of equal ones the smaller number first."""
    means = np.full(len(seen), -1.0)
    np.divide(clicked, seen, out=means, where=seen > 0)
    return np.argsort(-means, kind="stable")[:n_positions].tolist()
