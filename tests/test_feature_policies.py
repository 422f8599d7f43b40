"""The feature bandits against plain NumPy, and what a recommender needs of them."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from references.features import BlockForm, RidgeForm, topic_gain

import rankloop as rl
from rankloop.testing import assert_same_state


def catalogue(n_items: int, n_relevance: int, n_topics: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Unit relevance features, and one to three topics an item."""
    draw = np.random.default_rng(seed)
    relevance = draw.normal(size=(n_items, n_relevance))
    relevance /= np.linalg.norm(relevance, axis=1, keepdims=True)
    topics = np.zeros((n_items, n_topics))
    for row in topics:
        row[draw.choice(n_topics, draw.integers(1, min(4, n_topics + 1)), replace=False)] = draw.random() * 0.9
    return relevance, topics


Z, X = catalogue(40, 4, 6, seed=1)
DENSE = np.hstack([X, Z])
NOTHING = np.zeros((40, 0))

CASES = {
    "hybrid": (lambda **k: rl.CascadeHybrid(Z, X, 5, **k), Z, X, True),
    "linear": (lambda **k: rl.CascadeLinUCB(Z, 5, **k), Z, NOTHING, True),
    "linear full": (lambda **k: rl.CascadeLinUCB(DENSE, 5, **k), DENSE, NOTHING, True),
    "linear full twin": (lambda **k: rl.CascadeLinUCBFull(Z, X, 5, **k), DENSE, NOTHING, True),
    "topics full twin": (lambda **k: rl.CascadeLSBFull(Z, X, 5, **k), NOTHING, DENSE, True),
    "topics": (lambda **k: rl.CascadeLSB(X, 5, **k), NOTHING, X, True),
    "topics full": (lambda **k: rl.CascadeLSB(DENSE, 5, **k), NOTHING, DENSE, True),
    "lsb greedy": (lambda **k: rl.LSBGreedy(X, 5, **k), NOTHING, X, False),
    "c2ucb": (lambda **k: rl.C2UCB(Z, 5, **k), Z, NOTHING, False),
}


def play(policy: rl.FeaturePolicy, steps: int, seed: int = 0, each=None) -> None:
    """Users who click any item of a list, those of small numbers more."""
    draw = np.random.default_rng(seed)
    for _ in range(steps):
        ranking = policy.rank()
        clicks = [int(draw.random() < 0.6 / (1 + item % 7)) for item in ranking]
        if each is not None:
            each(ranking, clicks)
        policy.update(ranking, clicks)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(("gamma", "ridge"), [(1.0, 1.0), (0.2, 3.0), (0.0, 1.0)])
def test_every_position_goes_to_the_item_with_the_highest_score(name, gamma, ridge) -> None:
    make, relevance, topics, cascade = CASES[name]
    policy = make(gamma=gamma, ridge=ridge, seed=2)
    plain = RidgeForm(relevance, topics, gamma, ridge, cascade)

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
    ["linear", "linear full", "topics", "topics full", "hybrid", "long lists", "correlated", "many topics", "covered"],
)
def test_bounds_never_hide_an_item_in_a_larger_catalogue(name) -> None:
    """Scores of 600 items after many updates: what was skipped by its bound must not have been better."""
    z, x = catalogue(600, 6, 9, seed=8)
    both, none = np.hstack([x, z]), np.zeros((600, 0))
    crowded = np.random.default_rng(9).random((600, 9)) ** 3
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
            remaining *= 1 - np.maximum(topics[item], 0)


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
    run_lists(policy.state, users.state, stream(1), 10**6, 10, np.inf, items, np.zeros(0), clicks, np.zeros(4))
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


