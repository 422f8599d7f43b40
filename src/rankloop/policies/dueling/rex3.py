"""REX3: relative exponential weights for exploration and exploitation."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rankloop.checks import check_between, check_whole
from rankloop.kernels import choose, draw_index, inlined, learn, rare, step, uniform
from rankloop.kernels.arrays import Floats, Ints, Items, Notes, Stream
from rankloop.policies.base import new_stream
from rankloop.policies.dueling.base import Duel, DuelingPolicy, check_n_arms

LARGEST_TOTAL = 1e150


class REX3State(NamedTuple):
    rng: Stream
    log_weight: Floats
    tree: Floats  # node k is the sum of nodes 2k and 2k + 1, the last nodes are the scaled weights
    log_scale: Floats
    observed: Ints
    gamma: float  # 0 where it falls with time
    spread: float


@step(choose, REX3State)
def _choose(state: REX3State, items: Items, notes: Notes) -> None:
    n_arms = len(state.log_weight)
    gamma = _gamma(state)
    for side in range(2):
        arm = (
            draw_index(state.rng, n_arms)
            if uniform(state.rng) < gamma
            else _draw_by_weight(state.rng, state.tree, n_arms)
        )
        items[side] = arm
        notes[side] = _probability(state.tree, arm, n_arms, gamma)


@step(learn, REX3State)
def _learn(state: REX3State, items: Items, notes: Notes, left_won: bool) -> None:
    n_arms = len(state.log_weight)
    gamma = _gamma(state)
    state.observed[0] += 1
    if items[0] == items[1]:  # it wins as much as it loses
        return
    psi = 0.5 if left_won else -0.5
    left_gain = _gain(state.tree, items[0], n_arms, gamma, psi, notes[0])
    right_gain = _gain(state.tree, items[1], n_arms, gamma, -psi, notes[1])
    _reweigh(state.log_weight, state.tree, state.log_scale[0], items[0], left_gain)
    _reweigh(state.log_weight, state.tree, state.log_scale[0], items[1], right_gain)
    if not 1.0 / LARGEST_TOTAL < state.tree[1] < LARGEST_TOTAL:
        _rescale(state.log_weight, state.tree, state.log_scale)


@inlined
def _gamma(state: REX3State) -> float:
    return state.gamma if state.gamma > 0.0 else min(0.5, math.sqrt(state.spread / (state.observed[0] + 1)))


@inlined
def _probability(tree: Floats, arm: int, n_arms: int, gamma: float) -> float:
    return (1.0 - gamma) * tree[(len(tree) >> 1) + arm] / tree[1] + gamma / n_arms


@inlined
def _gain(tree: Floats, arm: int, n_arms: int, gamma: float, psi: float, noted: float) -> float:
    """By how much the logarithm of an arm's weight grows, from the probability noted when it was chosen."""
    least = gamma / n_arms  # none was ever lower; a note that is would blow up the weight
    probability = noted if noted > 0.0 else _probability(tree, arm, n_arms, gamma)
    return least * psi / (2.0 * max(probability, least))


@inlined
def _draw_by_weight(rng: Stream, tree: Floats, n_arms: int) -> int:
    """Walk down from the root: to the left with the share of the weight that lies there."""
    rest = uniform(rng) * tree[1]
    leaves = len(tree) >> 1
    node = 1
    while node < leaves:  # without a branch: none could be predicted
        node *= 2
        right = int(rest >= tree[node])
        rest -= right * tree[node]
        node += right
    return min(node - leaves, n_arms - 1)  # rounding may lead just past the last arm


@inlined
def _reweigh(log_weight: Floats, tree: Floats, log_scale: float, arm: int, gain: float) -> None:
    log_weight[arm] += gain
    node = (len(tree) >> 1) + arm
    tree[node] = math.exp(log_weight[arm] - log_scale)
    while node > 1:
        node >>= 1
        tree[node] = tree[2 * node] + tree[2 * node + 1]


@rare
def _rescale(log_weight: Floats, tree: Floats, log_scale: Floats) -> None:
    """Scale the weights in the tree so that the largest is 1; those that vanish beside it are still known as logs."""
    largest = log_weight[0]
    for i in range(1, len(log_weight)):
        largest = max(largest, log_weight[i])
    log_scale[0] = largest
    leaves = len(tree) >> 1
    for i in range(len(log_weight)):
        tree[leaves + i] = math.exp(log_weight[i] - largest)
    for node in range(leaves - 1, 0, -1):
        tree[node] = tree[2 * node] + tree[2 * node + 1]


class REX3(DuelingPolicy):
    """Exponential weights for duels: slow, but with a regret bound that holds even if preferences change.

    Both rankers are drawn in proportion to weights that grow with each win and shrink with each loss. Where
    preferences stay the same, policies made for that case soon have far less regret.

    Parameters
    ----------
    n_arms
        Number of rankers.
    horizon
        Number of duels that will be played, from which `gamma` is computed. If neither is given, `gamma` falls with the
        number of duels.
    gamma
        Share of arms drawn uniformly, between 0 and 1.
    seed
        Seed of the policy's random numbers.

    Examples
    --------
    >>> policy = REX3(n_arms=3, horizon=1000, seed=0)
    >>> for _ in range(1000):
    ...     duel = policy.duel()
    ...     policy.update(duel, winner=max(duel))  # the larger number always wins
    >>> policy.best
    2

    References
    ----------
    P. Gajane, T. Urvoy, F. Clérot. A Relative Exponential Weighing Algorithm for Adversarial Utility-based Dueling
    Bandits. ICML 2015.
    """

    state: REX3State
    examples = ({"n_arms": 5}, {"n_arms": 8, "horizon": 8000}, {"n_arms": 5, "gamma": 0.1})

    def __init__(
        self, n_arms: int, *, horizon: int | None = None, gamma: float | None = None, seed: int | None = None
    ) -> None:
        self.n_arms = check_n_arms(n_arms)
        if horizon is not None and gamma is not None:
            raise ValueError(f"gamma = {gamma!r} needs horizon=None: gamma is either computed from it or given")
        self.horizon = None if horizon is None else check_whole("horizon", horizon, 1)
        self.gamma = None if gamma is None else check_between("gamma", gamma, 0, 1)
        leaves = 1 << (self.n_arms - 1).bit_length()
        tree = np.zeros(2 * leaves)
        tree[leaves : leaves + self.n_arms] = 1.0
        for node in range(leaves - 1, 0, -1):
            tree[node] = tree[2 * node] + tree[2 * node + 1]
        spread = self.n_arms * math.log(self.n_arms) / math.e
        tuned = 0.0 if self.horizon is None else min(0.5, math.sqrt(spread / self.horizon))
        self.state = REX3State(
            rng=new_stream(seed),
            log_weight=np.zeros(self.n_arms),
            tree=tree,
            log_scale=np.zeros(1),
            observed=np.zeros(1, np.int64),
            gamma=self.gamma or tuned,
            spread=spread,
        )

    @property
    def best(self) -> int:
        """The arm with the largest weight."""
        return int(self.state.log_weight.argmax())

    def _notes(self, duel: Duel) -> Floats:
        notes = super()._notes(duel)
        if duel.notes and not ((notes > 0) & (notes <= 1)).all():
            raise ValueError(f"the notes of a duel of REX3 are probabilities, not {duel.notes!r}")
        return notes
