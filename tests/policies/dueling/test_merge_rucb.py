"""MergeRUCB against the pseudo-code."""

from __future__ import annotations

import numpy as np
import pytest
from references import merging
from references.merging import coin

import rankloop as rl


@pytest.mark.parametrize(("n_arms", "batch_size"), [(7, 4), (30, 4), (50, 8), (50, 16)])
def test_matches_the_pseudo_code_step_by_step(n_arms: int, batch_size: int) -> None:
    problem = rl.PreferenceMatrix.from_utilities(np.random.default_rng(n_arms).permutation(np.linspace(0, 4, n_arms)))
    alpha, c = 0.2, 100.0
    fast = rl.MergeRUCB(n_arms, alpha=alpha, batch_size=batch_size, c=c, seed=9)
    slow = merging.MergeRUCB(n_arms, alpha, batch_size, c, seed=9)
    fast_beats, slow_beats = coin(problem, 1), coin(problem, 1)
    stages = set()
    for _ in range(20_000):
        duel = fast.duel()
        assert slow.step(slow_beats) == (duel.left, duel.right)
        if duel.left != duel.right:
            fast.update(duel, duel.left if fast_beats(duel.left, duel.right) else duel.right)
        stages.add(slow.s)
    assert len(stages) > 2, "the run must go through several stages to test them"