def test_the_catalogue_grows_and_shrinks() -> None:
    policy = rl.CascadeHybrid(Z[:20], X[:20], 5, seed=1)
    play(policy, 30)
    waiting = policy.rank()
    policy.remove_items(waiting[:2])
    assert not set(policy.rank()) & set(waiting[:2])
    assert set(policy.items) == set(range(20)) - set(waiting[:2])
    with pytest.raises(ValueError, match="has been removed: leave it out of the candidates"):
        policy.rank([*policy.items[:6], waiting[0]])
    before = policy.theta
    policy.update(waiting, [0, 1, 0, 0, 0])  # clicks on what is shown no more are still learned from
    assert (policy.theta != before).any()
    assert policy.add_items(Z[20:], X[20:]) == list(range(20, 40))
    assert policy.n_items == 40
    plain = RidgeForm(Z, X, 1.0)
    plain.precision, plain.evidence = np.linalg.inv(policy.covariance), policy.state.model.evidence
    ranking = policy.rank()
    for k, item in enumerate(ranking):
        free = [a for a in policy.items if a not in ranking[:k]]
        assert plain.score(item, ranking[:k]) == pytest.approx(max(plain.score(a, ranking[:k]) for a in free))


def test_a_grown_catalogue_is_saved(tmp_path) -> None:
    policy = rl.CascadeLinUCB(Z[:10], 3, seed=1)
    policy.add_items(Z[10:20])
    policy.remove_items([0, 15])
    play(policy, 20)
    policy.save(tmp_path / "policy.npz")
    loaded = rl.load(tmp_path / "policy.npz")
    assert loaded.items == policy.items
    assert [list(loaded.rank()) for _ in range(3)] == [list(policy.rank()) for _ in range(3)]
    assert policy.fresh(3).items == policy.items


@pytest.mark.parametrize("candidates", [[30, 2, 17, 5], [30, 2, 17, 5, 8], list(range(39, 3, -1))])
def test_rank_from_some_candidates(candidates) -> None:
    policy = rl.CascadeHybrid(Z, X, 3, seed=1)
    play(policy, 30)
    plain = RidgeForm(Z, X, 1.0)
    plain.precision, plain.evidence = np.linalg.inv(policy.covariance), policy.state.model.evidence
    ranking = policy.rank(candidates)
    assert set(ranking) <= set(candidates)
    for k, item in enumerate(ranking):
        free = [a for a in candidates if a not in ranking[:k]]
        assert plain.score(item, ranking[:k]) == pytest.approx(max(plain.score(a, ranking[:k]) for a in free))
    policy.update(ranking, [0, 0, 1])
    assert policy.items == list(range(40))  # the others may be shown again


def test_items_that_are_not_in_the_catalogue() -> None:
    policy, twin = rl.CascadeHybrid(Z[:30], X[:30], 3, seed=1), rl.CascadeHybrid(Z, X, 3, seed=1)
    ranking = policy.rank([4, 9], relevance=Z[30:], topics=X[30:])
    same = twin.rank([4, 9, *range(30, 40)])
    assert [item if item >= 0 else 29 - item for item in ranking] == list(same)
    travelled = rl.Ranking.from_json(json.loads(ranking.to_json()))
    policy.update(travelled, [0, 1, 1])
    twin.update(same, [0, 1, 1])
    np.testing.assert_allclose(policy.covariance, twin.covariance, atol=1e-14)
    np.testing.assert_allclose(policy.theta, twin.theta, atol=1e-14)
    linear = rl.CascadeLinUCB(Z[:3], 2, seed=1)
    linear.update(linear.rank(features=Z[3:9]), [0, 1])
    lsb = rl.CascadeLSB(X[:3], 2, seed=1)
    lsb.update(lsb.rank([], topics=X[3:9]), [0, 1])


def test_many_updates_at_once() -> None:
    one, other = rl.CascadeLSB(X, 4, seed=1), rl.CascadeLSB(X, 4, seed=1)
    rankings = [one.rank() for _ in range(5)]
    clicks = [[0, 0, 1, 0], [0] * 4, [1] * 4, [0, 1, 0, 0], [0] * 4]
    one.update_many(zip(rankings, clicks, strict=True))
    for ranking, clicked in zip([other.rank() for _ in range(5)], clicks, strict=True):
        other.update(rl.Ranking(ranking.items, policy=other.identity), clicked)
    np.testing.assert_array_equal(one.theta, other.theta)
    before = one.snapshot()
    with pytest.raises(ValueError, match="positions"):
        one.update_many([(rankings[0], clicks[0]), (rankings[1], [1])])
    assert_same_state(one.snapshot(), before)


