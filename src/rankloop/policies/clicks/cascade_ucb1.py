"""CascadeUCB1: show the items whose click probability might be highest, by Hoeffding's bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rankloop.checks import check_flag, check_positive
from rankloop.kernels import Clicks, Floats, Ints, Items, Notes, Stream, choose, learn, step
from rankloop.policies.base import learn_once
from rankloop.policies.clicks.base import ClickPolicy
from rankloop.policies.clicks.cascading import (
    examined_of_outdated,
    highest_means,
    n_examined,
    show_largest,
    take_over_items,
)


class CascadeUCB1State(NamedTuple):
    rng: Stream
    order: Ints
    bounds: Floats
    clicked: Floats
    seen: Floats
    mean: Floats
    width: Floats
    learned: Ints
    alpha: float
    last_click: bool


@step(choose, CascadeUCB1State)
def _choose(state: CascadeUCB1State, items: Items, notes: Notes) -> None:
    index, mean, width = state.bounds, state.mean, state.width
    level = math.sqrt(state.alpha * math.log(state.learned[0] + 1.0))
    for a in range(len(index)):
        index[a] = mean[a] + level * width[a]
    show_largest(state.rng, state.order, index, items)


@step(learn, CascadeUCB1State)
def _learn(state: CascadeUCB1State, items: Items, notes: Notes, clicks: Clicks) -> None:
    state.learned[0] += 1
    for k in range(n_examined(clicks, state.last_click)):
        a = items[k]
        state.seen[a] += 1.0
        state.clicked[a] += clicks[k]
        width = 1.0 / math.sqrt(state.seen[a])
        state.width[a] = width
        state.mean[a] = state.clicked[a] * width * width


class CascadeUCB1(ClickPolicy):
    """Shows the items of the largest upper confidence bounds, learning from each list down to its first or last click.

    The bound of an item seen n times before step t is its mean plus sqrt(alpha log t / n). Items never seen come first.
    CascadeKLUCB, whose bounds are tighter, nearly always does better; this one is faster.

    Parameters
    ----------
    n_items
        How many items there are to choose from.
    n_positions
        How many are shown.
    alpha
        How wide the bounds are.
    last_click
        Whether each list teaches down to its last click, each click on the way being one, and not down to its first
        click only. Without a click, all positions teach either way.
    seed
        Of the policy's own random numbers, which only break ties.

    Examples
    --------
    >>> policy = CascadeUCB1(4, 2, seed=1)
    >>> for _ in range(500):
    ...     ranking = policy.rank()
    ...     policy.update(ranking, clicks=[item == 3 for item in ranking])  # everybody wants item 3
    >>> policy.rank()[0], policy.best[0]
    (3, 3)

    References
    ----------
    B. Kveton, C. Szepesvári, Z. Wen, A. Ashkan. Cascading Bandits: Learning to Rank in the Cascade Model. ICML 2015.
    """

    state: CascadeUCB1State
    examples = (
        {"n_items": 5, "n_positions": 2},
        {"n_items": 4, "n_positions": 4, "alpha": 0.5},
        {"n_items": 5, "n_positions": 3, "last_click": True},
    )
    takes_seen = True

    def __init__(
        self,
        n_items: int,
        n_positions: int,
        *,
        alpha: float = 1.5,
        last_click: bool = False,
        seed: int | None = None,
    ) -> None:
        super().__init__(n_items, n_positions, seed)
        self.last_click = check_flag("last_click", last_click)
        self.alpha = check_positive("alpha", alpha)
        self.state = CascadeUCB1State(
            rng=self._rng,
            order=np.arange(self.n_items),
            bounds=np.zeros(self.n_items),
            clicked=np.zeros(self.n_items),
            seen=np.zeros(self.n_items),
            mean=np.full(self.n_items, np.inf),
            width=np.zeros(self.n_items),
            learned=np.zeros(1, np.int64),
            alpha=self.alpha,
            last_click=self.last_click,
        )

    def _take_over(self, before: CascadeUCB1, new: Ints, old: Ints) -> None:
        """Keep the clicks and looks of items that stay; new items have none, and so are shown soon."""
        take_over_items(self.state, before.state, new, old)

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
        """The items with the highest means so far, best first."""
        return highest_means(self.state.clicked, self.state.seen, self.n_positions)
