"""REX3 against the pseudo-code, and the claims made for it."""

from __future__ import annotations

import random

import numpy as np
import pytest
from references import rex3

import rankloop as rl


def coin(problem: rl.PreferenceMatrix, seed: int):
    draw = random.Random(seed)
    return lambda i, j: draw.random() < problem.preferences[i, j]


@pytest.mark.parametrize(
    ("n_arms", "horizon", "gamma"),
    [(2, None, None), (5, None, None), (8, 5000, None), (20, 100, None), (13, None, 0.2)],
)
def test_matches_the_pseudo_code_step_by_step(n_arms: int, horizon: int | None, gamma: float | None) -> None:
    problem = rl.PreferenceMatrix.from_utilities(np.random.default_rng(0).permutation(np.linspace(0, 3, n_arms)))
    fast = rl.REX3(n_arms, horizon=horizon, gamma=gamma, seed=9)
    slow = rex3.REX3(n_arms, horizon, gamma, seed=9)
    fast_beats, slow_beats = coin(problem, 1), coin(problem, 1)
    for _ in range(5000):
        duel = fast.duel()
        slow.t += 1
        p = slow.p()
        slow.t -= 1
        assert duel.notes == pytest.approx((p[duel.left], p[duel.right]), rel=1e-9)
        assert slow.step(slow_beats) == (duel.left, duel.right)
        fast.update(duel, duel.left if fast_beats(duel.left, duel.right) else duel.right)
    assert fast.state.log_weight == pytest.approx(slow.log_weights, abs=1e-9)
    assert fast.best == slow.log_weights.index(max(slow.log_weights))


@pytest.mark.parametrize("winner", [0, 1])
def test_weights_neither_overflow_nor_vanish(winner: int) -> None:
    """Far beyond what a float holds, the logarithms stay exact and the probabilities those of the pseudo-code."""
    policy = rl.REX3(3, gamma=0.5, seed=0)
    duel = rl.Duel(0, 1, (1 / 6, 1 / 6))
    for _ in range(4000):
        policy.update(duel, winner=winner)
        policy.update(rl.Duel(winner, 2, (1 / 6, 1 / 6)), winner=winner)
    assert policy.state.log_weight[winner] == pytest.approx(2000)
    assert np.isfinite(policy.state.tree).all()
    assert policy.best == winner
    counts = np.bincount([arm for _ in range(2000) for arm in policy.duel()], minlength=3)
    assert counts[winner] == pytest.approx(4000 * (0.5 + 0.5 / 3), rel=0.1)
    for _ in range(9000):  # and back again
        policy.update(duel, winner=1 - winner)
    assert policy.best == 1 - winner


def test_late_feedback_counts_with_the_probabilities_of_the_choice() -> None:
    policy = rl.REX3(4, gamma=0.2, seed=0)
    policy.update(rl.Duel(0, 1, (0.5, 0.1)), winner=0)
    assert policy.state.log_weight == pytest.approx([0.05 * 0.5 / (2 * 0.5), -0.05 * 0.5 / (2 * 0.1), 0, 0])
    now = rl.REX3(4, gamma=0.2, seed=0)
    now.update(rl.Duel(0, 1), winner=0)  # without notes: those of now, 1/4 each
    assert now.state.log_weight == pytest.approx([0.05, -0.05, 0, 0])
    now.update(rl.Duel(2, 2, (0.3, 0.3)), winner=2)
    assert now.state.log_weight == pytest.approx([0.05, -0.05, 0, 0])


def test_refuses_bad_arguments_and_notes() -> None:
    with pytest.raises(ValueError, match="horizon=None"):
        rl.REX3(5, horizon=100, gamma=0.1)
    for gamma in (0, 1.5, float("nan")):
        with pytest.raises(ValueError, match="gamma must lie between 0 and 1"):
            rl.REX3(5, gamma=gamma)
    with pytest.raises(ValueError, match="horizon must be a whole number"):
        rl.REX3(5, horizon=0)
    policy = rl.REX3(5, seed=0)
    for notes in ((0.5, -0.1), (0.5, 0.0), (0.5, 2.0)):
        with pytest.raises(ValueError, match="are probabilities"):
            policy.update(rl.Duel(0, 1, notes), winner=0)
    policy.update(rl.Duel(0, 1, (1e-300, 1e-300)), winner=0)
    assert np.abs(policy.state.log_weight).max() == 0.25


def test_regret_grows_with_the_root_of_the_horizon() -> None:
    """The claim of the paper, for gamma tuned to the horizon: 16 times the steps, 4 times the regret."""
    problem = rl.PreferenceMatrix.from_utilities(np.linspace(0, 1, 10), link="linear")
    regret = []
    for horizon in (30_000, 480_000):
        policy = rl.REX3(10, horizon=horizon)
        result = rl.simulate(policy, problem, horizon=horizon, runs=40, seed=3, checkpoints=[horizon], progress=False)
        regret.append(result.mean()[-1])
    # An exponent of 1/2, give or take 0.1; constant regret a step would make it 1.
    assert 0.4 < np.log(regret[1] / regret[0]) / np.log(16) < 0.6
