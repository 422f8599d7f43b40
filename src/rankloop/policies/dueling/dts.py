"""DTS: Double Thompson Sampling, one sample to choose each arm of a duel."""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from rankloop.kernels import (
    Lanes,
    choose,
    compiled,
    draw_below_given_half,
    draw_index,
    draw_lower_half,
    fill_words,
    inlined,
    lanes,
    learn,
    pick_largest,
    record_win,
    step,
    uniform,
)
from rankloop.kernels.arrays import Floats, Ints, Items, Notes, Stream, Words
from rankloop.policies.base import new_stream
from rankloop.policies.dueling.optimism import UNSEEN, Defeats, _OptimisticPolicy, note_duel, time_of

Scores: TypeAlias = npt.NDArray[np.uint16]

FEW = 6
"""A tournament of one in so many arms is cheaper sampled by itself than as a part of the tournament of all."""


MOST_ARMS = 65_534
"""Tournaments are scored in 16 bits."""


class DTSState(NamedTuple):
    """`odds[i, j]`, for i < j, are the first 16 bits of P(theta_ij > 1/2), which is `above[i, j]`."""

    rng: Stream
    wins: Ints
    above: Floats
    mass: Floats
    odds: Scores
    defeats: Defeats
    lanes: Lanes
    words: Words
    score: Scores
    rivals: Ints
    quantiles: Floats


@step(choose, DTSState)
def _choose(state: DTSState, items: Items, notes: Notes) -> None:
    items[0] = _first(state)
    items[1] = _second(state, items[0])


@inlined
def _first(state: DTSState) -> int:
    """Of the arms that the fewest others beat beyond doubt, the one that wins most of a sampled tournament."""
    beaten_by, score = state.defeats.beaten_by, state.score
    n_arms = len(score)
    least = beaten_by[0]
    for i in range(n_arms):
        least = min(least, beaten_by[i])
    candidates = 0
    for i in range(n_arms):
        candidates += int(beaten_by[i] == least)
    if candidates * FEW > n_arms:
        sample_tournament(state.rng, state.above, state.odds, state.lanes, state.words, score)
    else:
        for i in range(n_arms):
            score[i] = 1
        if candidates > 1:
            sample_small_tournament(state.rng, state.above, beaten_by, least, score)
    for i in range(n_arms):
        if beaten_by[i] > least:
            score[i] = 0
    return pick_largest(state.rng, score, n_arms)


@compiled
def sample_tournament(
    rng: Stream,
    above: Floats,
    odds: Scores,
    generators: Lanes,
    words: Words,
    score: Scores,
) -> None:
    """One more than the duels that each arm wins when every pair duels once, with preferences from the posterior.

    i beats j if a uniform number is under P(theta_ij > 1/2). Nearly always its first 16 bits tell, and the loop that
    compares them has no branches, so that the processor takes many pairs at once.
    """
    n_arms = len(score)
    odds, score, draws = np.asarray(odds), np.asarray(score), np.asarray(words).view(np.uint16)
    used = len(draws)
    for j in range(n_arms):
        score[j] = j + 1  # as if each arm won against all before it
    for i in range(n_arms - 1):
        size = n_arms - 1 - i
        if used + size > len(draws):
            fill_words(generators, words)
            used = 0
        draw, bar, later = draws[used : used + size], odds[i, i + 1 :], score[i + 1 :]
        used += size
        won = np.uint16(0)
        undecided = np.uint16(0)
        for j in range(size):
            beats = np.uint16(draw[j] < bar[j])
            won = np.uint16(won + beats)
            undecided = np.uint16(undecided + np.uint16(draw[j] == bar[j]))
            later[j] = np.uint16(later[j] - beats)
        if undecided > 0:
            for j in range(size):
                if draw[j] == bar[j] and bar[j] + uniform(rng) < 65536.0 * above[i, i + 1 + j]:
                    won = np.uint16(won + 1)
                    later[j] = np.uint16(later[j] - 1)
        score[i] += won


@compiled
def sample_small_tournament(rng: Stream, above: Floats, beaten_by: Ints, least: int, score: Scores) -> None:
    """The same, but only the pairs that concern a candidate: others end up with meaningless scores."""
    n_arms = len(score)
    for i in range(n_arms):
        if beaten_by[i] == least:
            won = 0
            for j in range(n_arms):
                if j > i or beaten_by[j] > least:
                    beats = int(uniform(rng) < above[i, j])
                    won += beats
                    score[j] += 1 - beats
            score[i] += won


