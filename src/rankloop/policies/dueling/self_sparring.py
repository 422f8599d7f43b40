"""Self-Sparring: one Thompson sampler that plays both sides of each duel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankloop.kernels import Rates, choose, learn, no_rates, pick_sampled_best, record_outcome, step
from rankloop.kernels.arrays import Array, Items, Notes, Stream
from rankloop.policies.base import new_stream
from rankloop.policies.dueling.base import DuelingPolicy, check_n_arms


class SelfSparringState(NamedTuple):
    rng: Stream
    rates: Rates


@step(choose, SelfSparringState)
def _choose(state: SelfSparringState, items: Items, notes: Notes) -> None:
    for side in range(2):
        items[side] = pick_sampled_best(state.rng, state.rates, 0)


@step(learn, SelfSparringState)
def _learn(state: SelfSparringState, items: Items, notes: Notes, left_won: bool) -> None:
    record_outcome(state.rates, 0, items[0], left_won)
    record_outcome(state.rates, 0, items[1], not left_won)


class SelfSparring(DuelingPolicy):
    """Thompson sampling over each ranker's share of duels won, against any opponent; simple, and quick to start.

    Two rankers are drawn for a duel, each with the probability that its share is the largest. A ranker drawn twice
    duels itself, which counts as one win and one loss; this moves its share towards 1/2 and keeps its rivals in play.
    The policy is good where the rankers can be put in an order in which the better one of two is preferred. Where they
    cannot, it may for a long time prefer a ranker that wins often against the opponents it happens to meet to the one
    that beats every other.

    Parameters
    ----------
    n_arms
        Number of rankers.
    seed
        Seed of the policy's random numbers.

    Examples
    --------
    Both rankers of a duel are drawn in the same way, so that the best one ends up playing against itself:

    >>> policy = SelfSparring(n_arms=3, seed=0)
    >>> for duel in (policy.duel() for _ in range(100)):
    ...     policy.update(duel, winner=max(duel))  # the larger number always wins
    >>> list(policy.duel())
    [2, 2]

    References
    ----------
    Y. Sui, V. Zhuang, J. W. Burdick, Y. Yue. Multi-dueling Bandits with Dependent Arms. UAI 2017.
    """

    state: SelfSparringState
    examples = ({"n_arms": 5}, {"n_arms": 8})

    def __init__(self, n_arms: int, *, seed: int | None = None) -> None:
        self.n_arms = check_n_arms(n_arms)
        self.state = SelfSparringState(rng=new_stream(seed), rates=no_rates(1, self.n_arms))

    @property
    def best(self) -> int:
        """The arm shown most often, of several the one that has won the largest share of its duels."""
        return most_shown(self.state.rates.wins[0], self.state.rates.losses[0])


def most_shown(wins: Array, losses: Array) -> int:
    """The arm shown most often; among equals the one with the highest expected rate."""
    return int(np.lexsort(((wins + 1) / (wins + losses + 2), wins + losses))[-1])
