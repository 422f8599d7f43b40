"""CascadeUCB1: show the items with the largest upper confidence bounds, by Hoeffding's inequality."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rankloop.checks import check_flag, check_positive
from rankloop.kernels import choose, learn, step
from rankloop.kernels.arrays import Clicks, Floats, Ints, Items, Notes, Stream
from rankloop.policies.clicks.cascading import (
    _CascadingPolicy,
    n_examined,
    show_largest,
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


class CascadeUCB1(_CascadingPolicy):
    """Shows the items with the largest upper confidence bounds on their attraction.

    The bound of an item seen n times before step t is its mean plus sqrt(alpha log t / n). Items never seen come first.
    CascadeKLUCB, whose bounds are tighter, nearly always has less regret; this policy is faster.

    Parameters
    ----------
    n_items, n_positions
        Number of items to choose from, and of items shown.
    alpha
        Width of the confidence bounds.
    last_click
        Whether the policy learns from each list down to its last click, and not only down to its first one. From a list
        without clicks it learns all the way down in either case.
    seed
        Seed of the policy's random numbers, which only break ties.

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
            **self._blank(),
            mean=np.full(self.n_items, np.inf),
            width=np.zeros(self.n_items),
            learned=np.zeros(1, np.int64),
            alpha=self.alpha,
            last_click=self.last_click,
        )
