"""The hybrid cascade model against plain Python, enumeration and its guarantee."""

from __future__ import annotations

import math
import warnings
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from references import hybrid as slow
from scipy import stats

import rankloop as rl
from rankloop.environments.click_environment import click_once, regret_once
from rankloop.kernels import stream


def users(seed: int, n_items: int = 6, d: int = 4, m: int = 3, *, clip: bool = False, scale: float = 1.0):
    """Random users; unless `clip`, their attractions lie in [0, 1]."""
    rng = np.random.default_rng(seed)
    topics = rng.uniform(0, 1, (n_items, d)) * (rng.uniform(size=(n_items, d)) < 0.5)
    relevance = rng.normal(size=(n_items, m)) if clip else rng.uniform(0, 1 / m, (n_items, m))
    beta = rng.normal(size=m) if clip else rng.uniform(0, scale, m)
    theta = rng.dirichlet(np.ones(d)) * scale
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if clip else "error", rl.HybridClippingWarning)
        return rl.HybridCascade(relevance, topics, beta, theta, rng.uniform(), name="u")


@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_attractions_and_rewards_are_those_of_plain_python(seed: int, clip: bool) -> None:
    some = users(seed, clip=clip)
    for items in permutations(range(6), 3):
        why = some.explain(items)
        np.testing.assert_allclose(why.attraction, slow.attractions(some, list(items)), atol=1e-12)
        np.testing.assert_allclose(np.clip(why.relevance + why.novelty, 0, 1), why.attraction)
        for k in range(3):
            np.testing.assert_allclose(why.gain[k], slow.gain(some.topics, items[k], list(items[:k])), atol=1e-12)
        assert some.reward(items) == pytest.approx(slow.reward(some, list(items)))
        assert some.reward(items, top=2) == pytest.approx(slow.reward(some, list(items[:2])))
    np.testing.assert_allclose(some.attraction, [slow.attractions(some, [a])[0] for a in range(6)])
    assert some.reward([]) == some.regret([]) == some.scaled_regret([]) == 0


@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_greedy_and_best_lists_are_those_of_plain_python(seed: int, clip: bool) -> None:
    some = users(seed, clip=clip)
    for n in (1, 3, 6):
        assert some.greedy_list(n) == slow.greedy(some, n)
        assert some.optimal_rewards[n] == pytest.approx(slow.reward(some, slow.greedy(some, n)))
        best = some.reward(some.optimal_list(n))
        assert best == pytest.approx(slow.reward(some, list(slow.best(some, n))))
        assert best >= some.reward(some.greedy_list(n)) - 1e-12
    assert some.optimal_rewards[0] == 0


def test_ties_of_the_greedy_list_go_to_the_lower_number() -> None:
    same = rl.HybridCascade(np.ones((7, 1)), np.zeros((7, 2)), [0.5], [0.5, 0.5], 1)
    assert same.greedy_list(7) == list(range(7))


def test_the_greedy_list_compares_before_it_clips() -> None:
    some = rl.HybridCascade([[-2.0], [2.0], [-1.0], [3.0]], np.zeros((4, 1)), [1], [0], 1, warn=False)
    assert some.attraction.tolist() == [0, 1, 0, 1]
    assert some.greedy_list(4) == [3, 1, 2, 0]


def test_topics_may_miss_their_bounds_by_rounding() -> None:
    topics = np.array([[1 + 1e-12, 0], [-1e-12, 1]])
    some = rl.HybridCascade(np.eye(2), topics, [0.1, 0.1], [0.5, 0.5], 0.5)
    assert some.topics.tolist() == [[1, 0], [0, 1]]
    rl.CascadeHybrid(np.eye(2), topics, 1)


@pytest.mark.parametrize("top", [None, 1, 2, 4, 9])
@pytest.mark.parametrize("clip", [False, True])
def test_compiled_regret_is_that_of_python(top: int | None, clip: bool) -> None:
    some = users(3, clip=clip)
    state = some.state_at(top)
    for items in permutations(range(6), 4):
        counted = list(items[: top or 4])
        shortfall = slow.reward(some, slow.greedy(some, len(counted))) - slow.reward(some, counted)
        assert some.regret(items, top=top) == pytest.approx(shortfall, abs=1e-12)
        assert regret_once(state, np.array(items)) == pytest.approx(shortfall, abs=1e-12)


