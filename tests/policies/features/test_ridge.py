"""The regression under all feature policies: its inverse stays one, and draws follow its posterior."""

from __future__ import annotations

import numpy as np
import pytest
from made_up_items import X, Z, catalogue, play

import rankloop as rl


def test_sampled_weights_are_correlated_as_the_posterior_says() -> None:
    """Covariances of drawn weights, from 20,000 draws; each entry within 5 standard errors (error rate below 1e-4)."""
    from rankloop.kernels import entry, stream
    from rankloop.policies.features.ridge import draw_weights

    @entry
    def draws(rng, model, spread, out):
        for row in range(len(out)):
            draw_weights(rng, model, spread, out[row])

    policy = rl.CascadeHybrid(Z, X, 5, seed=1)
    play(policy, 50)
    out = np.zeros((20_000, 10))
    draws(stream(3), policy.state.model, 0.5, out)
    expected = 0.25 * policy.covariance
    scale = np.sqrt(np.diag(expected))
    np.testing.assert_array_less(np.abs(np.cov(out.T) - expected) / np.outer(scale, scale), 5 * np.sqrt(2 / 20_000))
    center = np.concatenate([policy.theta, policy.beta])
    np.testing.assert_array_less(np.abs(out.mean(axis=0) - center) / scale, 5 / np.sqrt(20_000))


def test_three_million_updates_leave_the_inverse_an_inverse() -> None:
    """Within 1e-12; if it were never computed anew, its error would have grown to 7e-12 after the first million."""
    z, x = catalogue(30, 3, 4, seed=2)
    policy = rl.CascadeHybrid(z, x, 10, seed=1)
    faint = np.full(3, 0.001), np.full(4, 0.001)  # hardly a click: ten observations a list
    users = rl.HybridCascade(np.abs(z), x, *faint, 0.5, warn=False)
    from rankloop.kernels import stream
    from rankloop.simulation.loop import run_lists

    items, clicks = np.zeros(10, np.int64), np.zeros(10, np.uint8)
    run_lists(
        policy.state,
        users.state,
        stream(1),
        3 * 10**5,
        10,
        np.inf,
        items,
        np.zeros(0),
        clicks,
        np.zeros(4),
        np.zeros(users.n_items),
    )
    model = policy.state.model
    assert model.precision.trace() > 1.5e6
    product = model.precision @ model.covariance
    np.testing.assert_allclose(product, np.eye(7), atol=1e-12)
    np.testing.assert_allclose(model.weights, np.linalg.solve(model.precision, model.evidence), rtol=1e-10)


@pytest.mark.parametrize("scale", [1e5, 1e6])
@pytest.mark.parametrize("lists", [3, 100, 1500])
def test_long_features_leave_the_inverse_an_inverse(scale, lists) -> None:
    """Where an observation shrinks the inverse a billion times, its rounding error would stay for good."""
    z, _ = catalogue(60, 5, 2, seed=3)
    policy = rl.CascadeLinUCB(scale * z, 4, seed=1)
    play(policy, lists)
    expected = np.linalg.inv(policy.state.model.precision)
    np.testing.assert_allclose(policy.covariance, expected, atol=1e-7 * np.abs(expected).max())
