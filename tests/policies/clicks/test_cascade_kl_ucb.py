"""CascadeKLUCB against the pseudo-code, its indices against bisection, and its logarithmic regret."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from references import cascading
from references.list_loop import Game
from references.side_by_side import PROBLEMS, assert_same_choices

import rankloop as rl
from rankloop.kernels import entry
from rankloop.policies.clicks.cascade_kl_ucb import kl_index


@pytest.mark.parametrize(("attraction", "n_positions"), PROBLEMS)
def test_it_matches_the_pseudo_code_step_by_step(attraction: list[float], n_positions: int) -> None:
    n = len(attraction)
    assert_same_choices(
        rl.CascadeKLUCB(n, n_positions, seed=5), cascading.CascadeKLUCB(n, n_positions, seed=5), attraction, 1000
    )


index = entry(kl_index)


@given(st.integers(1, 10**8), st.floats(0, 1), st.floats(1, 60))
@example(1, 0.0, 30.0)
@example(2, 0.5, 40.0)
@example(2, 0.5, -1.0)
@example(3, 0.3, 0.0)
@example(10**8, 1.0, 20.0)
@example(10**8, 1e-8, 25.0)
@settings(max_examples=300, deadline=None)
def test_an_index_equals_bisection(seen: int, share: float, level: float) -> None:
    clicked = float(round(seen * share))
    assert abs(index(clicked, float(seen), level) - cascading.kl_index(clicked, seen, level)) < 1e-9


@pytest.mark.parametrize("n_positions", [3, 10])
@pytest.mark.parametrize("scale", [0.02, 0.3, 1.0])
def test_kept_indices_equal_bisection_at_every_moment(n_positions: int, scale: float) -> None:
    """Indices are mostly read off a tangent: at 300 moments of a million steps all of them are right to 1e-9."""
    attraction = scale * np.array([1.0, 0.8, 0.7, 0.65, 0.6, 0.5, 0.3, 0.2, 0.1, 0.0])
    policy = rl.CascadeKLUCB(10, n_positions, seed=1)
    game = Game(policy, rl.DriftingCascade([attraction], 10), seed=2)
    steps = np.diff(np.unique(np.geomspace(1, 1e6, 400).astype(int)))
    assert len(steps) > 300
    worst = 0.0
    for n in steps:
        game.play(int(n))
        t = int(policy.state.learned[0]) + 1
        policy.rank()
        level = math.log(t) + 3 * math.log(math.log(t))
        for a in range(10):
            if policy.state.seen[a]:
                exact = cascading.kl_index(policy.state.clicked[a], policy.state.seen[a], level)
                worst = max(worst, abs(exact - policy.state.bounds[a]))
    assert worst < 1e-9


def test_regret_is_logarithmic_in_the_cascade_model() -> None:
    """Each decade of steps costs about the same; linear regret would cost ten times as much as the one before."""
    users = rl.DriftingCascade([[0.4, 0.35, 0.3, 0.2, 0.2, 0.15, 0.1, 0.1, 0.05, 0.05]], 10**6)
    decades = []
    for seed in range(10):
        game = Game(rl.CascadeKLUCB(10, 3, seed=seed), users, seed)
        game.play(1000)
        decades.append([game.play(n) for n in (9_000, 90_000, 900_000)])
    first, second, third = np.mean(decades, axis=0)
    assert 0.6 < second / first < 1.6
    assert 0.6 < third / second < 1.6
