"""Chapter 5's users: the recipe against plain Python, and in simulation."""

from __future__ import annotations

import numpy as np
import pytest
from shared_data import SHARED

import rankloop as rl
from rankloop.datasets import Attractive, read_ratings, synthetic_ratings
from rankloop.environments.hybrid_users import relevance_features, topic_coverage, topic_preferences

MOVIELENS = SHARED / "movielens"


def matrices(seed: int = 0, n_users: int = 31, n_items: int = 12, d: int = 4) -> Attractive:
    rng = np.random.default_rng(seed)
    liked = (rng.uniform(size=(n_users, n_items)) < 0.3).astype(np.uint8)
    liked[[3, 8]] = 0  # users who like nothing
    liked[:, 5] = 0  # an item that nobody likes
    topics = (rng.uniform(size=(n_items, d)) < 0.4).astype(np.uint8)
    topics[2] = 0
    return Attractive(liked, topics, np.arange(n_users) + 100, np.arange(n_items), list("abcdefghijkl"), list("wxyz"))


def test_coverage_and_preferences_are_those_of_the_formulas() -> None:
    data = matrices()
    liked, belongs = data.attractive.tolist(), data.item_topics.tolist()
    coverage = topic_coverage(liked, belongs)
    for a in range(12):
        for j in range(4):
            fans = sum(any(row[b] * belongs[b][j] > 0 for b in range(12)) for row in liked)
            assert coverage[a, j] == pytest.approx(sum(row[a] * belongs[a][j] for row in liked) / fans)
    assert (coverage <= 1).all()
    for row in liked:
        counts = [sum(row[a] * belongs[a][j] for a in range(12)) for j in range(4)]
        expected = [count / max(sum(counts), 1) for count in counts]
        np.testing.assert_allclose(topic_preferences(row, belongs), expected)
    assert not topic_coverage(np.zeros((2, 3)), np.ones((3, 2))).any()


@pytest.mark.parametrize("scaled", [False, True])
def test_relevance_features_span_the_best_approximation(scaled: bool) -> None:
    liked = matrices().attractive.astype(float)
    features = relevance_features(liked, 3, scaled=scaled)
    length = np.linalg.norm(features, axis=1)
    assert length[5] == 0
    np.testing.assert_allclose(np.delete(length, 5), 1)
    values, vectors = np.linalg.eigh(liked.T @ liked)
    best = vectors[:, ::-1][:, :3] * (np.sqrt(values[::-1][:3]) if scaled else 1)
    best[5] = 0
    similar = best @ best.T / np.maximum(np.outer(*[np.linalg.norm(best, axis=1)] * 2), 1e-12)
    np.testing.assert_allclose(features @ features.T, similar, atol=1e-8)


def test_features_beyond_the_rank_are_zero() -> None:
    features = relevance_features([[1, 1, 0], [1, 1, 0]], 2)
    np.testing.assert_allclose(features, [[1, 0], [1, 0], [0, 0]], atol=1e-12)


@pytest.mark.parametrize("scaled", [False, True])
def test_users_follow_the_recipe(scaled: bool) -> None:
    data = matrices()
    problems = rl.hybrid_problems(data, trade_off=0.3, n_features=4, seed=2, scaled=scaled)
    order = np.random.default_rng(2).permutation(31)
    known, tested = order[:15], order[15:]
    liked = data.attractive.astype(float)
    assert [problem.user - 100 for problem in problems] == [u for u in tested.tolist() if liked[u].any()]
    assert len(problems) < 16, "somebody who likes nothing is among them and left out"
    for problem in problems:
        users, row = problem.environment, liked[problem.user - 100]
        np.testing.assert_allclose(problem.relevance, relevance_features(liked[known], 4, scaled=scaled))
        np.testing.assert_array_equal(users.relevance, problem.relevance)
        np.testing.assert_allclose(problem.topics, topic_coverage(liked[known], data.item_topics))
        np.testing.assert_allclose(users.topics, topic_coverage(liked[tested], data.item_topics))
        np.testing.assert_allclose(users.theta, topic_preferences(row, data.item_topics))
        assert np.linalg.norm(users.beta) == pytest.approx(1)
        # The residual of a least-squares fit is orthogonal to the features.
        size = (row @ problem.relevance) @ users.beta / np.sum((problem.relevance @ users.beta) ** 2)
        residual = row - size * problem.relevance @ users.beta
        np.testing.assert_allclose(problem.relevance.T @ residual, 0, atol=1e-8)
        assert size > 0
        assert users.trade_off == 0.3
        assert users.name == f"user {problem.user}"
        assert (problem.titles, problem.topic_names, problem.n_items) == (data.titles, data.topics, 12)


