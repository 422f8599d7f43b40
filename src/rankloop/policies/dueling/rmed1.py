"""RMED1: relative minimum empirical divergence."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rankloop.checks import check_choice, check_positive
from rankloop.kernels import choose, compiled, inlined, learn, pick_largest, step
from rankloop.kernels.arrays import Flags, Floats, Ints, Items, Notes, Stream
from rankloop.policies.base import new_stream, shuffled
from rankloop.policies.dueling.base import DuelingPolicy, check_n_arms

OBSERVED, FIRST, SECOND, POSITION, LENGTH = range(5)
REMAINING, NEXT = range(2)

# Log-likelihoods are kept as whole numbers of this unit. Those add up exactly, so that a sum updated by differences
# never drifts and ties stay ties (a duel's loss weighs log 2 to begin with); there is room for 10^10 duels.
UNIT = math.log(2.0) * 2.0**-29


class RMED1State(NamedTuple):
    rng: Stream
    wins: Ints
    lost: Floats  # the share of its duels with the column that the row lost
    rivals: Ints  # how many have beaten the arm at least as often as it them: the size of O
    likelihood: Ints  # the logarithm of how likely the arm is to be the winner: -I
    order: Ints  # in which arms are swept
    sweep: Ints  # L_C, its first LENGTH entries
    listed: Flags  # who is in L_R (row REMAINING) and in L_N (row NEXT)
    counts: Ints
    f: float
    strongest: bool


@step(choose, RMED1State)
def _choose(state: RMED1State, items: Items, notes: Notes) -> None:
    counts, rng = state.counts, state.rng
    n_arms = len(state.likelihood)
    if counts[SECOND] < n_arms:  # every pair once
        items[0] = state.order[counts[FIRST]]
        items[1] = state.order[counts[SECOND]]
        counts[SECOND] += 1
        if counts[SECOND] == n_arms:
            counts[FIRST] += 1
            counts[SECOND] = counts[FIRST] + 1
        return
    if counts[POSITION] == counts[LENGTH]:
        _begin_sweep(state.likelihood, state.order, state.sweep, state.listed, counts, state.f)
    arm = state.sweep[counts[POSITION]]
    counts[POSITION] += 1
    state.listed[REMAINING, arm] = False
    items[0] = arm
    if state.strongest:
        items[1] = pick_largest(rng, state.lost[arm], n_arms) if state.rivals[arm] > 0 else arm
        return
    likeliest = pick_largest(rng, state.likelihood, n_arms)
    if state.rivals[arm] == 0 or state.lost[arm, likeliest] >= 0.5:
        items[1] = likeliest
    else:
        items[1] = pick_largest(rng, state.lost[arm], n_arms)


@step(learn, RMED1State)
def _learn(state: RMED1State, items: Items, notes: Notes, left_won: bool) -> None:
    state.counts[OBSERVED] += 1
    if items[0] != items[1]:
        winner, loser = (items[0], items[1]) if left_won else (items[1], items[0])
        _count_win(state.wins, state.lost, state.rivals, state.likelihood, winner, loser)
    lowest = _lowest_to_continue(state.likelihood, state.counts[OBSERVED], state.f)
    for j in range(len(state.likelihood)):
        state.listed[NEXT, j] |= (state.likelihood[j] >= lowest) & (not state.listed[REMAINING, j])


@inlined
def _count_win(wins: Ints, lost: Floats, rivals: Ints, likelihood: Ints, winner: int, loser: int) -> None:
    a = wins[winner, loser]
    b = wins[loser, winner]
    # A duel's evidence speaks against the one of the two that has won less.
    if a < b:
        likelihood[winner] += _evidence(a, b)
    elif b < a:
        likelihood[loser] += _evidence(a, b)
    a += 1
    if a < b:
        likelihood[winner] -= _evidence(a, b)
    elif b < a:
        likelihood[loser] -= _evidence(a, b)
    rivals[winner] -= int(lost[winner, loser] >= 0.5)
    rivals[loser] -= int(lost[loser, winner] >= 0.5)
    wins[winner, loser] = a
    lost[winner, loser] = b / (a + b)
    lost[loser, winner] = a / (a + b)
    rivals[winner] += int(lost[winner, loser] >= 0.5)
    rivals[loser] += int(lost[loser, winner] >= 0.5)


@compiled
def _evidence(a: int, b: int) -> int:
    """n d(a / n, 1/2) of n = a + b duels, in units, d being the divergence of coins."""
    lean = (a - b) / (a + b)
    total = 0.0
    if a > 0:
        total += a * math.log1p(lean)
    if b > 0:
        total += b * math.log1p(-lean)
    return int(total / UNIT + 0.5)


@inlined
def _lowest_to_continue(likelihood: Ints, t: int, f: float) -> int:
    """The likelihood down to which arms go on to the next sweep."""
    largest = likelihood[0]
    for j in range(1, len(likelihood)):
        largest = max(largest, likelihood[j])
    return largest - int((math.log(t) + f) / UNIT)


@compiled
def _begin_sweep(likelihood: Ints, order: Ints, sweep: Ints, listed: Flags, counts: Ints, f: float) -> None:
    """Go on to L_N; where no outcome has come in to fill it, to those that would be in it."""
    waiting = False
    for j in range(len(sweep)):
        waiting |= listed[NEXT, j]
    lowest = _lowest_to_continue(likelihood, counts[OBSERVED] + 1, f)
    counts[POSITION] = counts[LENGTH] = 0
    for i in range(len(order)):
        j = order[i]
        goes_on = listed[NEXT, j] if waiting else likelihood[j] >= lowest
        if goes_on:
            sweep[counts[LENGTH]] = j
            counts[LENGTH] += 1
        listed[REMAINING, j] = goes_on
        listed[NEXT, j] = False


class RMED1(DuelingPolicy):
    """Compares each ranker as often as it is likely to be the best; hard to beat for few rankers.

    It goes over the rankers that the outcomes so far do not rule out, and lets each duel the likeliest winner if that
    one has beaten it, else the ranker to which it has lost most. It begins with a duel of every pair, which makes it
    slow to start with hundreds of rankers. It is made for problems with a Condorcet winner.

    Parameters
    ----------
    n_arms
        Number of rankers.
    f
        Margin, on top of log t, by which the log-likelihood of a ranker may fall behind the largest one before it is no
        longer compared. The default is the authors' choice, 0.3 K^1.01 for K rankers.
    opponent
        Rule for the opponent: "published", as above, or "strongest", always the ranker to which it has lost most, and
        itself where nobody beats it. The thesis' experiments ran the latter. It comes without a proof: its regret is
        lower where rankers beat each other clearly, and far higher where two nearly equal rankers lose to others.
    seed
        Seed of the policy's random numbers.

    Examples
    --------
    >>> policy = RMED1(n_arms=3, seed=0)
    >>> for _ in range(100):
    ...     duel = policy.duel()
    ...     policy.update(duel, winner=max(duel))  # the larger number always wins
    >>> policy.best, policy.duel()
    (2, Duel(left=2, right=2, notes=()))

    References
    ----------
    J. Komiyama, J. Honda, H. Kashima, H. Nakagawa. Regret Lower Bound and Optimal Algorithm in Dueling Bandit Problem.
    COLT 2015.
    """

    state: RMED1State
    examples = ({"n_arms": 5}, {"n_arms": 8, "f": 0.5}, {"n_arms": 6, "opponent": "strongest"})

    def __init__(
        self, n_arms: int, *, f: float | None = None, opponent: str = "published", seed: int | None = None
    ) -> None:
        self.n_arms = check_n_arms(n_arms)
        self.f = None if f is None else check_positive("f", f)
        self.opponent = check_choice("opponent", opponent, ("published", "strongest"))
        strongest = opponent == "strongest"
        rng = new_stream(seed)
        order = shuffled(rng, self.n_arms)
        # A pair whose first outcome never came counts as won by both. With "strongest" it counts as a tie, since an
        # arm that nobody beats would duel itself for ever and never meet the one it is to be compared with.
        lost = np.full((self.n_arms, self.n_arms), 0.5 if strongest else 0.0)
        np.fill_diagonal(lost, -1.0)
        listed = np.zeros((2, self.n_arms), np.bool_)
        listed[REMAINING] = True
        self.state = RMED1State(
            rng=rng,
            wins=np.zeros((self.n_arms, self.n_arms), np.int64),
            lost=lost,
            rivals=np.count_nonzero(lost >= 0.5, axis=1),
            likelihood=np.zeros(self.n_arms, np.int64),
            order=order,
            sweep=order.copy(),
            listed=listed,
            counts=np.array([0, 0, 1, 0, self.n_arms]),
            f=0.3 * self.n_arms**1.01 if self.f is None else self.f,
            strongest=strongest,
        )

    @property
    def best(self) -> int:
        """The arm most likely to be the winner."""
        return int(self.state.likelihood.argmax())
