"""MergeRUCB: upper confidence bounds within batches, which are merged as arms are eliminated."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rankloop.kernels import choose, draw_index, learn, pick_largest, settled, step
from rankloop.kernels.arrays import Floats, Ints, Items, Notes, Stream
from rankloop.policies.dueling.batches import N_ALIVE, Batches, bonus, next_batch, note_rivalry
from rankloop.policies.dueling.merging import _MergePolicy


class MergeRUCBState(NamedTuple):
    rng: Stream
    wins: Ints
    batches: Batches
    score: Floats


@step(choose, MergeRUCBState)
def _choose(state: MergeRUCBState, items: Items, notes: Notes) -> None:
    batches = state.batches
    b = next_batch(batches, state.wins)
    size = batches.size[b]
    batch = batches.order[batches.start[b] : batches.start[b] + size]
    if size == 1:
        items[0] = items[1] = batches.arm_of[batch[0]]
        return
    first = draw_index(state.rng, size)
    c = batch[first]
    level = bonus(batches)
    for x in range(size):
        won = state.wins[batch[x], c]
        duels = won + state.wins[c, batch[x]]
        if x == first:
            state.score[x] = -1.0
        elif duels == 0:
            state.score[x] = 2.0
        else:
            state.score[x] = won / duels + math.sqrt(level / duels)
    items[0] = batches.arm_of[c]
    items[1] = batches.arm_of[batch[pick_largest(state.rng, state.score, size)]]


@step(learn, MergeRUCBState)
def _learn(state: MergeRUCBState, items: Items, notes: Notes, left_won: bool) -> None:
    left, right = state.batches.slot_of[items[0]], state.batches.slot_of[items[1]]
    if left == right:
        return
    if left_won:
        state.wins[left, right] += 1
    else:
        state.wins[right, left] += 1
    note_rivalry(state.batches, left, right)


@step(settled, MergeRUCBState)
def _settled(state: MergeRUCBState) -> bool:
    return state.batches.counts[N_ALIVE] == 1


class MergeRUCB(_MergePolicy):
    """Finds the best of many rankers by optimism within batches; the baseline that MergeDTS improves on.

    In each batch in turn, a random ranker duels the one with the largest upper confidence bound against it.

    Parameters
    ----------
    n_arms
        Number of rankers.
    alpha, batch_size, c, epsilon, seed
        As in `MergeDTS`.

    Examples
    --------
    >>> policy = MergeRUCB(n_arms=3, alpha=0.5, c=1, seed=0)
    >>> while policy.winner is None:
    ...     policy.update(duel := policy.duel(), winner=max(duel))  # the larger number always wins
    >>> policy.winner
    2

    References
    ----------
    M. Zoghi, S. Whiteson, M. de Rijke. MergeRUCB: A Method for Large-Scale Online Ranker Evaluation. WSDM 2015.
    """

    state: MergeRUCBState
    examples = ({"n_arms": 8}, {"n_arms": 20, "alpha": 1.01, "batch_size": 4, "c": None, "epsilon": 0.1})

    def __init__(
        self, n_arms: int, *, alpha: float = 0.8**6, batch_size: int = 8, c: float | None = 400_000,
        epsilon: float | None = None, seed: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(n_arms, alpha, batch_size, c, epsilon, seed)
        self.state = MergeRUCBState(
            rng=self._rng,
            wins=np.zeros((n_arms, n_arms), np.int64),
            batches=self._batches,
            score=np.zeros(n_arms),
        )