@inlined
def _second(state: DTSState, c: int) -> int:
    """The arm that beats c most clearly in a second sample, leaving out those that surely do; c itself if none does.

    Only draws of phi_j above phi_c = 1/2 matter, then only those above the largest so far. They are drawn as
    1 - phi_j ~ Beta(w_cj + 1, w_jc + 1), of which the lowest is sought.
    """
    rng, rivals, quantiles = state.rng, state.rivals, state.quantiles
    until, above = state.defeats.until, state.above
    t = time_of(state.defeats)
    n_arms = len(rivals)
    unseen = 0
    n_rivals = 0
    likeliest = 0
    for j in range(n_arms):
        if j == c or until[c, j] == UNSEEN:
            unseen += int(j != c)
        elif until[c, j] < t:
            q = uniform(rng)
            if q < 1.0 - above[c, j]:
                rivals[n_rivals] = j
                quantiles[n_rivals] = q
                if above[c, j] < above[c, rivals[likeliest]]:
                    likeliest = n_rivals
                n_rivals += 1
    d = c
    lowest = 0.5
    if unseen > 0:  # all their draws are uniform: one number is the lowest of them, and any of them may have drawn it
        draw = -math.expm1(math.log(1.0 - uniform(rng)) / unseen)
        skip = draw_index(rng, unseen)
        if draw < lowest:
            lowest = draw
            d = -1
            while skip >= 0:
                d += 1
                skip -= int(d != c and until[c, d] == UNSEEN)
    elif n_rivals > 0:  # the lower the first draw, the fewer of the others need more than a look
        d = rivals[likeliest]
        lowest = draw_lower_half(rng, state.wins[c, d], state.wins[d, c], 1.0 - above[c, d])
        n_rivals -= 1
        rivals[likeliest] = rivals[n_rivals]
        quantiles[likeliest] = quantiles[n_rivals]
    log_up = math.log(2.0 * lowest)
    log_down = math.log(2.0 * (1.0 - lowest))
    for k in range(n_rivals):
        j = rivals[k]
        a, b = state.wins[c, j], state.wins[j, c]
        draw = draw_below_given_half(
            rng, a, b, lowest, log_up, log_down, state.mass[c, j], quantiles[k], 1.0 - above[c, j]
        )
        if draw < lowest:
            lowest = draw
            d = j
            log_up = math.log(2.0 * lowest)
            log_down = math.log(2.0 * (1.0 - lowest))
    return d


@step(learn, DTSState)
def _learn(state: DTSState, items: Items, notes: Notes, left_won: bool) -> None:
    left, right = items[0], items[1]
    if left != right:
        if left_won:
            record_win(state.wins, state.above, state.mass, left, right)
        else:
            record_win(state.wins, state.above, state.mass, right, left)
        i, j = min(left, right), max(left, right)
        state.odds[i, j] = min(65535, int(65536.0 * state.above[i, j]))
    note_duel(state.defeats, state.wins, left, right)


class DTS(_OptimisticPolicy):
    """Finds the arms that beat most others, by Thompson sampling; the strongest choice for tens of arms.

    Of the arms that the fewest others are known to beat, the first arm of a duel is the one that wins most of a sampled
    tournament; the second is the arm that beats it most clearly in another sample. It needs no Condorcet winner;
    without one it converges to the Copeland winners, the arms that beat the most others.

    Parameters
    ----------
    n_arms, alpha, seed
        As in `MergeDTS`.

    Examples
    --------
    >>> policy = DTS(n_arms=3, seed=0)
    >>> while policy.winner is None:
    ...     duel = policy.duel()
    ...     policy.update(duel, winner=max(duel))  # the larger number always wins
    >>> policy.winner
    2

    References
    ----------
    H. Wu, X. Liu. Double Thompson Sampling for Dueling Bandits. NIPS 2016.
    """

    state: DTSState
    examples = ({"n_arms": 5}, {"n_arms": 8, "alpha": 0.6})

    def __init__(self, n_arms: int, *, alpha: float = 0.8**7, seed: int | None = None) -> None:
        super().__init__(n_arms, alpha)
        if n_arms > MOST_ARMS:
            raise ValueError(f"n_arms = {n_arms} is more than the {MOST_ARMS} that DTS can hold: use MergeDTS")
        rng = new_stream(seed)
        square = (self.n_arms, self.n_arms)
        n_words = (self.n_arms + 3) // 4
        self.state = DTSState(
            rng=rng,
            wins=np.zeros(square, np.int64),
            above=np.full(square, 0.5),
            mass=np.full(square, 0.5),
            odds=np.full(square, 1 << 15, np.uint16),
            defeats=self._defeats,
            lanes=lanes(rng, n_words),
            words=np.zeros(n_words, np.uint64),
            score=np.zeros(self.n_arms, np.uint16),
            rivals=np.zeros(self.n_arms, np.int64),
            quantiles=np.zeros(self.n_arms),
        )

    def _take_stream(self, rng: Stream) -> None:
        super()._take_stream(rng)
        self.state.lanes[...] = lanes(rng, len(self.state.words))
