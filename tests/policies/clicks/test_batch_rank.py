"""BatchRank against the pseudo-code, and the claims made for it."""

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


@pytest.mark.parametrize(("n_items", "n_positions"), [(7, 7), (7, 4), (7, 1), (30, 5)])
@pytest.mark.parametrize("model", ["CM", "PBM"])
def test_matches_the_pseudo_code_step_by_step(n_items: int, n_positions: int, model: str) -> None:
    attraction = (SPREAD + [0.05] * n_items)[:n_items]
    examination = np.linspace(1, 0.4, n_positions).tolist()

    def user():
        return cascade(attraction, 3) if model == "CM" else position_based(attraction, examination, 3)

    fast, fast_clicks = rl.BatchRank(n_items, n_positions, horizon=10, seed=9), user()
    slow, slow_clicks = partitions.BatchRank(n_items, n_positions, 10, seed=9), user()
    stages = set()
    for _ in range(2500):
        ranking = fast.rank()
        assert slow.step(slow_clicks) == list(ranking)
        fast.update(ranking, fast_clicks(ranking))
        assert [sorted(batch.items) for batch in slow.batches] == fast.batches
        stages.add((len(slow.batches), max(batch.stage for batch in slow.batches), len(slow.batches[-1].items)))
    assert len(stages) > 2, "the run must go through several stages to test them"


@pytest.mark.parametrize("n_positions", [5, 3])
def test_finds_the_best_list(n_positions: int) -> None:
    attraction, examination = [0.05, 0.9, 0.3, 0.02, 0.6], np.linspace(1, 0.6, n_positions)
    for clicks in (cascade(attraction, 1), position_based(attraction, examination, 1)):
        policy = rl.BatchRank(5, n_positions, horizon=500, seed=2)
        learn(policy, clicks, 6000)
        assert policy.batches[:2] == [[1], [4]]
        assert policy.best[:3] == [1, 4, 2]


def test_settles_on_the_best_list_and_stays() -> None:
    policy = rl.BatchRank(3, 2, horizon=100, seed=2)
    assert not policy.settled
    late = policy.rank()
    learn(policy, position_based([0.05, 0.9, 0.4], [1, 0.8], 1), 2000)
    assert policy.batches == [[1], [2]]
    assert policy.settled
    for _ in range(500):
        policy.update(late, [int(item == 0) for item in late])
    assert [list(policy.rank()) for _ in range(50)] == [[1, 2]] * 50


@pytest.mark.parametrize("n_positions", [2, 4])
def test_feedback_of_an_ended_stage_is_ignored(n_positions: int) -> None:
    policy = rl.BatchRank(4, n_positions, horizon=100, seed=1)
    early = policy.rank()
    learn(policy, lambda ranking: [0 for _ in ranking], 1000)
    assert policy.batches == [[0, 1, 2, 3]]
    before = policy.snapshot()
    policy.update(early, [1] * n_positions)
    assert_same_state(policy.snapshot(), before)


def test_feedback_of_a_split_batch_is_ignored() -> None:
    policy = rl.BatchRank(4, 4, horizon=100, seed=1)
    early = policy.rank()
    learn(policy, lambda ranking: [int(item == 3) for item in ranking], 100)
    assert policy.batches == [[3], [0, 1, 2]]
    before = policy.snapshot()
    policy.update(early, [1, 1, 1, 1])
    assert_same_state(policy.snapshot(), before)


def test_only_the_least_seen_items_learn() -> None:
    """Three items for two positions: in each second list one of them has been seen once more than the other."""
    policy = rl.BatchRank(3, 2, horizon=100, seed=1)
    learned = []
    for _ in range(60):
        before = policy.state.tally[:, 0].copy()
        ranking = policy.rank()
        policy.update(ranking, [1, 1])
        learned.append(int((policy.state.tally[:, 0] - before).sum()))
        assert np.ptp(policy.state.tally[:, 0]) <= 1
    assert learned == [2, 1] * 30


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_items": 3, "n_positions": 4, "horizon": 10}, "more than the 3 items"),
        ({"n_items": 0, "n_positions": 1, "horizon": 10}, "n_items"),
        ({"n_items": 3, "n_positions": 3, "horizon": 0}, "horizon"),
        ({"n_items": 3, "n_positions": 3, "horizon": float("inf")}, "horizon"),
    ],
)
def test_refuses_bad_parameters(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rl.BatchRank(**arguments)


@pytest.mark.parametrize("horizon", [1, 2, 3])
def test_a_tiny_horizon_is_no_error(horizon: int) -> None:
    policy = rl.BatchRank(3, 2, horizon=horizon, seed=1)
    learn(policy, lambda ranking: [int(item == 1) for item in ranking], 200)
    assert policy.best[0] == 1


@pytest.mark.parametrize("notes", [[0.5, 1], [2, 1], [-1, 1], [1e18, 1], [1]])
def test_refuses_notes_that_cannot_be(notes: list[float]) -> None:
    policy = rl.BatchRank(3, 2, horizon=10, seed=1)
    fields = json.loads(policy.rank().to_json())
    assert fields["notes"] == [1, 1]
    before = policy.snapshot()
    with pytest.raises(ValueError, match="notes"):
        policy.update(rl.Ranking.from_json({**fields, "notes": notes}), [1, 0])
    assert_same_state(policy.snapshot(), before)


def test_one_item_is_settled_from_the_start() -> None:
    policy = rl.BatchRank(1, 1, horizon=10, seed=0)
    assert policy.settled
    policy.update(policy.rank(), [1])
    assert policy.best == [0]


def test_refuses_an_item_that_was_not_in_the_batch() -> None:
    policy = rl.BatchRank(4, 4, horizon=100, seed=1)
    learn(policy, lambda ranking: [int(item == 3) for item in ranking], 100)
    fields = json.loads(policy.rank().to_json())
    items = fields["items"]
    assert items[0] == 3
    forged = {**fields, "items": [items[1], items[0], *items[2:]]}
    with pytest.raises(ValueError, match="notes"):
        policy.update(rl.Ranking.from_json(forged), [0, 1, 0, 0])
