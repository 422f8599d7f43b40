"""RUCB: an arm that may be the best duels the arm most likely to beat it, both by upper confidence bounds."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rankloop.kernels import choose, draw_index, inlined, learn, pick_largest, step, uniform
from rankloop.kernels.arrays import Floats, Ints, Items, Notes, Stream
from rankloop.policies.base import new_stream
from rankloop.policies.dueling.optimism import Defeats, _OptimisticPolicy, note_duel, time_of

NOBODY = -1
ITSELF = np.nextafter(0.5, 0.0)
"""The bound of an arm against itself: 1/2, and it loses every tie."""


class RUCBState(NamedTuple):
    rng: Stream
    wins: Ints
    duels: Ints
    defeats: Defeats
    hypothesis: Ints
    score: Floats


@step(choose, RUCBState)
def _choose(state: RUCBState, items: Items, notes: Notes) -> None:
    n_arms = len(state.score)
    c = _first(state.rng, state.defeats.beaten_by, state.hypothesis)
    level = state.defeats.alpha * math.log(time_of(state.defeats))
    for j in range(n_arms):
        duels = state.duels[c, j]  # and not the sum of wins[c, j] and wins[j, c], which lie far apart in memory
        won = duels - state.wins[c, j]
        state.score[j] = 2.0 if duels == 0 else won / duels + math.sqrt(level / duels)
    state.score[c] = ITSELF
    items[0] = c
    items[1] = pick_largest(state.rng, state.score, n_arms)


@inlined
def _first(rng: Stream, beaten_by: Ints, hypothesis: Ints) -> int:
    """An arm that nobody beats beyond doubt: with probability 1/2 the one that last was the only such arm."""
    n_arms = len(beaten_by)
    candidates = 0
    for i in range(n_arms):
        candidates += int(beaten_by[i] == 0)
    if candidates == 0:
        hypothesis[0] = NOBODY
        return draw_index(rng, n_arms)
    if hypothesis[0] != NOBODY and beaten_by[hypothesis[0]] > 0:
        hypothesis[0] = NOBODY
    skip = 0
    passed_over = NOBODY
    if candidates > 1 and hypothesis[0] != NOBODY:
        if uniform(rng) < 0.5:
            return hypothesis[0]
        passed_over = hypothesis[0]
        skip = draw_index(rng, candidates - 1)
    elif candidates > 1:
        skip = draw_index(rng, candidates)
    c = -1
    while skip >= 0:
        c += 1
        skip -= int(beaten_by[c] == 0 and c != passed_over)
    if candidates == 1:
        hypothesis[0] = c
    return c


@step(learn, RUCBState)
def _learn(state: RUCBState, items: Items, notes: Notes, left_won: bool) -> None:
    left, right = items[0], items[1]
    if left != right:
        state.duels[left, right] += 1
        state.duels[right, left] += 1
        if left_won:
            state.wins[left, right] += 1
        else:
            state.wins[right, left] += 1
    note_duel(state.defeats, state.wins, left, right)


class RUCB(_OptimisticPolicy):
    """Finds the arm that beats all others by optimism in the face of uncertainty; a simple, sound baseline.

    The first arm of a duel is one that may still be the best: no other is known to beat it. The second is the arm with
    the largest upper confidence bound against it; once no bound exceeds 1/2, the first arm duels itself. It is made for
    problems with a Condorcet winner. Its regret at first grows with the number of pairs, so it suits tens of arms
    rather than hundreds.

    Parameters
    ----------
    n_arms
        Number of arms.
    alpha
        Width of the confidence bounds; the theory needs more than 1/2.
    seed
        Seed of the policy's random numbers.

    Examples
    --------
    >>> policy = RUCB(n_arms=3, seed=0)
    >>> for duel in (policy.duel() for _ in range(200)):
    ...     policy.update(duel, winner=max(duel))  # the larger number always wins
    >>> policy.winner, policy.best
    (2, 2)

    References
    ----------
    M. Zoghi, S. Whiteson, R. Munos, M. de Rijke. Relative Upper Confidence Bound for the K-Armed Dueling Bandit
    Problem. ICML 2014.
    """

    state: RUCBState
    examples = ({"n_arms": 5}, {"n_arms": 8, "alpha": 0.3})

    def __init__(self, n_arms: int, *, alpha: float = 0.51, seed: int | None = None) -> None:
        super().__init__(n_arms, alpha)
        self.state = RUCBState(
            rng=new_stream(seed),
            wins=np.zeros((self.n_arms, self.n_arms), np.int64),
            duels=np.zeros((self.n_arms, self.n_arms), np.int64),
            defeats=self._defeats,
            hypothesis=np.array([NOBODY]),
            score=np.zeros(self.n_arms),
        )
