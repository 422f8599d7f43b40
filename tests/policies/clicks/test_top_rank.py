"""TopRank against the pseudo-code, and the claims made for it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from references import partitions
from references.users import cascade, position_based

import rankloop as rl
from rankloop.testing import assert_same_state

SPREAD = [0.1, 0.7, 0.4, 0.02, 0.55, 0.25, 0.85]


def learn(policy, clicks, steps: int) -> None:
    for _ in range(steps):
        ranking = policy.rank()
        policy.update(ranking, clicks(ranking))


@pytest.mark.parametrize(("n_items", "n_positions"), [(7, 7), (7, 4), (7, 1), (60, 5)])
@pytest.mark.parametrize("model", ["CM", "PBM"])
def test_matches_the_pseudo_code_step_by_step(n_items: int, n_positions: int, model: str) -> None:
    attraction = (SPREAD + [0.05] * n_items)[:n_items]
    examination = np.linspace(1, 0.4, n_positions).tolist()
    steps = 2500 if n_items == 7 else 500

    def user():
        return cascade(attraction, 3) if model == "CM" else position_based(attraction, examination, 3)

    fast, fast_clicks = rl.TopRank(n_items, n_positions, delta=0.5, seed=9), user()
    slow, slow_clicks = partitions.TopRank(n_items, n_positions, 0.5, seed=9), user()
    changes = 0
    for _ in range(steps):
        ranking = fast.rank()
        before = fast.blocks
        assert slow.step(slow_clicks) == list(ranking)
        fast.update(ranking, fast_clicks(ranking))
        assert [sorted(block) for block in slow.blocks] == fast.blocks
        changes += before != fast.blocks
    assert changes >= min(n_positions, 2), "the run must go through several partitions to test them"


@pytest.mark.parametrize("n_positions", [5, 3])
def test_finds_the_best_list(n_positions: int) -> None:
    attraction, examination = [0.05, 0.9, 0.3, 0.02, 0.6], np.linspace(1, 0.6, n_positions)
    for clicks in (cascade(attraction, 1), position_based(attraction, examination, 1)):
        policy = rl.TopRank(5, n_positions, horizon=6000, seed=2)
        learn(policy, clicks, 6000)
        assert policy.blocks[:2] == [[1], [4]]
        assert policy.best[:3] == [1, 4, 2]


def test_settles_on_the_best_list_and_stays() -> None:
    policy = rl.TopRank(3, 2, horizon=1000, seed=2)
    assert not policy.settled
    late = policy.rank()
    learn(policy, position_based([0.05, 0.9, 0.4], [1, 0.8], 1), 1000)
    assert policy.blocks == [[1], [2], [0]]
    assert policy.settled
    for _ in range(500):
        policy.update(late, [int(item == 0) for item in late])
    assert [list(policy.rank()) for _ in range(50)] == [[1, 2]] * 50


def test_hidden_items_may_stay_in_any_order() -> None:
    """With the shown items in order nothing is left to chance, though two hidden ones may be equally good."""
    policy = rl.TopRank(4, 2, horizon=1000, seed=2)
    learn(policy, position_based([0.02, 0.9, 0.4, 0.02], [1, 0.8], 1), 2000)
    assert policy.blocks == [[1], [2], [0, 3]]
    assert policy.settled


def test_one_item_is_settled_from_the_start() -> None:
    policy = rl.TopRank(1, 1, horizon=10, seed=0)
    assert policy.settled
    policy.update(policy.rank(), [1])
    assert policy.best == [0]


def test_a_late_list_counts_for_the_block_it_was_drawn_from() -> None:
    """Of items that were shuffled together then the evidence stays, whatever block they are in by now."""
    policy = rl.TopRank(4, 4, horizon=100, seed=1)
    early = policy.rank()
    learn(policy, lambda ranking: [int(item == 3) for item in ranking], 100)
    assert policy.blocks == [[3], [0, 1, 2]]
    current = policy.rank()
    before = policy.state.wins.copy()
    policy.update(current, [1, 0, 0, 0])
    assert (policy.state.wins == before).all(), "item 3 was alone in its block"
    policy.update(early, [int(item == 3) for item in early])
    assert policy.blocks == [[3], [0, 1, 2]]
    assert (policy.state.wins[3] - before[3]).tolist() == [1, 1, 1, 0]
    policy.update(early, [int(item == 0) for item in early])
    assert policy.state.wins[0, 1] == before[0, 1] + 1


@pytest.mark.parametrize("first", [(0, 1), (1, 2)])
def test_contradicting_late_evidence_never_makes_a_cycle(first: tuple[int, int]) -> None:
    """Once 0 is above 1 and 1 above 2, 0 is above 2, whatever old lists say of those two."""
    policy = rl.TopRank(3, 3, delta=0.1, seed=1)
    early = policy.rank()

    def tell(*clicked: int) -> None:
        policy.update(early, [int(item in clicked) for item in early])

    if first == (0, 1):
        while not policy.state.better[0, 1]:
            tell(0)
            tell(0, 2)
        assert not policy.state.better[0, 2]
        while not policy.state.better[1, 2]:
            tell(1)
    else:
        while not policy.state.better[1, 2]:
            tell(1)
            tell(1, 0)
        assert not policy.state.better[0, 2]
        while not policy.state.better[0, 1]:
            tell(0, 2)
    assert policy.state.better[0, 2]
    for _ in range(200):
        tell(2)
    assert policy.blocks == [[0], [1], [2]]
    assert list(policy.rank()) == [0, 1, 2]


def test_begins_far_from_sorted() -> None:
    """Shuffled lists have 22.5 of 45 pairs inverted on average; more than 5 in nearly all of 100."""
    policy = rl.TopRank(10, 10, horizon=10**6, seed=4)
    clicks = cascade(np.linspace(0.5, 0.05, 10), 4)
    violations = 0
    for _ in range(100):
        ranking = policy.rank()
        policy.update(ranking, clicks(ranking))
        violations += sum(a > b for k, a in enumerate(ranking) for b in ranking[k + 1 :]) > 5
    assert violations > 90


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_items": 3, "n_positions": 4, "horizon": 10}, "more than the 3 items"),
        ({"n_items": 0, "n_positions": 1, "horizon": 10}, "n_items"),
        ({"n_items": 3, "n_positions": 0, "horizon": 10}, "n_positions"),
        ({"n_items": 3, "n_positions": 3, "horizon": 0}, "horizon"),
        ({"n_items": 3, "n_positions": 3, "horizon": 1.5}, "horizon"),
        ({"n_items": 3, "n_positions": 3}, "horizon or delta"),
        ({"n_items": 3, "n_positions": 3, "horizon": 10, "delta": 0.1}, "horizon or delta"),
        ({"n_items": 3, "n_positions": 3, "delta": 0.0}, "delta"),
        ({"n_items": 3, "n_positions": 3, "delta": 1.0}, "delta"),
        ({"n_items": 3, "n_positions": 3, "delta": float("nan")}, "delta"),
    ],
)
def test_refuses_bad_parameters(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rl.TopRank(**arguments)


@pytest.mark.parametrize(
    "notes", [[3, 3], [0, 3, 7], [3, 3, 0.5], [2, 3, 7], [3, 3, 8], [3, 3, -1], [4, 4, 7], [1.5, 3, 7], [3, 2, 7]]
)
def test_refuses_notes_that_cannot_be(notes: list[float]) -> None:
    policy = rl.TopRank(3, 2, horizon=10, seed=1)
    fields = json.loads(policy.rank().to_json())
    assert fields["notes"] == [3, 3, 7]
    before = policy.snapshot()
    with pytest.raises(ValueError, match="notes"):
        policy.update(rl.Ranking.from_json({**fields, "notes": notes}), [1, 0])
    assert_same_state(policy.snapshot(), before)
