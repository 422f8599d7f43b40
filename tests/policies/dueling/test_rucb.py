"""RUCB against the pseudo-code, and the claims made for it."""

from __future__ import annotations

import random

import numpy as np
import pytest
from references import rucb

import rankloop as rl


def coin(problem: rl.PreferenceMatrix, seed: int):
    draw = random.Random(seed)
    return lambda i, j: draw.random() < problem.preferences[i, j]


@pytest.mark.parametrize(("n_arms", "alpha", "n_steps"), [(2, 0.51, 3000), (5, 0.05, 8000), (12, 0.2, 6000)])
def test_matches_the_pseudo_code_step_by_step(n_arms: int, alpha: float, n_steps: int) -> None:
    problem = rl.PreferenceMatrix.from_utilities(np.random.default_rng(n_arms).permutation(np.linspace(0, 2, n_arms)))
    fast = rl.RUCB(n_arms, alpha=alpha, seed=9)
    slow = rucb.RUCB(n_arms, alpha, seed=9)
    fast_beats, slow_beats = coin(problem, 1), coin(problem, 1)
    itself = 0
    for _ in range(n_steps):
        duel = fast.duel()
        assert slow.step(slow_beats) == (duel.left, duel.right)
        fast.update(duel, duel.left if fast_beats(duel.left, duel.right) else duel.right)
        itself += duel.left == duel.right
    assert itself > 0, "duels of the winner with itself must occur"
    assert {1, 2} <= slow.sizes_of_C


def test_matches_the_pseudo_code_in_a_circle() -> None:
    """Without a Condorcet winner all arms end up beaten beyond doubt, and the first arm is a random one."""
    circle = rl.PreferenceMatrix([[0.5, 0.9, 0.1], [0.1, 0.5, 0.9], [0.9, 0.1, 0.5]])
    fast, slow = rl.RUCB(3, alpha=0.3, seed=4), rucb.RUCB(3, 0.3, seed=4)
    fast_beats, slow_beats = coin(circle, 1), coin(circle, 1)
    for _ in range(3000):
        duel = fast.duel()
        assert slow.step(slow_beats) == (duel.left, duel.right)
        fast.update(duel, duel.left if fast_beats(duel.left, duel.right) else duel.right)
    assert {0, 1} <= slow.sizes_of_C


def test_regret_grows_ever_more_slowly() -> None:
    """Its authors' claim, logarithmic regret: the second half of a run costs a small part of the first."""
    problem = rl.PreferenceMatrix.from_utilities([0.0, 0.5, 1.0, 1.5, 2.5])
    result = rl.simulate(rl.RUCB(5), problem, horizon=40_000, runs=20, checkpoints=[20_000, 40_000], progress=False)
    assert result.mean()[1] < 1.15 * result.mean()[0]
    assert (result.best == 4).all()


def test_winner_is_named_once_certain() -> None:
    policy = rl.RUCB(4, seed=0)
    for rival in (0, 1, 3):
        assert policy.winner is None
        for _ in range(100):
            policy.update(rl.Duel(rival, 2), winner=2)
    assert policy.best == policy.winner == 2
    assert policy.duel() == rl.Duel(2, 2)
