"""Sparring: two ordinary bandits, one on each side, that play against each other."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rankloop.checks import check_choice
from rankloop.kernels import (
    Rates,
    choose,
    inlined,
    learn,
    no_rates,
    pick_largest,
    pick_sampled_best,
    record_outcome,
    step,
    uniform,
)
from rankloop.kernels.arrays import Floats, Ints, Items, Notes, Stream
from rankloop.policies.base import new_stream
from rankloop.policies.dueling.base import DuelingPolicy, check_n_arms
from rankloop.policies.dueling.self_sparring import most_shown


class UCB1State(NamedTuple):
    """Rows are the two bandits, columns the arms."""

    rng: Stream
    wins: Ints
    plays: Ints
    mean: Floats  # infinite before the first play
    width: Floats  # 1 / sqrt(plays)
    bound: Floats
    observed: Ints


@step(choose, UCB1State)
def _choose_by_bound(state: UCB1State, items: Items, notes: Notes) -> None:
    n_arms = len(state.bound)
    level = math.sqrt(2.0 * math.log(state.observed[0] + 1.0))
    for side in range(2):
        for i in range(n_arms):
            state.bound[i] = state.mean[side, i] + level * state.width[side, i]
        items[side] = pick_largest(state.rng, state.bound, n_arms)


@step(learn, UCB1State)
def _learn_bound(state: UCB1State, items: Items, notes: Notes, left_won: bool) -> None:
    state.observed[0] += 1
    left_reward = int(_left_won(state.rng, items, left_won))
    for side in range(2):
        arm = items[side]
        state.wins[side, arm] += left_reward if side == 0 else 1 - left_reward
        state.plays[side, arm] += 1
        state.mean[side, arm] = state.wins[side, arm] / state.plays[side, arm]
        state.width[side, arm] = 1.0 / math.sqrt(state.plays[side, arm])


class ThompsonState(NamedTuple):
    """Rows of the rates are the two bandits."""

    rng: Stream
    rates: Rates


@step(choose, ThompsonState)
def _choose_by_sample(state: ThompsonState, items: Items, notes: Notes) -> None:
    for side in range(2):
        items[side] = pick_sampled_best(state.rng, state.rates, side)


@step(learn, ThompsonState)
def _learn_rate(state: ThompsonState, items: Items, notes: Notes, left_won: bool) -> None:
    left_rewarded = _left_won(state.rng, items, left_won)
    record_outcome(state.rates, 0, items[0], left_rewarded)
    record_outcome(state.rates, 1, items[1], not left_rewarded)


@inlined
def _left_won(rng: Stream, items: Items, left_won: bool) -> bool:
    """Whether the left side won. Where both sides show the same arm, its name does not tell: toss a coin."""
    return uniform(rng) < 0.5 if items[0] == items[1] else left_won


class Sparring(DuelingPolicy):
    """Two ordinary bandits, each of which chooses one side of the duel and is rewarded when its side wins.

    This is the simplest way to turn a bandit into a dueling bandit, and a baseline: each side's rewards depend on what
    the other side does, so that the bandits' guarantees do not carry over.

    Parameters
    ----------
    n_arms
        Number of rankers.
    algorithm
        Bandit of each side: "ucb1" (upper confidence bounds) or "thompson" (Thompson sampling).
    seed
        Seed of the policy's random numbers.

    Examples
    --------
    >>> policy = Sparring(n_arms=3, algorithm="thompson", seed=0)
    >>> for duel in (policy.duel() for _ in range(100)):
    ...     policy.update(duel, winner=max(duel))  # the larger number always wins
    >>> policy.best
    2

    References
    ----------
    N. Ailon, Z. Karnin, T. Joachims. Reducing Dueling Bandits to Cardinal Bandits. ICML 2014.
    """

    state: UCB1State | ThompsonState
    examples = ({"n_arms": 5}, {"n_arms": 8, "algorithm": "thompson"})

    def __init__(self, n_arms: int, *, algorithm: str = "ucb1", seed: int | None = None) -> None:
        self.n_arms = check_n_arms(n_arms)
        self.algorithm = check_choice("algorithm", algorithm, ("ucb1", "thompson"))
        shape = (2, self.n_arms)
        if algorithm == "thompson":
            self.state = ThompsonState(rng=new_stream(seed), rates=no_rates(*shape))
        else:
            self.state = UCB1State(
                rng=new_stream(seed),
                wins=np.zeros(shape, np.int64),
                plays=np.zeros(shape, np.int64),
                mean=np.full(shape, np.inf),
                width=np.zeros(shape),
                bound=np.zeros(self.n_arms),
                observed=np.zeros(1, np.int64),
            )

    @property
    def best(self) -> int:
        """The arm shown most often, of several the one that has won the largest share of its duels."""
        if isinstance(self.state, ThompsonState):
            wins, losses = self.state.rates.wins.sum(axis=0), self.state.rates.losses.sum(axis=0)
        else:
            wins = self.state.wins.sum(axis=0)
            losses = self.state.plays.sum(axis=0) - wins
        return most_shown(wins, losses)
