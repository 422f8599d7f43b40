"""All feature bandits against plain NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from made_up_items import X, Z, catalogue, play
from references.features import RidgeForm

import rankloop as rl

DENSE = np.hstack([X, Z])
NOTHING = np.zeros((40, 0))

CASES = {
    "hybrid": (lambda **k: rl.CascadeHybrid(Z, X, 5, **k), Z, X, True),
    "linear": (lambda **k: rl.CascadeLinUCB(Z, 5, **k), Z, NOTHING, True),
    "linear full": (lambda **k: rl.CascadeLinUCB(DENSE, 5, **k), DENSE, NOTHING, True),
    "linear full twin": (lambda **k: rl.CascadeLinUCBFull(Z, X, 5, **k), DENSE, NOTHING, True),
    "topics full twin": (lambda **k: rl.CascadeLSBFull(Z, X, 5, **k), NOTHING, DENSE, True),
    "topics full literal": (lambda **k: rl.CascadeLSBFull(Z, X, 5, negative="literal", **k), NOTHING, DENSE, True),
    "topics": (lambda **k: rl.CascadeLSB(X, 5, **k), NOTHING, X, True),
    "topics full": (lambda **k: rl.CascadeLSB(DENSE, 5, **k), NOTHING, DENSE, True),
    "lsb greedy": (lambda **k: rl.LSBGreedy(X, 5, **k), NOTHING, X, False),
    "c2ucb": (lambda **k: rl.C2UCB(Z, 5, **k), Z, NOTHING, False),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("gamma", "ridge"), [(1.0, 1.0), (0.2, 3.0), (0.0, 1.0)])
def test_every_position_goes_to_the_item_with_the_highest_score(name, gamma, ridge) -> None:
    make, relevance, topics, cascade = CASES[name]
    policy = make(gamma=gamma, ridge=ridge, seed=2)
    plain = RidgeForm(relevance, topics, gamma, ridge, cascade, literal="literal" in name)

    def check(ranking, clicks) -> None:
        for k, item in enumerate(ranking):
            best = plain.best_score(range(40), ranking[:k])
            assert plain.score(item, ranking[:k]) == pytest.approx(best, abs=1e-9)
        plain.update(ranking, clicks)

    play(policy, 60, each=check)
    weights = np.linalg.solve(plain.precision, plain.evidence)
    np.testing.assert_allclose(np.concatenate([policy.theta, policy.beta]), weights, atol=1e-10)
    np.testing.assert_allclose(policy.covariance, np.linalg.inv(plain.precision), atol=1e-10)
    errors = np.sqrt(np.diag(np.linalg.inv(plain.precision)))
    np.testing.assert_allclose(np.concatenate([policy.theta_error, policy.beta_error]), errors, atol=1e-10)


@pytest.mark.parametrize(
    "name",
    [
        "linear",
        "linear full",
        "topics",
        "topics full",
        "hybrid",
        "long lists",
        "correlated",
        "many topics",
        "covered",
        "literal",
        "few literal",
    ],
)
def test_bounds_never_hide_an_item_in_a_larger_catalogue(name) -> None:
    """Scores of 600 items after many updates: what was skipped by its bound must not have been better."""
    z, x = catalogue(600, 6, 9, seed=8)
    both, none = np.hstack([x, z]), np.zeros((600, 0))
    crowded = np.random.default_rng(9).random((600, 9)) ** 3
    sparse = np.where(np.abs(z) == np.abs(z).max(axis=1, keepdims=True), z, 0.0)
    policy, relevance, topics = {
        "linear": (rl.CascadeLinUCB(z, 8, seed=1), z, none),
        "linear full": (rl.CascadeLinUCB(both, 8, seed=1), both, none),
        "topics": (rl.CascadeLSB(x, 8, seed=1), none, x),
        "topics full": (rl.CascadeLSB(both, 8, seed=1), none, both),
        "hybrid": (rl.CascadeHybrid(z, x, 8, seed=1), z, x),
        "long lists": (rl.CascadeHybrid(z, x, 90, seed=1), z, x),
        "correlated": (rl.CascadeHybrid(x[:, :4] + 0.1 * z[:, :4], x, 8, seed=1), x[:, :4] + 0.1 * z[:, :4], x),
        "many topics": (rl.CascadeHybrid(z, crowded, 8, seed=1), z, crowded),
        "covered": (rl.CascadeHybrid(0 * z, np.sign(x), 40, seed=1), 0 * z, np.sign(x)),
        "literal": (rl.CascadeLSBFull(z, x, 8, negative="literal", seed=1), none, both),
        "few literal": (rl.CascadeLSBFull(sparse, x, 8, negative="literal", seed=1), none, np.hstack([x, sparse])),
    }[name]
    for stop in (3, 40, 400, 1500):
        play(policy, stop, seed=stop)
        inverse, weights = policy.covariance, np.concatenate([policy.theta, policy.beta])
        remaining = np.ones(topics.shape[1])
        free = np.ones(600, bool)
        for item in policy.rank():
            phi = np.hstack([topics * remaining, relevance])
            scores = phi @ weights + np.sqrt(((phi @ inverse) * phi).sum(axis=1))
            assert scores[item] >= scores[free].max() - 1e-9
            free[item] = False
            remaining *= 1 - (topics[item] if "literal" in name else np.maximum(topics[item], 0))


def test_extremes_give_lists_all_the_same() -> None:
    for policy in (
        rl.CascadeLinUCB(np.full((4, 2), 1e6), 3, seed=1),
        rl.CascadeLinTS(1e6 * Z, 3, seed=1),
        rl.CascadeHybrid(Z, X, 3, gamma=1e9, ridge=1e-9, seed=1),
        rl.CascadeHybrid(Z, 0 * X, 3, ridge=1e9, seed=1),
    ):
        play(policy, 400)
        assert np.isfinite(policy.beta).all()
