"""What the cascading bandits share: order, ties, first clicks, late feedback, and what is refused."""

from __future__ import annotations

import collections
import math
import random

import numpy as np
import pytest
from references import cascading
from references.side_by_side import PROBLEMS, assert_same_choices
from references.stream import Stream
from scipy import stats

import rankloop as rl
from rankloop.kernels import entry, stream
from rankloop.policies.clicks.cascading import show_largest

POLICIES = [
    lambda n, k, seed=None: rl.CascadeUCB1(n, k, seed=seed),
    lambda n, k, seed=None: rl.CascadeKLUCB(n, k, seed=seed),
    lambda n, k, seed=None: rl.CascadeDUCB(n, k, gamma=0.99, seed=seed),
    lambda n, k, seed=None: rl.CascadeDUCB(n, k, seed=seed),
    lambda n, k, seed=None: rl.CascadeSWUCB(n, k, window=200, seed=seed),
    lambda n, k, seed=None: rl.CascadeSWUCB(n, k, seed=seed),
]
every_policy = pytest.mark.parametrize("make", POLICIES, ids=["UCB1", "KL", "D", "D doubling", "SW", "SW doubling"])


@entry
def show(rng, order, index, items):
    show_largest(rng, order, index, items)


@pytest.mark.parametrize(("n_items", "n_positions"), [(1, 1), (5, 1), (6, 3), (6, 5), (6, 6)])
def test_the_kept_order_equals_sorting_anew(n_items: int, n_positions: int) -> None:
    draw = np.random.default_rng(n_items)
    words = stream(4)
    slow = Stream(words)
    order, items = np.arange(n_items), np.zeros(n_positions, np.int64)
    for _ in range(3000):
        index = draw.integers(0, 8, n_items) / 4  # many ties
        index[draw.random(n_items) < 0.1] = np.inf
        show(words, order, index, items)
        assert items.tolist() == cascading.largest(slow, index.tolist(), n_positions)
        assert sorted(order) == list(range(n_items))


def test_ties_are_broken_uniformly() -> None:
    """2 of 4 items, of which 3 are equal, 6,000 times: chi-square over the 6 lists, false alarms once in 10,000."""
    words, order, items = stream(1), np.arange(4), np.zeros(2, np.int64)
    counts: collections.Counter[tuple[int, ...]] = collections.Counter()
    for _ in range(6000):
        show(words, order, np.array([0.5, 0.1, 0.5, 0.5]), items)
        counts[tuple(items)] += 1
    assert len(counts) == 6
    assert stats.chisquare(list(counts.values())).pvalue > 1e-4


@every_policy
def test_the_first_lists_are_uniform(make) -> None:
    """Without feedback all lists of 2 of 4 items are equally likely; false alarms once in 10,000."""
    policy = make(4, 2, seed=3)
    counts = collections.Counter(tuple(policy.rank()) for _ in range(6000))
    assert len(counts) == 12
    assert stats.chisquare(list(counts.values())).pvalue > 1e-4


@pytest.mark.parametrize("make", POLICIES[:5])  # the last one starts with a window of one list
def test_every_item_is_looked_at_once_before_any_list_repeats(make) -> None:
    policy = make(7, 2, seed=0)
    first = []
    for _ in range(7):
        ranking = policy.rank()
        first.append(ranking[0])
        policy.update(ranking, [1, 0])
    assert sorted(first) == list(range(7))


@every_policy
def test_only_the_first_click_counts(make) -> None:
    one, several = make(5, 4, seed=2), make(5, 4, seed=2)
    draw = random.Random(5)
    for _ in range(300):
        ranking, other = one.rank(), several.rank()
        assert list(ranking) == list(other)
        clicks = [int(draw.random() < 0.3) for _ in range(4)]
        first = clicks.index(1) if 1 in clicks else 4
        one.update(ranking, [int(k == first) for k in range(4)])
        several.update(other, clicks)


def double_discount(t: int) -> float:
    return 1 - 1 / (4 * math.sqrt(2 ** int(math.log2(t))))


def double_window(t: int) -> int:
    n = 2 ** int(math.log2(t))
    return max(1, math.ceil(2 * math.sqrt(n * math.log(n))))


LAST_CLICK = {
    "UCB1": (rl.CascadeUCB1, {}, cascading.CascadeUCB1),
    "KL": (rl.CascadeKLUCB, {}, cascading.CascadeKLUCB),
    "D": (rl.CascadeDUCB, {"gamma": 0.97}, lambda *a: cascading.CascadeDUCB(*a, lambda _t: 0.97)),
    "D doubling": (rl.CascadeDUCB, {}, lambda *a: cascading.CascadeDUCB(*a, double_discount)),
    "SW 1": (rl.CascadeSWUCB, {"window": 1}, lambda *a: cascading.CascadeSWUCB(*a, lambda _t: 1)),
    "SW": (rl.CascadeSWUCB, {"window": 30}, lambda *a: cascading.CascadeSWUCB(*a, lambda _t: 30)),
    "SW doubling": (rl.CascadeSWUCB, {}, lambda *a: cascading.CascadeSWUCB(*a, double_window)),
}


@pytest.mark.parametrize("name", LAST_CLICK)
@pytest.mark.parametrize(("attraction", "n_positions"), PROBLEMS[:3])
def test_down_to_the_last_click_it_matches_the_pseudo_code(name, attraction: list[float], n_positions: int) -> None:
    cls, arguments, reference = LAST_CLICK[name]
    n = len(attraction)
    slow = reference(n, n_positions, 5)
    slow.last_click = True
    assert_same_choices(cls(n, n_positions, **arguments, last_click=True, seed=5), slow, attraction, 600)


