"""CascadeKLUCB: show the items with the largest upper confidence bounds, by the tightest bound for clicks."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rankloop.checks import check_flag
from rankloop.kernels import choose, compiled, inlined, learn, step
from rankloop.kernels.arrays import Clicks, Floats, Ints, Items, Notes, Stream
from rankloop.policies.clicks.cascading import (
    _CascadingPolicy,
    break_ties,
    n_examined,
    repair_order,
)

NEVER_SEEN = 2.0
"""The index of an item without data: above all others."""
KNOWN_TO = 1e-10
"""How far an index may be from its last solution's tangent before it is solved anew."""
CLOSE = 1e-9
"""Indices nearer to each other than this are solved to the last bit before they are compared."""

POINT, DIVERGENCE, STEP, CURVE, IF_CLICKED, IF_SKIPPED = range(6)
STALE = np.inf
"""The CURVE of an item whose counts have changed."""


class CascadeKLUCBState(NamedTuple):
    """`tangent` has one row for each item: n d(p, q) as a function of q near the POINT.

    DIVERGENCE is its value there, STEP its inverse slope, CURVE bounds its curvature over its slope. IF_CLICKED and
    IF_SKIPPED are how much one more click, or one more look without a click, adds to it, to first order.
    """

    rng: Stream
    order: Ints
    bounds: Floats
    clicked: Floats
    seen: Floats
    tangent: Floats
    learned: Ints
    last_click: bool


@inlined
def _level(learned: int) -> float:
    """log t + 3 log log t, at least 0."""
    if learned < 1:
        return 0.0
    log_t = math.log(learned + 1.0)
    return max(0.0, log_t + 3.0 * math.log(log_t))


@compiled
def kl_index(clicked: float, seen: float, level: float) -> float:
    """The largest q with seen · d(clicked / seen, q) <= level, to the last bits.

    Newton's method from above: the divergence is convex and rising in q, so that every step stays above the solution.
    """
    if clicked == seen or level <= 0.0:
        return clicked / seen
    p = clicked / seen
    if p == 0.0:
        return -math.expm1(-level / seen)
    entropy = -p * math.log(p) - (1.0 - p) * math.log(1.0 - p)
    q = min(p + math.sqrt(0.5 * level / seen), 1.0 - math.exp(-(level / seen + entropy) / (1.0 - p)))
    for _ in range(100):
        if q >= 1.0:
            return 1.0
        divergence = p * math.log(p / q) + (1.0 - p) * math.log((1.0 - p) / (1.0 - q))
        following = q - (divergence - level / seen) * q * (1.0 - q) / (q - p)
        if not p < following < q:
            break
        q = following
    return q


@inlined
def _lay_tangent(tangent: Floats, a: int, q: float, clicked: float, seen: float, level: float) -> float:
    """Lay the tangent of an item at q, which is above its mean, and return how far from q it puts the index.

    Convexity puts the index between q + move - CURVE · move² and q + move. CURVE is 1.5 times the curvature at q over
    the slope, which holds within reach of q; it is raised where KNOWN_TO would else reach further.
    """
    p = clicked / seen
    if_clicked = math.log(p / q) if clicked > 0.0 else 0.0
    if_skipped = math.log((1.0 - p) / (1.0 - q))
    step = q * (1.0 - q) / (seen * (q - p))
    curve = 1.5 * step * (clicked / (q * q) + (seen - clicked) / ((1.0 - q) * (1.0 - q)))
    reach = min(0.125 * min(q, 1.0 - q), 0.25 / curve)
    tangent[a, POINT] = q
    tangent[a, DIVERGENCE] = clicked * if_clicked + (seen - clicked) * if_skipped
    tangent[a, STEP] = step
    tangent[a, CURVE] = max(curve, KNOWN_TO / (reach * reach))
    tangent[a, IF_CLICKED] = if_clicked
    tangent[a, IF_SKIPPED] = if_skipped
    return (level - tangent[a, DIVERGENCE]) * step


@compiled
def _solve(tangent: Floats, a: int, clicked: float, seen: float, level: float) -> float:
    """The index of an item, from where its last tangent predicts it: mostly one Newton step is enough."""
    p = clicked / seen
    q = tangent[a, POINT] + (level - tangent[a, DIVERGENCE]) * tangent[a, STEP]
    for _ in range(2):
        if not p < q < 1.0:
            break
        move = _lay_tangent(tangent, a, q, clicked, seen, level)
        if tangent[a, CURVE] * move * move <= KNOWN_TO:
            return q + move
        q += move
    q = kl_index(clicked, seen, level)
    if p < q < 1.0:
        _lay_tangent(tangent, a, q, clicked, seen, level)
        tangent[a, DIVERGENCE] = level
    else:
        tangent[a, POINT] = q
        tangent[a, STEP] = 0.0
        tangent[a, CURVE] = 0.0 if clicked == seen else STALE
    return q