def test_the_split_and_the_users_follow_from_the_seed() -> None:
    data = matrices()
    some = rl.hybrid_problems(data, trade_off=0.5, n_features=3, n_users=4, seed=1)
    more = rl.hybrid_problems(data, trade_off=0.5, n_features=3, n_users=9, seed=1)
    other = rl.hybrid_problems(data, trade_off=0.5, n_features=3, n_users=9, seed=2)
    assert [p.user for p in some] == [p.user for p in more][:4]
    assert [p.user for p in more] != [p.user for p in other]
    assert some[0].relevance is some[3].relevance is some[1].environment.relevance, "items are held once"


def test_ratings_are_reduced_first() -> None:
    problems = rl.hybrid_problems(synthetic_ratings(60, 80), trade_off=0.5, n_topics=7, n_users=2)
    assert problems[0].topics.shape == (80, 7)
    assert len(problems[0].topic_names) == 7


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"n_features": 0}, "n_features must be a whole number from 1 to 12, not 0"),
        ({"n_features": 13}, "n_features must be .* not 13"),
        ({"n_topics": 3}, "n_topics = 3, but most_active chose 4"),
        ({"n_users": 0}, "n_users must be a whole number of at least 1, not 0"),
        ({"seed": -1}, "seed must be"),
        ({"trade_off": 2}, "trade_off must be"),
    ],
)
def test_bad_input_is_refused(change, complaint) -> None:
    with pytest.raises(ValueError, match=complaint):
        rl.hybrid_problems(matrices(), **{"trade_off": 0.5, "n_features": 3, **change})


@pytest.mark.parametrize("ratings", [5, None, np.eye(3)])
def test_what_is_no_ratings_is_refused(ratings) -> None:
    with pytest.raises(ValueError, match="ratings must be Ratings"):
        rl.hybrid_problems(ratings, trade_off=0.5)


def test_nobody_to_simulate_is_refused() -> None:
    data = matrices()
    nothing = data._replace(attractive=np.zeros_like(data.attractive))
    with pytest.raises(ValueError, match="no user of the second half"):
        rl.hybrid_problems(nothing, trade_off=0.5, n_features=3)


def test_problems_are_simulated_alone_and_together() -> None:
    problems = rl.hybrid_problems(matrices(), trade_off=0.5, n_features=3, n_users=3)
    seen = []

    def make(problem: rl.HybridProblem) -> rl.CascadeUCB1:
        seen.append(problem)
        return rl.CascadeUCB1(problem.n_items, 3)

    together = rl.simulate(make, problems, horizon=500, runs=2, checkpoints=[500])
    assert together.regret.shape == (6, 1)
    assert together.queries == [f"user {problem.user}" for problem in problems] * 2
    alone = rl.simulate(make, problems[0], horizon=500, runs=1, checkpoints=[500])
    assert alone.regret[0, 0] == together.regret[0, 0]
    assert [id(problem) for problem in seen] == [id(problem) for problem in [*problems, problems[0]]]


@pytest.mark.skipif(not MOVIELENS.exists(), reason="needs the shared data")
def test_on_real_movielens_attractions_are_clipped_below_but_not_above() -> None:
    problems = rl.hybrid_problems(read_ratings(MOVIELENS), trade_off=0.5)
    assert len(problems) == 500
    fit = np.array([problem.relevance @ problem.environment.beta for problem in problems])
    assert -1 < fit.min() < -0.3
    assert 0.5 < fit.max() < 1
    novelty = np.array([problem.environment.topics @ problem.environment.theta for problem in problems])
    assert novelty.max() < 1
    assert all(problem.environment.clipped.above == 0 for problem in problems)
    assert 50 < np.mean([problem.environment.clipped.below for problem in problems]) < 400