NAN = np.array(Z)
NAN[3, 1] = np.nan
WIDE = np.array(X)
WIDE[2, 0] = 1.2
NEGATIVE = np.array(X)
NEGATIVE[2, 0] = -0.2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rl.CascadeHybrid(NAN, X, 5), r"relevance\[3, 1\] = nan"),
        (lambda: rl.CascadeHybrid(Z, WIDE, 5), r"topics\[2, 0\] = 1.2"),
        (lambda: rl.CascadeHybrid(Z, NEGATIVE, 5), r"topics\[2, 0\] = -0.2"),
        (lambda: rl.CascadeLSB(WIDE, 5), r"topics\[2, 0\] = 1.2"),
        (lambda: rl.CascadeLSBFull(Z, NEGATIVE, 5), "topics must lie"),
        (lambda: rl.CascadeLSBFull(2 * Z, X, 5), "relevance features are topics here"),
        (lambda: rl.CascadeLinUCBFull(Z, NEGATIVE, 5), r"topics\[2, 0\] = -0.2"),
        (lambda: rl.CascadeHybrid(Z, X[:7], 5), "40 rows and topics 7"),
        (lambda: rl.CascadeHybrid(Z, X, 41), "more than the 40 items"),
        (lambda: rl.CascadeHybrid(Z[:0], X[:0], 1), "at least one item"),
        (lambda: rl.CascadeLinUCB([], 1), "at least one item"),
        (lambda: rl.CascadeLinUCB(Z[0], 1), "one row an item"),
        (lambda: rl.CascadeLinUCB("x", 1), "table of numbers"),
        (lambda: rl.CascadeLinUCB([[10**400]], 1), "table of numbers"),
        (lambda: rl.CascadeLinUCB(Z, 2, gamma=-1), "gamma"),
        (lambda: rl.CascadeLinUCB(Z, 2, gamma=np.nan), "gamma"),
        (lambda: rl.CascadeLinUCB(Z, 2, gamma=10**400), "gamma"),
        (lambda: rl.CascadeLinUCB(Z, 2, ridge=5e-324), "ridge"),
        (lambda: rl.CascadeLinUCB(1e8 * Z, 2), r"features\[0, 0\] = .* is beyond 1e\+06"),
        (lambda: rl.CascadeLinUCB([[1, 2], [3]], 1), "table of numbers"),
        (lambda: rl.CascadeHybrid(Z, X, 2).rank(np.array(3)), "sequence of item numbers"),
        (lambda: rl.CascadeLinUCB(Z, 2, ridge=0), "ridge"),
        (lambda: rl.CascadeHybrid(Z, X, 5).rank([1, 2, 3]), "more than the 3 candidates"),
        (lambda: rl.CascadeHybrid(Z, X, 2).rank([1, 40]), "item 40 is not in the catalogue"),
        (lambda: rl.CascadeHybrid(Z, X, 2).rank([1, 1]), "once each"),
        (lambda: rl.CascadeHybrid(Z, X, 2).rank(3), "sequence of item numbers"),
        (lambda: rl.CascadeHybrid(Z, X, 2).rank(relevance=Z), "topics of the new items are missing"),
        (lambda: rl.CascadeHybrid(Z, X, 2).rank(relevance=X, topics=X), "4 columns, not 6"),
        (lambda: rl.CascadeHybrid(Z, X, 2).add_items(Z[:0], X[:0]), "no items to add"),
        (lambda: rl.CascadeHybrid(Z, X, 2).remove_items([-1]), "item -1 is not in the catalogue"),
        (lambda: rl.CascadeHybrid(Z, X, 2).remove_items([3, 3]), "once each"),
    ],
)
def test_bad_input_is_refused(make, message) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_items_cannot_be_removed_twice_nor_too_many() -> None:
    policy = rl.CascadeLSB(X[:4], 2, seed=1)
    policy.remove_items([1, 2])
    with pytest.raises(ValueError, match="removed before"):
        policy.remove_items([0, 1])
    assert policy.items == [0, 3]
    policy.remove_items([0])
    with pytest.raises(ValueError, match="more than the 1 candidates"):
        policy.rank()
    with pytest.raises(ValueError, match="more than the 1 candidates"):
        _ = policy.best


