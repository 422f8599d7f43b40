"""The feature bandits against plain NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_items import X, Z, catalogue, play
from references.features import BlockForm, DiverseForm, RidgeForm, entropy

import rankloop as rl

DENSE = np.hstack([X, Z])
NOTHING = np.zeros((40, 0))
UNEQUAL = np.linspace(0.4, 3.0, 40)[:, None] * Z
"""Features of different lengths, so that no two items look alike at first."""

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
            scores = [plain.score(a, ranking[:k]) for a in range(40) if a not in ranking[:k]]
            assert plain.score(item, ranking[:k]) == pytest.approx(max(scores), abs=1e-9)
        plain.update(ranking, clicks)

    play(policy, 60, each=check)
    weights = np.linalg.solve(plain.precision, plain.evidence)
    np.testing.assert_allclose(np.concatenate([policy.theta, policy.beta]), weights, atol=1e-10)
    np.testing.assert_allclose(policy.covariance, np.linalg.inv(plain.precision), atol=1e-10)
    errors = np.sqrt(np.diag(np.linalg.inv(plain.precision)))
    np.testing.assert_allclose(np.concatenate([policy.theta_error, policy.beta_error]), errors, atol=1e-10)


@pytest.mark.parametrize(
    ("gamma", "ridge", "diversity", "noise"), [(1.0, 1.0, 0.5, 1.0), (0.2, 3.0, 4.0, 0.1), (0.0, 1.0, 0.1, 3.0)]
)
def test_diverse_lists_are_those_of_plain_greedy(gamma, ridge, diversity, noise) -> None:
    """Lists of 8 items with 4 features, so that the last ones are hardly new."""
    policy = rl.C2UCB(UNEQUAL, 8, gamma=gamma, ridge=ridge, diversity=diversity, noise=noise, seed=2)
    plain = DiverseForm(UNEQUAL, gamma, ridge, diversity, noise)
    lists = set()

    def check(ranking, clicks) -> None:
        assert list(ranking) == plain.list(8)
        lists.add(tuple(ranking))
        plain.update(ranking, clicks)

    play(policy, 40, each=check)
    assert len(lists) > 5
    np.testing.assert_allclose(policy.beta, np.linalg.solve(plain.precision, plain.evidence), atol=1e-10)
    np.testing.assert_allclose(policy.covariance, np.linalg.inv(plain.precision), atol=1e-10)
    plain.gamma = 0.0
    assert policy.best == plain.list(8)


def test_bounds_never_hide_an_item_of_a_diverse_list() -> None:
    """Scores of 600 items after many updates, by V as a whole matrix."""
    z, _ = catalogue(600, 6, 9, seed=8)
    policy = rl.C2UCB(z, 10, diversity=0.7, noise=0.5, seed=1)
    for stop in (3, 40, 400, 1500):
        play(policy, stop, seed=stop)
        inverse = policy.covariance
        scores = z @ policy.beta + np.sqrt(((z @ inverse) * z).sum(axis=1))
        free, chosen = np.ones(600, bool), []
        for item in policy.rank():
            v = np.linalg.inv(np.eye(6) + z[chosen].T @ z[chosen] / 0.25)
            worth = scores + 0.7 * 0.5 * np.log1p(((z @ v) * z).sum(axis=1) / 0.25)
            assert worth[item] >= worth[free].max() - 1e-9
            free[item] = False
            chosen.append(item)


def test_no_weight_of_diversity_is_the_modular_reward() -> None:
    """The weight 0 is another code path than one that is next to nothing."""
    policies = [rl.C2UCB(UNEQUAL, 5, seed=4), *(rl.C2UCB(UNEQUAL, 5, diversity=w, seed=4) for w in (0, 1e-13))]
    for t in range(60):
        modular, *others = [list(policy.rank()) for policy in policies]
        assert others == [modular] * 2
        for policy in policies:
            policy.update(rl.Ranking(modular, policy=policy.identity), [int((t + item) % 3 == 0) for item in modular])


def test_more_weight_gives_more_diverse_lists() -> None:
    """With two positions and features of length 1, the first item does not depend on the weight.

    The second maximises score plus weight times entropy, and so the entropy grows with the weight, and the score falls.
    """
    for seed in range(5):
        z, _ = catalogue(60, 5, 2, seed=seed)
        taught = rl.C2UCB(z, 2, seed=seed)
        play(taught, 30, seed=seed)
        lists = []
        for weight in (0, 0.05, 0.2, 0.5, 1, 3, 10, 1000):
            policy = rl.C2UCB(z, 2, diversity=weight, seed=seed)
            for own, learned in zip(policy.state.model, taught.state.model, strict=True):
                own[...] = learned
            lists.append(policy.best)
        assert len({first for first, _ in lists}) == 1
        entropies, scores = [entropy(z, each, 1.0) for each in lists], [z[second] @ taught.beta for _, second in lists]
        assert (np.diff(entropies) >= -1e-12).all()
        assert (np.diff(scores) <= 1e-12).all()
        assert entropies[-1] > entropies[0] + 0.01


def test_a_diverse_list_has_its_share_of_the_largest_reward() -> None:
    """Every list of 3 of 12 items, where all scores are above 0; and more often than not the greedy one is the best."""
    best = 0
    for seed in range(10):
        z = np.abs(catalogue(12, 4, 2, seed=seed)[0])
        policy = rl.C2UCB(z, 3, diversity=2.0, seed=seed)
        play(policy, 5, seed=seed)
        scores = z @ policy.beta + np.sqrt(((z @ policy.covariance) * z).sum(axis=1))
        assert (scores > 0).all()

        def reward(items, z=z, scores=scores) -> float:
            return float(scores[list(items)].sum() + 2.0 * entropy(z, items, 1.0))

        largest = max(reward(items) for items in itertools.combinations(range(12), 3))
        assert reward(policy.rank()) >= (1 - 1 / np.e) * largest
        best += reward(policy.rank()) > largest - 1e-9
    assert best >= 5


def test_diverse_lists_learn_from_every_item_shown() -> None:
    policy = rl.C2UCB(Z, 5, diversity=1.0, seed=1)
    ranking = policy.rank()
    policy.update(ranking, [1, 0, 1, 0, 1])
    shown = Z[list(ranking)]
    np.testing.assert_allclose(policy.state.model.precision, np.eye(4) + shown.T @ shown)
    np.testing.assert_allclose(policy.state.model.evidence, shown[[0, 2, 4]].sum(axis=0))


def test_the_block_form_of_the_thesis_is_ridge_regression() -> None:
    block, ridge = BlockForm(Z, X, 1.0), RidgeForm(Z, X, 1.0)
    policy = rl.CascadeHybrid(Z, X, 5, seed=3)
    draw = np.random.default_rng(4)

    def check(ranking, clicks) -> None:
        above = draw.choice(40, 3, replace=False).tolist()
        for item in set(range(40)) - set(above):
            assert block.score(item, above) == pytest.approx(ridge.score(item, above), abs=1e-8)
        block.update(ranking, clicks)
        ridge.update(ranking, clicks)

    play(policy, 80, each=check)
    theta = np.linalg.solve(block.H, block.u)
    np.testing.assert_allclose(policy.theta, theta, atol=1e-8)
    np.testing.assert_allclose(policy.beta, np.linalg.solve(block.M, block.y - block.B.T @ theta), atol=1e-8)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_what_explanations_say_of_novelty_is_monotone_and_submodular(data) -> None:
    topics = np.array(data.draw(st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=5, max_size=5)))
    few = data.draw(st.lists(st.integers(0, 3), max_size=2, unique=True))
    more = few + [a for a in data.draw(st.lists(st.integers(0, 3), max_size=2, unique=True)) if a not in few]
    policy = rl.CascadeHybrid(np.zeros((5, 1)), topics, 1)
    policy.state.model.weights[:3] = data.draw(st.lists(st.floats(0, 1), min_size=3, max_size=3))
    gains = [policy.explain([*above, 4]).items[-1].novelty for above in (few, more)]
    assert gains[0] >= gains[1] - 1e-12
    assert gains[1] >= -1e-12
    covered = 1 - np.prod(1 - topics[[*more, 4]], axis=0) - (1 - np.prod(1 - topics[more], axis=0))
    assert gains[1] == pytest.approx(covered @ policy.theta, abs=1e-12)


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


def test_sampled_weights_have_the_posterior_of_the_ridge() -> None:
    """The first item's choice among orthogonal items is a draw from independent normals.

    Chi-square over 4 items, 4,000 lists, at the 0.1 % level.
    """
    policy = rl.CascadeLinTS(np.eye(4), 1, gamma=0.7, seed=5)
    for _ in range(30):
        policy.update(policy.rank(), [1])
    mean, error = policy.beta, policy.beta_error
    draw = np.random.default_rng(0)
    expected = np.bincount((mean + 0.7 * error * draw.normal(size=(400_000, 4))).argmax(axis=1), minlength=4) / 400_000
    seen = np.bincount([policy.rank()[0] for _ in range(4000)], minlength=4)
    assert ((seen - 4000 * expected) ** 2 / (4000 * expected)).sum() < 16.27


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


def test_ten_million_updates_leave_the_inverse_an_inverse() -> None:
    z, x = catalogue(30, 3, 4, seed=2)
    policy = rl.CascadeHybrid(z, x, 10, seed=1)
    users = rl.CascadeModel(np.linspace(0.0, 0.001, 30))  # hardly a click: ten observations a list
    from rankloop.kernels import stream
    from rankloop.simulation.loop import run_lists

    items, clicks = np.zeros(10, np.int64), np.zeros(10, np.uint8)
    run_lists(
        policy.state,
        users.state,
        stream(1),
        10**6,
        10,
        np.inf,
        items,
        np.zeros(0),
        clicks,
        np.zeros(4),
        np.zeros(users.n_items),
    )
    model = policy.state.model
    assert model.precision.trace() > 5e6
    product = model.precision @ model.covariance
    np.testing.assert_allclose(product, np.eye(7), atol=1e-7)
    np.testing.assert_allclose(model.weights, np.linalg.solve(model.precision, model.evidence), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("scale", [1e5, 1e6])
@pytest.mark.parametrize("lists", [3, 100, 1500])
def test_long_features_leave_the_inverse_an_inverse(scale, lists) -> None:
    """Where an observation shrinks the inverse a billion times, its rounding error would stay for good."""
    z, _ = catalogue(60, 5, 2, seed=3)
    policy = rl.CascadeLinUCB(scale * z, 4, seed=1)
    play(policy, lists)
    expected = np.linalg.inv(policy.state.model.precision)
    np.testing.assert_allclose(policy.covariance, expected, atol=1e-7 * np.abs(expected).max())


def test_extremes_give_lists_all_the_same() -> None:
    for policy in (
        rl.CascadeLinUCB(np.full((4, 2), 1e6), 3, seed=1),
        rl.CascadeLinTS(1e6 * Z, 3, seed=1),
        rl.CascadeHybrid(Z, X, 3, gamma=1e9, ridge=1e-9, seed=1),
        rl.CascadeHybrid(Z, 0 * X, 3, ridge=1e9, seed=1),
    ):
        play(policy, 400)
        assert np.isfinite(policy.beta).all()


def test_ties_are_broken_at_random() -> None:
    """Chi-square of the first of 8 equal items over 1,600 policies, at the 0.1 % level."""
    seen = np.bincount([rl.CascadeLinUCB(np.eye(8), 2, seed=s).rank()[0] for s in range(1600)], minlength=8)
    assert ((seen - 200) ** 2 / 200).sum() < 24.32
