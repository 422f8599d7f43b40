"""BubbleRank against the pseudo-code, the lemmas of its safety, and its receipt."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from references.bubble_rank import BubbleRank as Reference

import rankloop as rl
from rankloop.environments import CascadeModel, DependentClickModel, PositionBasedModel
from rankloop.simulation.lists import ListSimulation


def click(draw: random.Random, attraction: list[float], shown) -> list[int]:
    return [int(draw.random() < attraction[item]) for item in shown]


@pytest.mark.parametrize(("n_items", "n_positions"), [(2, 2), (6, 6), (7, 7), (8, 4), (7, 3), (5, 1)])
def test_matches_the_pseudo_code_step_by_step(n_items: int, n_positions: int) -> None:
    draw = random.Random(n_items)
    initial = list(range(n_items))
    draw.shuffle(initial)
    attraction = [(item + 1) / (n_items + 1) for item in range(n_items)]
    fast = rl.BubbleRank(initial, horizon=50, n_positions=n_positions, seed=4)
    slow = Reference(initial, n_positions, horizon=50, seed=4)
    for _ in range(6000):
        ranking = fast.rank()
        assert list(ranking) == slow.rank()
        clicks = click(draw, attraction, ranking)
        fast.update(ranking, clicks)
        slow.update(list(ranking), clicks)
        assert fast.base == slow.R
    assert fast.state.better.any(), "some pairs must have been decided"


def random_problem(draw: np.random.Generator, kind: str, n: int):
    attraction = draw.uniform(0.05, 0.95, n)
    positions = np.sort(draw.uniform(0.1, 1, n))[::-1]
    if kind == "CM":
        return CascadeModel(attraction * 0.5)
    return (DependentClickModel if kind == "DCM" else PositionBasedModel)(attraction, positions)


@pytest.mark.parametrize("kind", ["CM", "DCM", "PBM"])
def test_never_violates_safety(kind: str) -> None:
    """70 random problems in each model, the first fifth of 10^6 steps, in which nearly all exchanges are made.

    The lemma allows a violation in 1 of 10^4 problems at most.
    """
    draw = np.random.default_rng(1)
    steps = np.array([2 * 10**5])
    for seed in range(70):
        n = int(draw.integers(4, 11))
        problem = random_problem(draw, kind, n)
        initial = draw.permutation(n).tolist()
        policy = rl.BubbleRank(initial, horizon=10**6)
        run = ListSimulation(policy, problem, initial=initial).run(0, seed, steps, 2 * 10**5, lambda _: None)
        assert run.records["violations"][0] == 0, f"{problem}, initial list {initial}"


def test_lists_stay_beside_the_base_list_which_only_improves() -> None:
    """No displayed list moves an item more than one place; decided pairs never flip; inversions only fall."""
    draw = random.Random(3)
    attraction = [0.1, 0.9, 0.3, 0.7, 0.5, 0.2]
    policy = rl.BubbleRank([0, 1, 2, 3, 4, 5], horizon=10_000, seed=1)
    decided: set[tuple[int, int]] = set()
    inversions = 15
    for _ in range(20_000):
        base = policy.base
        ranking = policy.rank()
        assert all(abs(base.index(item) - k) <= 1 for k, item in enumerate(ranking))
        policy.update(ranking, click(draw, attraction, ranking))
        now = {(int(i), int(j)) for i, j in np.argwhere(policy.state.better)}
        assert decided <= now
        decided = now
        wrong = sum(attraction[policy.base[a]] < attraction[policy.base[b]] for a in range(6) for b in range(a + 1, 6))
        assert wrong <= inversions
        inversions = wrong
    assert inversions == 0
    assert decided


def test_unknown_horizon_doubles_and_goes_back_to_the_initial_list() -> None:
    policy = rl.BubbleRank([0, 1], seed=1)
    for _ in range(1024):
        ranking = policy.rank()
        policy.update(ranking, [int(item == 1) for item in ranking])
    assert policy.base == [1, 0]
    evidence = policy.state.duels.copy()
    policy.rank()
    assert policy.base == [0, 1], "the base list must return to the initial one when the horizon is passed"
    assert (policy.state.duels == evidence).all()
    assert policy.receipt().horizon == 2048


def test_feedback_to_an_old_list_does_not_undo_a_decision() -> None:
    policy = rl.BubbleRank([0, 1], horizon=10, seed=1)
    old = []
    while policy.base == [0, 1]:
        ranking = policy.rank()
        old.append(ranking)
        policy.update(ranking, [int(item == 1) for item in ranking])
    before = policy.snapshot()
    for ranking in old:
        policy.update(ranking, [int(item == 0) for item in ranking])
    after = policy.snapshot()
    assert policy.base == [1, 0]
    assert (before["lead"] == after["lead"]).all()


def test_revert_refuses_lists_shown_before_it() -> None:
    policy = rl.BubbleRank([1, 0, 2], horizon=100, seed=1)
    old = policy.rank()
    policy.revert()
    before = policy.snapshot()
    with pytest.raises(ValueError, match="not a list of this policy"):
        policy.update(old, [1, 0, 0])
    assert all((before[name] == value).all() for name, value in policy.snapshot().items())
    assert policy.base == [1, 0, 2]
    policy.update(policy.rank(), [0, 0, 0])


def test_receipt_tells_what_was_decided_and_why() -> None:
    draw = random.Random(5)
    policy = rl.BubbleRank([0, 1, 2], horizon=1000, seed=2)
    for _ in range(2000):
        ranking = policy.rank()
        policy.update(ranking, click(draw, [0.1, 0.5, 0.9], ranking))
    receipt = policy.receipt()
    assert receipt.base == [2, 1, 0]
    assert [(e.raised, e.lowered) for e in receipt.exchanges][-1] in [(1, 0), (2, 0), (2, 1)]
    assert len(receipt.exchanges) == 3
    assert sorted(e.after for e in receipt.exchanges) == [e.after for e in receipt.exchanges]
    for pair in receipt.pairs:
        assert pair.decided == (abs(pair.lead) > pair.threshold)
    assert receipt.bound(initial_inversions=3) == 4.5
    assert receipt.probability == pytest.approx(1 - 2 * 9 / 1000)  # twice as many lists as were promised
    fields = json.loads(receipt.to_json())
    assert fields["pairs"][0]["decided"] is True
    assert fields["probability"] == pytest.approx(receipt.probability)
    assert "2 over 1: decided" in str(receipt)


def test_receipt_adds_up_what_may_have_gone_wrong_under_every_horizon_tried() -> None:
    policy = rl.BubbleRank([0, 1, 2], seed=2)
    assert policy.receipt().probability == pytest.approx(1 - 9 / 1024)
    for _ in range(3000):
        policy.update(policy.rank(), [0, 0, 0])
    receipt = policy.receipt()
    assert receipt.horizon == 4096
    assert receipt.probability == pytest.approx(1 - 9 * (1024 / 1024**2 + 1024 / 2048**2 + 2048 / 4096**2))
    assert "3,000 lists (horizon doubled to 4,096)" in str(receipt)


def test_receipt_of_a_policy_with_its_own_delta_counts_the_lists_there_were() -> None:
    policy = rl.BubbleRank([0, 1, 2], n_positions=2, delta=1e-12, seed=2)
    for _ in range(3000):
        policy.update(policy.rank(), [0, 0])
    assert policy.receipt().probability == pytest.approx(1 - 1e-6 * 9 * 3000)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"initial": [0, 1, 1]}, "item 1 twice"),
        ({"initial": [0, 2]}, "cannot hold 2"),
        ({"initial": [0]}, "at least 2 items"),
        ({"initial": 3}, "sequence of items"),
        ({"initial": [0, 1], "n_positions": 3}, "more than the 2 items"),
        ({"initial": [0, 1], "horizon": 0}, "horizon"),
        ({"initial": [0, 1], "delta": 1.5}, "delta must lie between 0 and 1"),
    ],
)
def test_bad_parameters_are_refused(arguments, complaint) -> None:
    with pytest.raises(ValueError, match=complaint):
        rl.BubbleRank(**arguments)