@pytest.mark.parametrize("clip", [False, True])
def test_clicks_follow_the_probabilities(clip: bool) -> None:
    """40,000 users: a chi-square test over the clicked position, false alarms once in 10,000."""
    some, items = users(6, clip=clip), [3, 0, 4, 1]
    attraction = slow.attractions(some, items)
    passed = np.cumprod([1, *(1 - a for a in attraction)])
    truth = np.array([*(passed[:-1] * attraction), passed[-1]])
    rng, clicks, seen = stream(5), np.full(4, 9), np.zeros(5)
    for _ in range(40_000):
        click_once(some.state, rng, np.array(items), clicks)
        assert clicks.sum() <= 1
        seen[clicks.argmax() if clicks.any() else 4] += 1
    possible = truth > 0
    assert not seen[~possible].any()
    assert possible.sum() > 2
    assert stats.chisquare(seen[possible], 40_000 * truth[possible]).pvalue > 1e-4
    assert some.click(items, seed=2) == some.click(items, seed=2)


coverage = st.lists(
    st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.99, 1.0]), min_size=3, max_size=3), min_size=4, max_size=6
)


@given(coverage, st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_coverage_is_monotone_and_submodular(topics, random) -> None:
    """What an item adds is never negative, and never more after more items."""
    n = len(topics)
    some = rl.HybridCascade(np.zeros((n, 1)), topics, [0], [0.2, 0.3, 0.5], 0)
    order = random.sample(range(n), n)
    item, many = order[-1], order[:-1]
    few = [a for a in many if random.random() < 0.5]
    less, more = some.explain([*many, item]), some.explain([*few, item])
    assert (less.gain >= 0).all()
    assert (less.gain[-1] <= more.gain[-1] + 1e-12).all()
    assert less.novelty[-1] <= more.novelty[-1] + 1e-12
    assert some.reward([*many, item]) >= some.reward(many) - 1e-12


@given(st.integers(0, 10**6), st.integers(1, 4), st.sampled_from([0.05, 0.3, 1.0]), st.booleans())
@settings(max_examples=150, deadline=None)
def test_the_greedy_list_keeps_its_guarantee(seed: int, n: int, scale: float, clip: bool) -> None:
    some = users(seed, clip=clip, scale=scale)
    best = some.reward(some.optimal_list(n))
    largest = max(slow.attractions(some, [a])[0] for a in range(6))
    eta = (1 - 1 / math.e) * max(1 / n, 1 - (n - 1) / 2 * largest)
    assert some.eta(n) == pytest.approx(eta)
    greedy = some.greedy_list(n)
    assert some.reward(greedy) >= eta * best - 1e-12
    assert some.scaled_regret(greedy) == pytest.approx(eta * best - some.reward(greedy), abs=1e-12)
    worst = list(reversed(some.greedy_list(6)))[:n]
    assert some.scaled_regret(worst) <= some.regret(worst) + 1e-12


def test_where_the_best_list_cannot_be_found_scaled_regret_is_bounded_from_above(monkeypatch) -> None:
    from rankloop.environments import hybrid_cascade

    some = users(8)
    exact = some.scaled_regret([0, 1, 2])
    with pytest.raises(ValueError, match=r"10\^32 lists of 11 out of 900 items.*greedy_list"):
        users(8, n_items=900).optimal_list(11)
    monkeypatch.setattr(hybrid_cascade, "MOST_LISTS", 100)
    with pytest.raises(ValueError, match="120 lists of 3"):
        users(8).optimal_list(3)
    assert users(8).scaled_regret([0, 1, 2]) >= exact


def test_clipping_is_counted_and_told_once() -> None:
    relevance, topics = [[1.0], [-1.0], [4.0], [0.5], [-2.0]], np.zeros((5, 2))
    with pytest.warns(rl.HybridClippingWarning, match="3 of 5 items .* 2 below 0, 1 above 1 .*from -1 to 2") as told:
        some = rl.HybridCascade(relevance, topics, [1], [1, 0], 0.5)
    assert len(told) == 1
    assert told[0].filename == __file__
    assert some.clipped == (2, 1)
    assert some.attraction.tolist() == [0.5, 0, 1, 0.25, 0]
    assert users(1).clipped == (0, 0)


def test_simulation_adds_up_regret_and_clicks() -> None:
    some, steps = users(4), 20_000
    order = some.greedy_list(6)[::-1]
    result = rl.simulate(rl.FixedRanking(order, n_positions=3), some, horizon=steps, runs=2, checkpoints=[7, steps])
    np.testing.assert_allclose(result.regret, np.tile(some.regret(order[:3]) * result.steps, (2, 1)), rtol=1e-9)
    chance = some.reward(order[:3])
    assert result.clicks[:, -1].sum() / (2 * steps) == pytest.approx(chance, abs=4 * math.sqrt(chance / (2 * steps)))
    one = rl.simulate(rl.CascadeUCB1(6, 3), some, horizon=2000, runs=4, workers=1)
    two = rl.simulate(rl.CascadeUCB1(6, 3), some, horizon=2000, runs=4, workers=4)
    np.testing.assert_array_equal(one.regret, two.regret)


def test_a_large_catalogue_has_a_greedy_list_too() -> None:
    some = users(1, n_items=1500)
    assert some.greedy_list(10) == slow.greedy(some, 10)
    assert some.n_positions == 1000
    with pytest.raises(ValueError, match="longer than the 1000 positions"):
        some.reward(range(1001))


GOOD = {"relevance": np.eye(2), "topics": [[0.5, 0, 0], [0, 0.5, 0]], "beta": [0.1, 0.1], "theta": [0.1, 0.2, 0.3]}


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"relevance": [[1, math.nan], [0, 1]]}, r"relevance\[0, 1\] = nan must be finite"),
        ({"relevance": []}, r"relevance must be a table .* shape \(0,\)"),
        ({"relevance": np.zeros((0, 2))}, r"shape \(0, 2\)"),
        ({"relevance": [["a", "b"]]}, "relevance must be a table"),
        ({"relevance": [[1, 2], [3]]}, "relevance must be a table"),
        ({"relevance": [[10**400, 0], [0, 1]]}, "relevance must be a table"),
        ({"theta": [10**400, 0, 0]}, "theta must be a sequence"),
        ({"topics": [[0, 0, 1 + 1e-8], [0, 0, 0]]}, r"topics\[0, 2\] = 1 is no coverage"),
        ({"relevance": np.ones((3, 2))}, "relevance has 3 rows and topics 2"),
        ({"topics": [[0, 0, 1.5], [0, 0, 0]]}, r"topics\[0, 2\] = 1.5 .* must lie in \[0, 1\]"),
        ({"topics": [[0, 0, 0], [-0.1, 0, 0]]}, r"topics\[1, 0\] = -0.1"),
        ({"topics": [[0, 0, 0], [math.nan, 0, 0]]}, r"topics\[1, 0\] = nan"),
        ({"beta": [1]}, r"beta must be a sequence of 2 numbers, not of shape \(1,\)"),
        ({"beta": [1, math.inf]}, r"beta\[1\] = inf"),
        ({"theta": [1, 2]}, r"theta must be a sequence of 3 numbers, not of shape \(2,\)"),
        ({"theta": [1, 2, math.nan]}, r"theta\[2\] = nan"),
        ({"trade_off": 1.1}, "trade_off must be .* not 1.1"),
        ({"trade_off": math.nan}, "trade_off must be .* not nan"),
        ({"trade_off": "half"}, "trade_off must be .* not 'half'"),
        ({"trade_off": True}, "trade_off must be .* not True"),
    ],
)
def test_bad_input_is_refused(change, complaint) -> None:
    with pytest.raises(ValueError, match=complaint):
        rl.HybridCascade(**{**GOOD, "trade_off": 0.5, **change})


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda some: some.reward([0, 0]), "twice"),
        (lambda some: some.reward([2]), "item 2 does not exist"),
        (lambda some: some.explain("01"), "item numbers"),
        (lambda some: some.regret([0], top=0), "top must be"),
        (lambda some: some.greedy_list(3), "n_positions must be a whole number from 1 to 2, not 3"),
        (lambda some: some.greedy_list(1.5), "not 1.5"),
        (lambda some: some.optimal_list(0), "n_positions must be"),
        (lambda some: some.eta(True), "n_positions must be"),
    ],
)
def test_bad_calls_are_refused(call, complaint) -> None:
    with pytest.raises(ValueError, match=complaint):
        call(rl.HybridCascade(**GOOD, trade_off=0.5))


def test_an_environment_does_not_change() -> None:
    topics = np.array([[0.5, 0], [0, 0.5]])
    some = rl.HybridCascade([[1.0], [0.5]], topics, [0.5], [0.5, 0.5], 0.5)
    before = some.reward([0, 1])
    topics[:] = 0
    assert some.reward([0, 1]) == before
    for values in (some.topics, some.relevance, some.beta, some.theta, some.attraction):
        with pytest.raises(ValueError, match="read-only"):
            values[0] = 1
