"""CascadeHybridTS against plain draws from the posterior."""

from __future__ import annotations

import numpy as np
from made_up_items import X, Z, play
from references.features import topic_gain

import rankloop as rl


def test_a_list_is_the_greedy_one_for_one_draw_of_all_weights() -> None:
    """The 12 lists of two of 4 items that share topics: chi-square over 4,000 lists, at the 0.1 % level.

    Were weights drawn anew for each position, or each apart from the others, it would be 229 or 719, not below 31.26.
    """
    z, x = Z[:4], np.array([[0.9, 0.1], [0.8, 0.0], [0.0, 0.7], [0.2, 0.6]])
    policy = rl.CascadeHybridTS(z, x, 2, gamma=0.7, seed=5)
    play(policy, 5)
    mean = np.concatenate([policy.theta, policy.beta])
    weights = np.random.default_rng(0).multivariate_normal(mean, 0.7**2 * policy.covariance, size=400_000)

    def scores(above: list[int]) -> np.ndarray:
        return np.array([np.concatenate([topic_gain(x, item, above), z[item]]) for item in range(4)]) @ weights.T

    expected = np.zeros((4, 4))
    firsts = scores([]).argmax(axis=0)
    for first in range(4):
        below = scores([first])
        below[first] = -np.inf
        expected[first] = np.bincount(below.argmax(axis=0)[firsts == first], minlength=4) / 100
    seen = np.zeros((4, 4))
    for _ in range(4000):
        seen[tuple(policy.rank())] += 1
    lists = ~np.eye(4, dtype=bool)
    assert expected[lists].min() > 5
    assert ((seen - expected)[lists] ** 2 / expected[lists]).sum() < 31.26


def test_without_spread_it_is_the_hybrid_without_exploration() -> None:
    sampled, greedy = rl.CascadeHybridTS(Z, X, 5, gamma=0, seed=1), rl.CascadeHybrid(Z, X, 5, gamma=0, seed=1)
    play(sampled, 1)  # before the first clicks all items are alike, and ties are broken at random
    play(greedy, 1)
    for own, learned in zip(sampled.state.model, greedy.state.model, strict=True):
        own[...] = learned

    def check(ranking, clicks) -> None:
        assert list(sampled.rank()) == list(ranking)
        sampled.update(rl.Ranking(ranking.items, policy=sampled.identity), clicks)

    play(greedy, 40, seed=1, each=check)
    np.testing.assert_array_equal(sampled.theta, greedy.theta)
    np.testing.assert_array_equal(sampled.beta, greedy.beta)
