"""CascadeDUCB: follow changing preferences by discounting old observations."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rankloop.checks import check_between, check_flag, check_positive
from rankloop.kernels import choose, inlined, learn, rare, step
from rankloop.kernels.arrays import Clicks, Floats, Ints, Items, Notes, Stream
from rankloop.policies.clicks.cascading import (
    _CascadingPolicy,
    n_examined,
    show_largest,
)
from rankloop.policies.clicks.forgetting import check_schedule
from rankloop.theory import best_discount

GAMMA, WEIGHT, DISCOUNTED_TIME, LOG_TIME = range(4)
LARGEST_WEIGHT = 2.0**300
SMALLEST_GAMMA = 1e-100
"""Less than this forgets all but the last list just as thoroughly."""


class CascadeDUCBState(NamedTuple):
    """Statistics are kept in units of 1 / WEIGHT, which grows by 1 / gamma with each list instead of their shrinking.

    `clicked` and `seen` over WEIGHT are the discounted X and N of the pseudo-code; `width` is 1 / sqrt(seen).
    """

    rng: Stream
    order: Ints
    bounds: Floats
    clicked: Floats
    seen: Floats
    mean: Floats
    width: Floats
    learned: Ints
    discount: Floats
    epsilon: float
    doubling: bool
    last_click: bool


@step(choose, CascadeDUCBState)
def _choose(state: CascadeDUCBState, items: Items, notes: Notes) -> None:
    index, mean, width = state.bounds, state.mean, state.width
    level = 2.0 * math.sqrt(state.epsilon * state.discount[LOG_TIME] * state.discount[WEIGHT])
    for a in range(len(index)):
        index[a] = mean[a] + level * width[a]
    show_largest(state.rng, state.order, index, items)


@step(learn, CascadeDUCBState)
def _learn(state: CascadeDUCBState, items: Items, notes: Notes, clicks: Clicks) -> None:
    discount = state.discount
    discount[WEIGHT] /= discount[GAMMA]
    if discount[WEIGHT] > LARGEST_WEIGHT:
        _renormalise(state.clicked, state.seen, state.mean, state.width, discount)
    weight = discount[WEIGHT]
    for k in range(n_examined(clicks, state.last_click)):
        a = items[k]
        state.seen[a] += weight
        state.clicked[a] += weight * clicks[k]
        width = 1.0 / math.sqrt(state.seen[a])
        state.width[a] = width
        state.mean[a] = state.clicked[a] * width * width
    state.learned[0] += 1
    _advance_time(state.learned[0] + 1, discount, state.doubling)


@inlined
def _advance_time(t: int, discount: Floats, doubling: bool) -> None:
    """N_t(gamma) = 1 + gamma + ... + gamma^(t-1), which settles at 1 / (1 - gamma)."""
    before = discount[DISCOUNTED_TIME]
    time = discount[GAMMA] * before + 1.0
    if doubling and t & (t - 1) == 0:
        gamma = 1.0 - 0.25 / math.sqrt(float(t))
        discount[GAMMA] = gamma
        time = -math.expm1(t * math.log(gamma)) / (1.0 - gamma)
    if time != before:
        discount[DISCOUNTED_TIME] = time
        discount[LOG_TIME] = math.log(time)


@rare
def _renormalise(clicked: Floats, seen: Floats, mean: Floats, width: Floats, discount: Floats) -> None:
    """Count in units of the present weight again. What is too old to be told from nothing counts as never seen."""
    unit = discount[WEIGHT]
    discount[WEIGHT] = 1.0
    for a in range(len(seen)):
        clicked[a] /= unit
        seen[a] /= unit
        width[a] *= math.sqrt(unit)
        if seen[a] < 1.0 / LARGEST_WEIGHT:
            clicked[a] = 0.0
            seen[a] = 0.0
            mean[a] = np.inf
            width[a] = 0.0


class CascadeDUCB(_CascadingPolicy):
    """Shows the items with the largest upper confidence bounds, where old observations count less and less.

    An observation from s lists ago has the weight gamma^s. The bound of an item whose weights sum to N is its mean plus
    2 sqrt(epsilon log(1 + gamma + ... + gamma^(t-1)) / N), so that items not seen for long are tried again. Items never
    seen come first.

    Parameters
    ----------
    n_items, n_positions
        Number of items to choose from, and of items shown.
    gamma
        Discount factor, between 0 and 1.
    horizon
        Number of lists that will be shown, from which gamma is computed if it is not given: 1 - 1 / (4 sqrt(horizon)).
    breakpoints
        Number of times that preferences change before the horizon; gamma is then 1 - sqrt(breakpoints / horizon) / 4.
        If none of the three is given, gamma is, from list 2^k on, that of a horizon of 2^k.
    epsilon
        Width of the confidence bounds.
    last_click, seed
        As in `CascadeUCB1`.

    Examples
    --------
    >>> policy = CascadeDUCB(4, 2, gamma=0.99, seed=1)
    >>> for wanted in (3, 0):  # everybody wants item 3, and then item 0
    ...     for _ in range(1000):
    ...         ranking = policy.rank()
    ...         policy.update(ranking, clicks=[item == wanted for item in ranking])
    >>> policy.best[0]
    0

    References
    ----------
    C. Li, M. de Rijke. Cascading Non-Stationary Bandits: Online Learning to Rank in the Non-Stationary Cascade Model.
    IJCAI 2019.
    """

    state: CascadeDUCBState
    examples = (
        {"n_items": 5, "n_positions": 2, "gamma": 0.999},
        {"n_items": 4, "n_positions": 4, "horizon": 10_000},
        {"n_items": 5, "n_positions": 3, "horizon": 10_000, "breakpoints": 2},
        {"n_items": 5, "n_positions": 2},
        {"n_items": 5, "n_positions": 3, "gamma": 0.999, "last_click": True},
    )

    def __init__(
        self, n_items: int, n_positions: int, *, gamma: float | None = None, horizon: int | None = None,
        breakpoints: int | None = None, epsilon: float = 0.5, last_click: bool = False, seed: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(n_items, n_positions, seed)
        self.gamma = None if gamma is None else check_between("gamma", gamma, 0, 1)
        self.horizon, self.breakpoints = check_schedule("gamma", self.gamma, horizon, breakpoints)
        self.epsilon = check_positive("epsilon", epsilon)
        self.last_click = check_flag("last_click", last_click)
        if self.gamma is not None:
            first = max(self.gamma, SMALLEST_GAMMA)
        elif self.horizon is not None:
            first = best_discount(self.horizon, self.breakpoints or 1)
        else:
            first = 0.75
        self.state = CascadeDUCBState(
            **self._blank(),
            mean=np.full(self.n_items, np.inf),
            width=np.zeros(self.n_items),
            learned=np.zeros(1, np.int64),
            discount=np.array([first, 1.0, 1.0, 0.0]),
            epsilon=self.epsilon,
            doubling=self.gamma is None and self.horizon is None,
            last_click=self.last_click,
        )

    @property
    def discount(self) -> float:
        """The gamma in use now."""
        return float(self.state.discount[GAMMA])