def test_forged_features_of_strangers_are_refused() -> None:
    policy = rl.CascadeHybrid(Z[:30], X[:30], 3, seed=1)
    ranking = policy.rank([4], relevance=Z[30:], topics=X[30:])
    before = policy.snapshot()
    notes = list(ranking.notes)
    for items, bad in [
        (ranking.items, notes[:-1]),
        (ranking.items, [*notes[:-1], np.nan]),
        (ranking.items, [*notes[:-1], 1.5]),
        (ranking.items, []),
        ([0, 1, 2], notes),
        ((*ranking.items[:-1], 30), notes),
    ]:
        with pytest.raises(ValueError, match=r"notes|items"):
            policy.update(rl.Ranking(items, notes=bad, policy=ranking.policy), [0, 0, 0])
    assert_same_state(policy.snapshot(), before)


def test_steps_count_no_references() -> None:
    policy = rl.CascadeHybrid(Z, X, 5, seed=1)
    groups = (policy.state.model, policy.state.catalogue, policy.state.desk)
    arrays = [policy.state.rng, policy.state.widths, *(value for group in groups for value in group)]
    before = [sys.getrefcount(array) for array in arrays]
    play(policy, 700)
    assert [sys.getrefcount(array) for array in arrays] == before


@pytest.mark.parametrize("cls", [rl.CascadeLinUCBFull, rl.CascadeLSBFull])
def test_full_twins_take_what_the_hybrid_takes(cls, tmp_path) -> None:
    policy = cls(Z[:30], X[:30], 3, seed=1)
    np.testing.assert_array_equal(policy.relevance, Z[:30])
    np.testing.assert_array_equal(policy.topics, X[:30])
    policy.add_items(Z[30:35], X[30:35])
    policy.update(policy.rank([4], relevance=Z[35:], topics=X[35:]), [0, 1, 0])
    policy.save(tmp_path / "policy.npz")
    assert list(rl.load(tmp_path / "policy.npz").rank()) == list(policy.rank())
    with pytest.raises(ValueError, match="4 columns, not 6"):
        policy.add_items(X[:2], X[:2])


def test_segments_learn_apart_over_one_catalogue(tmp_path) -> None:
    segments = rl.Segments(rl.CascadeHybrid(Z[:30], X[:30], 3, seed=1))
    alone = rl.CascadeHybrid(Z[:30], X[:30], 3, seed=1)
    for t in range(20):
        ranking = segments["alice"].rank()
        clicks = [0, int(t % 2), 0]
        segments.update(rl.Ranking.from_json(ranking.to_json()), clicks)
        alone.update(rl.Ranking(ranking.items, policy=alone.identity), clicks)
    np.testing.assert_array_equal(segments["alice"].theta, alone.theta)
    assert not segments["bob"].theta.any()
    assert segments.add_items(relevance=Z[30:], topics=X[30:]) == list(range(30, 40))
    segments.remove_items([0, 1])
    for name in ("alice", "bob", "carol"):
        assert segments[name].items == list(range(2, 40))
        segments[name].rank(range(30, 40))
    segments.update_many([(segments[name].rank(), [0, 0, 1]) for name in ("bob", "alice", "bob")])
    waiting = segments["bob"].rank()
    segments.save(tmp_path / "segments.npz")
    loaded = rl.load(tmp_path / "segments.npz")
    assert list(loaded) == ["alice", "bob", "carol"]
    for each in (segments, loaded):
        each.update(waiting, [1, 0, 0])
    for name in segments:
        assert_same_state(loaded[name].snapshot(), segments[name].snapshot())
        assert list(loaded[name].rank()) == list(segments[name].rank())


