"""Who is beaten beyond doubt: the confidence bounds that DTS and RUCB share, without computing them anew.

The upper bound u_ij = w_ij / n_ij + sqrt(alpha log(t) / n_ij) lies under 1/2 until t exceeds
exp((w_ji - w_ij)^2 / (4 alpha n_ij)), a time that only a duel of the two changes. So each pair keeps that time, each
arm counts those who beat it, and is counted again when the first of their times has passed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rankloop.checks import check_positive
from rankloop.kernels import compiled, inlined
from rankloop.kernels.arrays import Floats, Ints
from rankloop.policies.dueling.base import DuelingPolicy, check_n_arms

UNSEEN = -1.0
"""What `until` says of a pair that has never duelled, which is optimistic for both."""


class Defeats(NamedTuple):
    """Arm i is beaten by j beyond doubt, u_ij < 1/2, as long as t <= until[i, j].

    `beaten_by[i]` says by how many, and `wake[i]` when the next of them stops (it may be too early, never too late);
    the last entry of `wake` is the smallest of all others.
    """

    until: Floats
    beaten_by: Ints
    wake: Floats
    observed: Ints
    alpha: float


@inlined
def time_of(defeats: Defeats) -> int:
    """The t of the bounds: outcomes learned, plus one."""
    return defeats.observed[0] + 1


@inlined
def note_duel(defeats: Defeats, wins: Ints, left: int, right: int) -> None:
    """Bring the counts up to date after a duel whose outcome `wins` already holds."""
    until, beaten_by, wake = defeats.until, defeats.beaten_by, defeats.wake
    defeats.observed[0] += 1
    t = time_of(defeats)
    if wake[len(beaten_by)] < t:
        count_again(until, beaten_by, wake, t)
    if left == right:
        return
    one, other = left, right
    for _ in range(2):
        lead = wins[other, one] - wins[one, other]
        before = until[one, other]
        now = 0.0
        if lead > 0:
            now = math.exp(0.25 * lead * lead / (defeats.alpha * (wins[one, other] + wins[other, one])))
        until[one, other] = now
        beaten_by[one] += int(now >= t) - int(before >= t)
        if now >= t:
            wake[one] = min(wake[one], now)
            wake[len(beaten_by)] = min(wake[len(beaten_by)], now)
        one, other = right, left


@compiled
def count_again(until: Floats, beaten_by: Ints, wake: Floats, t: int) -> None:
    """Count those who beat an arm, for each arm at which one of them may have stopped to."""
    n_arms = len(beaten_by)
    earliest = math.inf
    for i in range(n_arms):
        if wake[i] < t:
            n_winners = 0
            first = math.inf
            for j in range(n_arms):
                if until[i, j] >= t:
                    n_winners += 1
                    first = min(first, until[i, j])
            beaten_by[i] = n_winners
            wake[i] = first
        earliest = min(earliest, wake[i])
    wake[n_arms] = earliest


class _OptimisticPolicy(DuelingPolicy):
    """What is public of a policy that compares confidence bounds of all pairs with 1/2."""

    def __init__(self, n_arms: int, alpha: float) -> None:
        self.n_arms = check_n_arms(n_arms)
        self.alpha = check_positive("alpha", alpha)
        self._defeats = Defeats(
            until=np.full((self.n_arms, self.n_arms), UNSEEN),
            beaten_by=np.zeros(self.n_arms, np.int64),
            wake=np.full(self.n_arms + 1, np.inf),
            observed=np.zeros(1, np.int64),
            alpha=self.alpha,
        )

    @property
    def best(self) -> int:
        """The arm that leads against most others so far, then by the largest margin."""
        lead = self.state.wins - self.state.wins.T
        standings = zip(np.sign(lead).sum(axis=1).tolist(), lead.sum(axis=1).tolist(), strict=True)
        return max(enumerate(standings), key=lambda arm_and_standing: arm_and_standing[1])[0]

    @property
    def winner(self) -> int | None:
        """The arm whose lower bounds against all others exceed 1/2. Bounds widen with time, so it may change back."""
        beaten = self._defeats.until >= self._defeats.observed[0] + 1
        winners = np.flatnonzero(beaten.sum(axis=0) == self.n_arms - 1)
        return int(winners[0]) if len(winners) else None
