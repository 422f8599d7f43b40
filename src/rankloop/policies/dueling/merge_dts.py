"""MergeDTS: Double Thompson Sampling within batches, which are merged as arms are eliminated."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rankloop.kernels import choose, draw_pair_below, learn, pick_largest, record_win, settled, step, uniform
from rankloop.kernels.arrays import Floats, Ints, Items, Notes, Stream
from rankloop.policies.dueling.batches import N_ALIVE, Batches, next_batch, note_rivalry
from rankloop.policies.dueling.merging import _MergePolicy


class MergeDTSState(NamedTuple):
    rng: Stream
    wins: Ints
    above: Floats
    mass: Floats
    batches: Batches
    score: Ints


@step(choose, MergeDTSState)
def _choose(state: MergeDTSState, items: Items, notes: Notes) -> None:
    batches = state.batches
    b = next_batch(batches, state.wins)
    size = batches.size[b]
    batch = batches.order[batches.start[b] : batches.start[b] + size]
    if size == 1:
        items[0] = items[1] = batches.arm_of[batch[0]]
        return

    # Phase I: the arm that wins most of a tournament of sampled preferences.
    for x in range(size):
        state.score[x] = 0
    for x in range(size):
        i = batch[x]
        won = 0
        for y in range(x + 1, size):  # without a branch: the outcomes are random, and none could be predicted
            beats = int(uniform(state.rng) < state.above[i, batch[y]])
            won += beats
            state.score[y] += 1 - beats
        state.score[x] += won
    first = pick_largest(state.rng, state.score, size)
    c = batch[first]

    # Phase II: its weakest opponent in a second sample. Starting from the likeliest one makes records rare.
    likeliest = -1
    for x in range(size):
        if x != first and (likeliest < 0 or state.above[batch[x], c] < state.above[batch[likeliest], c]):
            likeliest = x
    d = batch[likeliest]
    lowest = draw_pair_below(state.rng, state.wins[d, c], state.wins[c, d], 1.0, 0.0, 0.0, 0.0)
    log_up = math.log(2.0 * lowest)
    log_down = math.log(2.0 * (1.0 - lowest))
    for x in range(size):
        if x != first and x != likeliest:
            j = batch[x]
            draw = draw_pair_below(
                state.rng, state.wins[j, c], state.wins[c, j], lowest, log_up, log_down, state.mass[j, c]
            )
            if draw < lowest:
                lowest = draw
                d = j
                log_up = math.log(2.0 * lowest)
                log_down = math.log(2.0 * (1.0 - lowest))
    items[0] = batches.arm_of[c]
    items[1] = batches.arm_of[d]


@step(learn, MergeDTSState)
def _learn(state: MergeDTSState, items: Items, notes: Notes, left_won: bool) -> None:
    left, right = state.batches.slot_of[items[0]], state.batches.slot_of[items[1]]
    if left == right:
        return
    if left_won:
        record_win(state.wins, state.above, state.mass, left, right)
    else:
        record_win(state.wins, state.above, state.mass, right, left)
    note_rivalry(state.batches, left, right)


@step(settled, MergeDTSState)
def _settled(state: MergeDTSState) -> bool:
    return state.batches.counts[N_ALIVE] == 1


class MergeDTS(_MergePolicy):
    """Finds the best of hundreds of rankers with few comparisons of bad ones.

    Rankers are split into batches and duel only within their batch: the one that wins most of a sampled tournament
    against the one that seems weakest, to eliminate it soon. It is made for problems with a Condorcet winner, a ranker
    that is preferred to every other. Its regret then grows with the number of rankers, not of their pairs.

    Parameters
    ----------
    n_arms
        Number of rankers.
    alpha
        Width of the confidence bounds. The default is the thesis' tuned value; the theory needs more than 1/2.
    batch_size
        Rankers in a batch (M). Larger batches cost less regret and more time; the theory needs at least 4.
    c
        Constant added to t in the logarithm of the bounds. If it is None, it is computed from `epsilon`.
    epsilon
        Probability of losing the winner, from which `c` is computed; 0.01 if neither is given.
    seed
        Seed of the policy's random numbers.

    Examples
    --------
    >>> policy = MergeDTS(n_arms=3, alpha=0.5, c=1, seed=0)
    >>> while policy.winner is None:
    ...     duel = policy.duel()
    ...     policy.update(duel, winner=max(duel))  # the larger number always wins
    >>> policy.winner
    2

    With the guarantee of the theorem, which loses the winner with probability at most 0.01:

    >>> MergeDTS(n_arms=136, alpha=1.01, batch_size=4, c=None, epsilon=0.01)
    MergeDTS(n_arms=136, alpha=1.01, batch_size=4, c=None, epsilon=0.01)

    References
    ----------
    C. Li, I. Markov, M. de Rijke, M. Zoghi. MergeDTS: A Method for Effective Large-Scale Online Ranker Evaluation.
    ACM Transactions on Information Systems, 2020.
    """

    state: MergeDTSState
    _of_pairs = ("wins", "above", "mass")
    examples = ({"n_arms": 8}, {"n_arms": 20, "alpha": 1.01, "batch_size": 4, "c": None, "epsilon": 0.1})

    def __init__(
        self, n_arms: int, *, alpha: float = 0.8**6, batch_size: int = 16, c: float | None = 4_000_000,
        epsilon: float | None = None, seed: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(n_arms, alpha, batch_size, c, epsilon, seed)
        self.state = MergeDTSState(
            rng=self._rng,
            wins=np.zeros((n_arms, n_arms), np.int64),
            above=np.full((n_arms, n_arms), 0.5),
            mass=np.full((n_arms, n_arms), 0.5),
            batches=self._batches,
            score=np.zeros(n_arms, np.int64),
        )