def test_segments_refuse_what_is_not_theirs() -> None:
    policy = rl.CascadeLinUCB(Z, 3, seed=1)
    segments = rl.Segments(policy)
    before = segments["alice"].snapshot()
    ranking = segments["alice"].rank()
    with pytest.raises(ValueError, match="not a list of these segments"):
        segments.update(policy.rank(), [0, 0, 0])
    with pytest.raises(ValueError, match="not a list of this policy"):
        segments["bob"].update(ranking, [0, 0, 0])
    with pytest.raises(ValueError, match="positions"):
        segments.update_many([(ranking, [1, 0, 0]), (ranking, [1])])
    with pytest.raises(ValueError, match="named by a text"):
        segments[3]
    with pytest.raises(ValueError, match="clicks must be"):
        segments.update(rl.Ranking([0, 1, 2], policy=f"{ranking.policy.partition('/')[0]}/ghost"), [7, 0, 0])
    assert segments.get("nobody") is None
    assert list(segments) == ["alice", "bob"]
    for change in (lambda: segments["bob"].add_items(Z[:1]), lambda: segments["bob"].remove_items([1])):
        with pytest.raises(ValueError, match="share one catalogue"):
            change()
    with pytest.raises(ValueError, match="save the Segments"):
        segments["bob"].save("nowhere")
    with pytest.raises(ValueError, match="ranks by features"):
        rl.Segments(rl.CascadeUCB1(3, 2))
    assert_same_state(segments["alice"].snapshot(), {**before, "rng": segments["alice"].snapshot()["rng"]})


def test_an_explanation_adds_up() -> None:
    policy = rl.CascadeHybrid(Z, X, 5, gamma=0.7, seed=1)
    play(policy, 60)
    explanation = policy.explain(titles=[f"film {a}" for a in range(40)], topic_names=list("abcdef"))
    assert [item.item for item in explanation.items] == policy.best
    above: list[int] = []
    for k, item in enumerate(explanation.items):
        omega = topic_gain(X, item.item, above)
        phi = np.concatenate([omega, Z[item.item]])
        assert item.relevance == pytest.approx(Z[item.item] @ policy.beta)
        assert item.novelty == pytest.approx(omega @ policy.theta)
        assert item.attraction == pytest.approx(item.relevance + item.novelty)
        assert item.uncertainty == pytest.approx(0.7 * np.sqrt(phi @ policy.covariance @ phi))
        assert len(item.topics) == (X[item.item] > 0).sum()
        above.append(item.item)
        np.testing.assert_allclose(explanation.covered[k], 1 - np.prod(1 - X[above], axis=0))
    assert f"film {policy.best[0]}" in str(explanation)
    assert len(explanation.plot("hybrid").axes) == 2
    with pytest.raises(ValueError, match="told no topics"):
        rl.CascadeLinUCB(Z, 5).explain().plot()
    with pytest.raises(ValueError, match="no list to plot"):
        policy.explain([]).plot()
    linear = rl.CascadeLinUCB(Z, 5, seed=1).explain([3, 1], topics=X, topic_names=list("abcdef"))
    assert linear.items[0].novelty == 0
    for wrong in ({"titles": ["x"]}, {"topic_names": ["x"]}, {"topics": X[:3]}):
        with pytest.raises(ValueError, match=r"there are|rows"):
            policy.explain(**wrong)


@pytest.mark.parametrize("cls", [rl.CascadeHybrid, rl.CascadeLinUCBFull, rl.CascadeLSBFull])
def test_lists_with_items_from_elsewhere_are_explained_like_any_other(cls) -> None:
    policy, twin = cls(Z[:30], X[:30], 3, seed=1), cls(Z, X, 3, seed=1)
    ranking = policy.rank([4, 9], relevance=Z[30:], topics=X[30:])
    same = [item if item >= 0 else 29 - item for item in ranking]
    titles = [f"film {a}" for a in range(40)]
    explained, expected = policy.explain(ranking, titles=titles[:30]), twin.explain(same, titles=titles)
    np.testing.assert_allclose(explained.covered, expected.covered)
    for item, other in zip(explained.items, expected.items, strict=True):
        assert item[2:] == other[2:]
        assert item.title == (other.title if item.item >= 0 else f"new item {-item.item}")
    blind = policy.explain(ranking, topics=X[:30])
    assert [bool(item.topics) for item in blind.items] == [item >= 0 for item in ranking]