@pytest.mark.parametrize("cls", [rl.CascadeUCB1, rl.CascadeKLUCB, rl.CascadeSWUCB])
def test_what_is_observed_down_to_the_last_click(cls) -> None:
    arguments = {"window": 100} if cls is rl.CascadeSWUCB else {}
    for last_click, seen, clicked in [(False, [3, 3, 1, 1], [0, 1, 0, 0]), (True, [3, 3, 2, 2], [0, 1, 0, 1])]:
        policy = cls(4, 4, last_click=last_click, **arguments)
        tag = policy.rank().policy
        for clicks in ([0, 1, 0, 1], [0, 0, 0, 0]):
            policy.update(rl.Ranking([0, 1, 2, 3], policy=tag), clicks)
        policy.update(rl.Ranking([0, 1, 2, 3], policy=tag), [0, 0, 0, 0], seen=2)
        assert policy.state.seen.tolist() == seen
        assert policy.state.clicked.tolist() == clicked


@every_policy
def test_feedback_may_come_late_or_never(make) -> None:
    policy = make(6, 3, seed=1)
    attraction = [0.05, 0.1, 0.15, 0.5, 0.6, 0.7]
    draw = random.Random(3)
    waiting = []
    for _ in range(5000):
        waiting.append(policy.rank().to_json())
        if len(waiting) > 20:
            ranking = rl.Ranking.from_json(waiting.pop(draw.randrange(len(waiting))))
            if draw.random() < 0.8:
                policy.update(ranking, [int(draw.random() < attraction[item]) for item in ranking])
    assert sorted(policy.best) == [3, 4, 5]


@every_policy
def test_a_saved_policy_goes_on_bit_for_bit(make, tmp_path) -> None:
    policy = make(5, 3, seed=1)
    draw = random.Random(3)
    for _ in range(500):
        policy.update(policy.rank(), [int(draw.random() < 0.2) for _ in range(3)])
    policy.save(tmp_path / "policy.npz")
    loaded = rl.load(tmp_path / "policy.npz")
    for _ in range(500):
        ranking, other = policy.rank(), loaded.rank()
        assert ranking == other
        clicks = [int(draw.random() < 0.2) for _ in range(3)]
        policy.update(ranking, clicks)
        loaded.update(other, clicks)


@every_policy
def test_best_is_the_highest_means_and_the_unseen_last(make) -> None:
    policy = make(4, 3, seed=0)
    assert policy.best == [0, 1, 2]
    tag = policy.rank().policy
    policy.update(rl.Ranking([3, 2, 1], policy=tag), [0, 1, 0])
    assert policy.best == [2, 3, 0]
    for _ in range(3):
        policy.update(rl.Ranking([2, 1, 0], policy=tag), [0, 1, 0])
    assert policy.best == [1, 2, 3]


@every_policy
def test_clicks_that_cannot_be_change_nothing(make) -> None:
    policy = make(4, 2, seed=0)
    ranking = policy.rank()
    before = policy.snapshot()
    for clicks in ([1], [0, 0, 1], [0, 2], [0, -1], [0, float("nan")], None, "01"):
        with pytest.raises(ValueError, match="clicks"):
            policy.update(ranking, clicks)
    with pytest.raises(ValueError, match="not a list of this policy"):
        policy.update(make(4, 2).rank(), [0, 0])
    after = policy.snapshot()
    assert all(np.array_equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rl.CascadeUCB1(3, 4), "n_positions = 4 is more than the 3 items"),
        (lambda: rl.CascadeKLUCB(0, 0), "n_items must be a whole number of at least 1"),
        (lambda: rl.CascadeUCB1(3, 2, alpha=0), "alpha must be a positive number"),
        (lambda: rl.CascadeUCB1(3, 2, alpha=float("nan")), "alpha must be a positive number"),
        (lambda: rl.CascadeUCB1(3, 2, last_click=1), "last_click must be True or False, not 1"),
        (lambda: rl.CascadeSWUCB(3, 2, window=5, last_click=None), "last_click must be True or False"),
        (lambda: rl.CascadeDUCB(3, 2, gamma=1), "gamma must lie between 0 and 1"),
        (lambda: rl.CascadeDUCB(3, 2, gamma=0.0), "gamma must lie between 0 and 1"),
        (lambda: rl.CascadeDUCB(3, 2, gamma=float("nan")), "gamma must lie between 0 and 1"),
        (lambda: rl.CascadeDUCB(3, 2, gamma=0.9, horizon=100), "give gamma or the horizon"),
        (lambda: rl.CascadeDUCB(3, 2, gamma=0.9, breakpoints=1), "needs the horizon too"),
        (lambda: rl.CascadeDUCB(3, 2, horizon=0), "horizon must be a whole number of at least 1"),
        (lambda: rl.CascadeDUCB(3, 2, horizon=10, breakpoints=0), "breakpoints must be a whole number of at least 1"),
        (lambda: rl.CascadeDUCB(3, 2, horizon=10, breakpoints=11), "more than the 10 lists"),
        (lambda: rl.CascadeDUCB(3, 2, epsilon=-1), "epsilon must be a positive number"),
        (lambda: rl.CascadeSWUCB(3, 2, window=0), "window must be a whole number of at least 1"),
        (lambda: rl.CascadeSWUCB(3, 2, window=2.5), "window must be a whole number of at least 1"),
        (lambda: rl.CascadeSWUCB(3, 2, window=10, horizon=100), "give window or the horizon"),
        (lambda: rl.CascadeSWUCB(3, 2, breakpoints=2), "needs the horizon too"),
        (lambda: rl.CascadeSWUCB(3, 2, horizon=True), "horizon must be a whole number of at least 1"),
        (lambda: rl.CascadeSWUCB(3, 2, epsilon=0), "epsilon must be a positive number"),
    ],
)
def test_bad_parameters_are_refused(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