@step(choose, CascadeKLUCBState)
def _choose(state: CascadeKLUCBState, items: Items, notes: Notes) -> None:
    order, index, tangent, n = state.order, state.bounds, state.tangent, len(items)
    level = _level(state.learned[0])
    for a in range(len(index)):
        move = (level - tangent[a, DIVERGENCE]) * tangent[a, STEP]
        if tangent[a, CURVE] * move * move <= KNOWN_TO:
            index[a] = tangent[a, POINT] + move
        else:
            index[a] = _solve(tangent, a, state.clicked[a], state.seen[a], level)
    if repair_order(order, index, n, CLOSE):
        _compare_exactly(order, index, n, state.clicked, state.seen, level)
        break_ties(state.rng, order, index, n)
    for k in range(n):
        items[k] = order[k]


@compiled
def _compare_exactly(order: Ints, index: Floats, n: int, clicked: Floats, seen: Floats, level: float) -> None:
    """Solve to the last bit the indices that stand close to another which matters, and order them anew."""
    last = index[order[n - 1]]
    before = np.inf
    for k in range(len(order)):
        a = order[k]
        here = index[a]
        close = abs(here - last) <= CLOSE
        if k < n:
            close |= before - here <= CLOSE or (k < n - 1 and here - index[order[k + 1]] <= CLOSE)
        before = here
        if close and here < NEVER_SEEN:
            index[a] = kl_index(clicked[a], seen[a], level)
    repair_order(order, index, n, 0.0)


@step(learn, CascadeKLUCBState)
def _learn(state: CascadeKLUCBState, items: Items, notes: Notes, clicks: Clicks) -> None:
    tangent = state.tangent
    state.learned[0] += 1
    for k in range(n_examined(clicks, state.last_click)):
        a = items[k]
        state.seen[a] += 1.0
        state.clicked[a] += clicks[k]
        tangent[a, DIVERGENCE] += tangent[a, IF_CLICKED] if clicks[k] else tangent[a, IF_SKIPPED]
        tangent[a, CURVE] = STALE


class CascadeKLUCB(_CascadingPolicy):
    """Shows the items with the largest upper confidence bounds, which are the tightest ones for clicks.

    The bound of an item seen n times with mean p before step t is the largest q with n d(p, q) <= log t + 3 log log t,
    where d is the Kullback-Leibler divergence of Bernoulli distributions. Items never seen come first. In the cascade
    model its regret is nearly the least possible; where users click several items it may settle on a bad list.

    Parameters
    ----------
    n_items, n_positions
        Number of items to choose from, and of items shown.
    last_click, seed
        As in `CascadeUCB1`.

    Examples
    --------
    Users who go on after a click, to all items that they want:

    >>> policy = CascadeKLUCB(4, 2, last_click=True, seed=1)
    >>> for ranking in (policy.rank() for _ in range(500)):
    ...     policy.update(ranking, clicks=[item >= 2 for item in ranking])
    >>> sorted(policy.best)
    [2, 3]

    References
    ----------
    B. Kveton, C. Szepesvári, Z. Wen, A. Ashkan. Cascading Bandits: Learning to Rank in the Cascade Model. ICML 2015.
    A. Garivier, O. Cappé. The KL-UCB Algorithm for Bounded Stochastic Bandits and Beyond. COLT 2011.
    """

    state: CascadeKLUCBState
    examples = (
        {"n_items": 5, "n_positions": 2},
        {"n_items": 4, "n_positions": 4},
        {"n_items": 5, "n_positions": 3, "last_click": True},
    )

    def __init__(self, n_items: int, n_positions: int, *, last_click: bool = False, seed: int | None = None) -> None:
        super().__init__(n_items, n_positions, seed)
        self.last_click = check_flag("last_click", last_click)
        tangent = np.zeros((self.n_items, 6))
        tangent[:, POINT] = NEVER_SEEN
        self.state = CascadeKLUCBState(
            **self._blank(),
            tangent=tangent,
            learned=np.zeros(1, np.int64),
            last_click=self.last_click,
        )
