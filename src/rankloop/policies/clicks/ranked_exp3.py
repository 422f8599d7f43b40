"""RankedEXP3: an EXP3 bandit for each position of the list."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rankloop.checks import check_between, check_whole
from rankloop.kernels import choose, draw_index, inlined, learn, rare, step, uniform
from rankloop.kernels.arrays import Clicks, Floats, Ints, Items, Notes, Stream
from rankloop.policies.base import learn_once
from rankloop.policies.clicks.base import ClickPolicy, Ranking

LARGEST_TOTAL = 1e100
SMALLEST_WEIGHT = 1e-250
"""Smallest weight: one that reached 0 would stay there."""


class RankedEXP3State(NamedTuple):
    rng: Stream
    weights: Floats
    pool: Ints
    place: Ints
    observed: Ints
    rate: float
    anytime: float


# A row of `weights` is a position's sum tree: node i holds the sum of nodes 2i and 2i + 1, and the items' weights are
# the leaves. `pool` holds all items, those already in the list being chosen first, and `place` where each of them is.


@inlined
def _gamma(state: RankedEXP3State) -> float:
    if state.anytime == 0.0:
        return state.rate
    return min(1.0, state.anytime / math.sqrt(state.observed[0] + 1.0))


@step(choose, RankedEXP3State)
def _choose(state: RankedEXP3State, items: Items, notes: Notes) -> None:
    rng, weights, pool, place = state.rng, state.weights, state.pool, state.place
    n_items = len(pool)
    leaves = weights.shape[1] // 2
    gamma = _gamma(state)
    stretch = 1.0 / (1.0 - gamma)
    for k in range(len(items)):
        total = weights[k, 1]
        u = uniform(rng)
        if u < gamma:
            item = min(n_items - 1, int(u / gamma * n_items))
        else:
            left_over = (u - gamma) * stretch * total
            node = 1
            while node < leaves:
                node *= 2
                right = int(left_over >= weights[k, node])
                left_over -= right * weights[k, node]
                node += right
            item = min(n_items - 1, node - leaves)
        if place[item] >= k:
            notes[k] = (1.0 - gamma) * weights[k, leaves + item] / total + gamma / n_items
        else:
            item = pool[k + draw_index(rng, n_items - k)]
            notes[k] = 0.0
        items[k] = item
        other, vacated = pool[k], place[item]
        pool[k], place[item] = item, k
        pool[vacated], place[other] = other, vacated


@step(learn, RankedEXP3State)
def _learn(state: RankedEXP3State, items: Items, notes: Notes, clicks: Clicks) -> None:
    weights = state.weights
    gamma = _gamma(state)
    leaves = weights.shape[1] // 2
    state.observed[0] += 1
    for k in range(len(clicks)):
        if clicks[k] and notes[k] > 0.0:
            node = leaves + items[k]
            weights[k, node] *= math.exp(gamma / (len(state.pool) * notes[k]))
            while node > 1:
                node //= 2
                weights[k, node] = weights[k, 2 * node] + weights[k, 2 * node + 1]
            if weights[k, 1] > LARGEST_TOTAL:
                _scale_down(weights, k, len(state.pool))


@rare
def _scale_down(weights: Floats, k: int, n_items: int) -> None:
    leaves = weights.shape[1] // 2
    total = weights[k, 1]
    for i in range(n_items):
        weights[k, leaves + i] = max(SMALLEST_WEIGHT, weights[k, leaves + i] / total)
    for node in range(leaves - 1, 0, -1):
        weights[k, node] = weights[k, 2 * node] + weights[k, 2 * node + 1]


class RankedEXP3(ClickPolicy):
    """Lets an adversarial bandit choose the item of each position. It assumes nothing of users, and so learns slowly.

    Where a position chooses an item that is in the list already, a random other item is shown, and the position learns
    nothing from it. A position that was not seen keeps its weights. Where the depth to which users look does not depend
    on what a position shows, its estimates stay unbiased up to a factor that is the same for all items.

    Parameters
    ----------
    n_items, n_positions
        Number of items to choose from, and of items shown.
    horizon
        Number of lists that will be shown, from which gamma = sqrt(L ln L / ((e - 1) horizon)), at most 1, is computed.
        If it is not given, the number of lists learned from so far, plus one, takes its place.
    gamma
        Share of choices made uniformly at random, in place of the horizon.
    seed
        Seed of the policy's random numbers.

    Examples
    --------
    >>> policy = RankedEXP3(n_items=4, n_positions=2, horizon=1000, seed=1)
    >>> for ranking in (policy.rank() for _ in range(1000)):
    ...     policy.update(ranking, clicks=[item == 2 for item in ranking])  # everybody wants item 2
    >>> policy.best[0]
    2

    References
    ----------
    F. Radlinski, R. Kleinberg, T. Joachims. Learning Diverse Rankings with Multi-Armed Bandits. ICML 2008.
    P. Auer, N. Cesa-Bianchi, Y. Freund, R. Schapire. The Nonstochastic Multiarmed Bandit Problem. SIAM J. Comput. 2002.
    """

    state: RankedEXP3State
    examples = (
        {"n_items": 5, "n_positions": 5, "horizon": 10_000},
        {"n_items": 4, "n_positions": 4},
        {"n_items": 7, "n_positions": 3, "gamma": 0.05},
    )
    takes_seen = True

    def __init__(
        self, n_items: int, n_positions: int, *, horizon: int | None = None, gamma: float | None = None,
        seed: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(n_items, n_positions, seed)
        if horizon is not None and gamma is not None:
            raise ValueError(f"give horizon or gamma, not both: {horizon!r} and {gamma!r}")
        self.n_notes = n_positions
        self.horizon = None if horizon is None else check_whole("horizon", horizon, 1)
        self.gamma = None if gamma is None else check_between("gamma", gamma, 0, 1)
        of_one_list = math.sqrt(n_items * math.log(n_items) / (math.e - 1))
        leaves = 1 << (n_items - 1).bit_length()
        weights = np.zeros((n_positions, 2 * leaves))
        weights[:, leaves : leaves + n_items] = 1.0
        for node in range(leaves - 1, 0, -1):
            weights[:, node] = weights[:, 2 * node] + weights[:, 2 * node + 1]
        self.state = RankedEXP3State(
            rng=self._rng,
            weights=weights,
            pool=np.arange(n_items),
            place=np.arange(n_items),
            observed=np.zeros(1, np.int64),
            rate=self.gamma if self.gamma is not None else min(1.0, of_one_list / math.sqrt(self.horizon or 1)),
            anytime=of_one_list if self.horizon is None and self.gamma is None else 0.0,
        )

    def _check_ranking(self, ranking: Ranking) -> Ints:
        items = super()._check_ranking(ranking)
        state = self.state
        gamma = min(1.0, state.anytime / math.sqrt(state.observed[0] + 1)) if state.anytime else state.rate
        for probability in ranking.notes:
            if probability and not 0.999 * gamma / self.n_items < probability < 1.001:
                raise self._wrong_notes(ranking)
        return items

    def _take_over(self, before: RankedEXP3, new: Ints, old: Ints) -> None:
        """Keep the weights of items that stay, position by position; a new item begins with the mean weight there."""
        weights, theirs = self.state.weights, before.state.weights
        leaves, their_leaves = weights.shape[1] // 2, theirs.shape[1] // 2
        for k in range(min(len(weights), len(theirs))):
            known = theirs[k, their_leaves : their_leaves + before.n_items]
            weights[k, leaves : leaves + self.n_items] = known.mean()
            weights[k, leaves + new] = known[old]
            for node in range(leaves - 1, 0, -1):
                weights[k, node] = weights[k, 2 * node] + weights[k, 2 * node + 1]
        self.state.observed[:] = before.state.observed

    def update_outdated(
        self, items: Sequence[int | None], notes: Sequence[float], clicks: Sequence[int], seen: int | None = None
    ) -> bool:
        """Learn at the positions whose items are still there."""
        n = min(len(items), self.n_positions)
        shown = np.array([0 if item is None else item for item in items[:n]], np.int64)
        noted = np.array([0.0 if item is None else note for item, note in zip(items, notes, strict=True)][:n])
        observed = np.array(clicks[: n if seen is None else min(n, seen)], np.uint8)
        if len(observed):
            learn_once(self.state, shown, noted, observed)
        return True

    @property
    def best(self) -> list[int]:
        """The list that looks best now: from the top, each position's heaviest item that is not in use yet."""
        leaves = self.state.weights.shape[1] // 2
        chosen: list[int] = []
        for row in self.state.weights[:, leaves : leaves + self.n_items]:
            chosen.append(min((i for i in range(self.n_items) if i not in chosen), key=lambda i: (-row[i], i)))
        return chosen
