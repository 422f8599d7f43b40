"""CascadeDUCB against the pseudo-code, and its discounted statistics against sums over the whole history."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from references import cascading
from references.side_by_side import PROBLEMS, assert_same_choices

import rankloop as rl
from rankloop.policies.clicks.cascade_ducb import DISCOUNTED_TIME, WEIGHT


def doubling(t: int) -> float:
    return 1 - 1 / (4 * math.sqrt(2 ** int(math.log2(t))))


@pytest.mark.parametrize(("attraction", "n_positions"), PROBLEMS[:3])
def test_it_matches_the_pseudo_code_step_by_step(attraction: list[float], n_positions: int) -> None:
    n = len(attraction)
    fast = rl.CascadeDUCB(n, n_positions, gamma=0.97, seed=5)
    assert_same_choices(fast, cascading.CascadeDUCB(n, n_positions, 5, lambda _t: 0.97), attraction, 700)


def test_doubling_matches_the_pseudo_code_step_by_step() -> None:
    fast = rl.CascadeDUCB(5, 2, seed=5)
    assert_same_choices(fast, cascading.CascadeDUCB(5, 2, 5, doubling), [0.1, 0.5, 0.3, 0.2, 0.4], 700)
    assert fast.discount == doubling(700)


@pytest.mark.parametrize("gamma", [1e-200, 0.01, 0.9, 0.999, None])
def test_statistics_are_discounted_sums_over_the_history(gamma: float | None) -> None:
    """Checked at random moments, with late feedback; the small gammas have the weights renormalised often."""
    draw = random.Random(1)
    policy = rl.CascadeDUCB(5, 3, gamma=gamma, seed=1)
    slow = cascading.CascadeDUCB(5, 3, 1, doubling if gamma is None else lambda _t: gamma)
    waiting = []
    for _ in range(2500):
        waiting.append(policy.rank())
        if len(waiting) < 10:
            continue
        ranking = waiting.pop(draw.randrange(10))
        clicks = [int(draw.random() < 0.2) for _ in range(3)]
        policy.update(ranking, clicks)
        slow.update(ranking, clicks)
        if draw.random() < 0.04:
            X, N = slow.statistics()
            unit = policy.state.discount[WEIGHT]
            np.testing.assert_allclose(policy.state.seen / unit, N, rtol=1e-10, atol=1e-80)
            np.testing.assert_allclose(policy.state.clicked / unit, X, rtol=1e-10, atol=1e-80)
            for a in range(5):
                if N[a] > 1e-80:
                    assert math.isclose(policy.state.width[a] * math.sqrt(unit), N[a] ** -0.5, rel_tol=1e-10)
                    assert math.isclose(policy.state.mean[a], X[a] / N[a], rel_tol=1e-10, abs_tol=1e-80)
            time = sum(slow.gamma(slow.t) ** s for s in range(slow.t))
            assert math.isclose(policy.state.discount[DISCOUNTED_TIME], time, rel_tol=1e-10)


def test_an_item_forgotten_altogether_comes_first_again() -> None:
    policy = rl.CascadeDUCB(3, 1, gamma=0.5, seed=1)
    tag = policy.rank().policy
    for item in (0, 1, 2):
        policy.update(rl.Ranking([item], policy=tag), [1])
    for _ in range(5000):
        for item in (0, 1):
            policy.update(rl.Ranking([item], policy=tag), [1])
    assert list(policy.rank()) == [2]
    assert 2 not in policy.best
    assert all(np.isfinite(array).all() for name, array in policy.snapshot().items() if name in ("seen", "clicked"))


@pytest.mark.parametrize(
    ("arguments", "gamma"),
    [
        ({"gamma": 0.7}, 0.7),
        ({"horizon": 100_000}, 1 - 1 / (4 * math.sqrt(100_000))),
        ({"horizon": 100_000, "breakpoints": 10}, 1 - math.sqrt(10 / 100_000) / 4),
        ({"horizon": 1}, 0.75),
        ({}, 0.75),
    ],
)
def test_gamma_follows_from_what_is_known(arguments, gamma: float) -> None:
    assert math.isclose(rl.CascadeDUCB(4, 2, **arguments).discount, gamma)


def test_an_endless_horizon_still_discounts() -> None:
    policy = rl.CascadeDUCB(4, 2, horizon=2**62)
    assert 0 < policy.discount < 1
