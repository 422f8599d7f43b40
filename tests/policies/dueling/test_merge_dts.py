"""MergeDTS against the pseudo-code."""

from __future__ import annotations

import numpy as np
import pytest
from references import merging
from references.merging import coin
from scipy import stats

import rankloop as rl


@pytest.mark.parametrize("warm_up", [0, 300, 3000])
def test_chooses_with_the_pseudo_codes_probabilities(warm_up: int) -> None:
    """At fixed counts, 12,000 choices against 60,000 of the plain form: chi-square, false alarms once in 10,000."""
    n_arms = 8
    problem = rl.PreferenceMatrix.like_features(n_arms, seed=3)
    slow = merging.MergeDTS(n_arms, 20.0, 8, 4e6, seed=1)  # bounds so wide that all arms stay
    beats = coin(problem, 2)
    for _ in range(warm_up):
        slow.step(beats)
    batch = slow.B[0]
    assert len(slow.B) == 1
    assert len(batch) == n_arms
    fast = rl.MergeDTS(n_arms, alpha=20.0, seed=5)
    for i in range(n_arms):
        for j in range(n_arms):
            for _ in range(slow.w[i][j]):
                fast.update(rl.Duel(i, j), winner=i)
    fast.duel()
    assert sorted(fast.batches[0]) == sorted(batch)
    table = np.zeros((2, n_arms * n_arms))
    np.add.at(table[0], np.ravel_multi_index(slow.choices(60_000, seed=1), (n_arms, n_arms)), 1)
    for _ in range(12_000):
        duel = fast.duel()
        table[1, duel.left * n_arms + duel.right] += 1
    table = table[:, table.sum(axis=0) >= 30]
    assert stats.chi2_contingency(table).pvalue > 1e-4


def test_has_the_pseudo_codes_regret() -> None:
    """40 runs of each form; the means differ by less than four standard errors (false alarms: 1 in 15,000)."""
    n_arms, horizon = 12, 3000
    problem = rl.PreferenceMatrix.like_features(n_arms, seed=8)
    fast = rl.simulate(
        rl.MergeDTS(n_arms, alpha=0.3, batch_size=4, c=100), problem, horizon=horizon, runs=200, checkpoints=[horizon]
    )
    slow = []
    for seed in range(40):
        reference = merging.MergeDTS(n_arms, 0.3, 4, 100, seed=seed)
        beats = coin(problem, seed)
        slow.append(sum(problem.regret(*reference.step(beats)) for _ in range(horizon)))
    error = np.hypot(np.std(slow, ddof=1) / np.sqrt(len(slow)), fast.standard_error()[-1])
    assert abs(np.mean(slow) - fast.mean()[-1]) < 4 * error


def test_theory_is_one_keyword_away() -> None:
    policy = rl.MergeDTS(136, alpha=1.01, batch_size=4, c=None, epsilon=0.01)
    assert len(policy.batches) == 34
    with pytest.raises(ValueError, match="alpha above 1/2"):
        rl.MergeDTS(136, c=None, epsilon=0.01)
    with pytest.raises(ValueError, match="c=None"):
        rl.MergeDTS(136, epsilon=0.01)
