"""RecurRank against the paper's pseudo-code, its optimal designs, and the claims made for it."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from references import recur_rank
from references.list_loop import Game
from references.users import cascade, position_based

import rankloop as rl
from rankloop.kernels import entry
from rankloop.policies.features import design
from rankloop.testing import assert_same_state


@entry
def g_optimal(rows, weights):
    return design.g_optimal(rows, weights)


@entry
def least_squares(rows, seen, clicked, rank, theta):
    design.least_squares(rows, seen, clicked, rank, theta)


def found_design(rows: np.ndarray) -> tuple[np.ndarray, float]:
    weights = np.zeros(len(rows))
    return weights, g_optimal(rows.copy(), weights)[1]


def linear(n_items: int, width: int, rank: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Features whose first column is 1, of a given rank, and attractions from 0.05 to 0.95 that are linear in them."""
    draw = np.random.default_rng(seed)
    own = np.column_stack([np.ones(n_items), draw.normal(size=(n_items, rank - 1))])
    score = own[:, 1:] @ draw.normal(size=rank - 1)
    attraction = 0.05 + 0.9 * (score - score.min()) / np.ptp(score)
    extra = own @ draw.normal(size=(rank, width - rank))
    return np.hstack([own, extra]), attraction


def learn(policy, clicks, steps: int) -> None:
    for _ in range(steps):
        ranking = policy.rank()
        policy.update(ranking, clicks(ranking))


# -- the design ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "width", "rank"), [(5, 5, 5), (60, 4, 4), (400, 20, 20), (400, 20, 7), (6, 20, 6), (50, 3, 1), (1, 4, 1)]
)
@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
def test_design_is_optimal(n: int, width: int, rank: int, scale: float) -> None:
    """By Kiefer and Wolfowitz' theorem no leverage can be lower than the dimension."""
    draw = np.random.default_rng(n + rank)
    rows = draw.normal(size=(n, rank)) @ draw.normal(size=(rank, width)) * scale
    weights = np.zeros(n)
    found_rank, leverage = g_optimal(rows.copy(), weights)
    assert found_rank == rank
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)
    assert leverage == pytest.approx(recur_rank.largest_leverage(rows, weights), rel=1e-6)
    assert rank * (1 - 1e-9) <= leverage <= 1.01 * rank
    assert (weights > 0).sum() <= rank * (rank + 1) / 2 + 1


def test_design_of_uneven_features() -> None:
    """Columns of very different scales, rows that repeat, and rows of zeros."""
    draw = np.random.default_rng(1)
    rows = np.tile(draw.normal(size=(40, 5)) * [1, 1e3, 1e-3, 10, 0], (2, 1))
    rows[3] = rows[43] = 0
    weights = np.zeros(80)
    rank, leverage = g_optimal(rows.copy(), weights)
    assert rank == 4
    assert weights[[3, 43]].tolist() == [0, 0]
    assert recur_rank.largest_leverage(rows / [1, 1e3, 1e-3, 10, 1], weights) == pytest.approx(leverage, rel=1e-6)
    assert leverage <= 1.01 * 4


def test_a_known_design() -> None:
    """For a straight line through points on [-1, 1], half of the weight goes to either end."""
    rows = np.column_stack([np.ones(21), np.linspace(-1, 1, 21)])
    weights, leverage = found_design(rows)
    assert leverage == pytest.approx(2)
    np.testing.assert_allclose(weights[[0, -1]], 0.5)
    assert weights[1:-1].max() == 0


@pytest.mark.parametrize("rank", [5, 3, 1])
def test_least_squares_is_the_shortest_solution(rank: int) -> None:
    draw = np.random.default_rng(rank)
    rows = draw.normal(size=(30, rank)) @ draw.normal(size=(rank, 5))
    seen = draw.integers(1, 50, 30).astype(float)
    clicked = np.floor(seen * draw.random(30))
    theta = np.zeros(5)
    least_squares(rows.copy(), seen, clicked, rank, theta)
    expected = np.linalg.pinv(rows.T @ (seen[:, None] * rows), rcond=1e-12) @ (rows.T @ clicked)
    np.testing.assert_allclose(theta, expected, atol=1e-10)


# -- the algorithm -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["CM", "PBM"])
@pytest.mark.parametrize(
    ("features", "attraction", "n_positions"),
    [
        (np.eye(7), [0.1, 0.7, 0.4, 0.02, 0.55, 0.25, 0.9], 7),
        (np.eye(7), [0.1, 0.7, 0.4, 0.02, 0.55, 0.25, 0.9], 3),
        (np.eye(4), [0.3, 0.3, 0.9, 0.3], 1),
        (*linear(30, 4, 4, seed=1), 5),
        (*linear(30, 6, 3, seed=2), 30),
        (np.repeat(np.eye(3), 3, axis=0), np.repeat([0.1, 0.5, 0.9], 3), 5),
    ],
)
def test_matches_the_pseudo_code_step_by_step(model: str, features, attraction, n_positions: int) -> None:
    examination = np.linspace(1, 0.6, n_positions).tolist()

    def user():
        return cascade(list(attraction), 3) if model == "CM" else position_based(list(attraction), examination, 3)

    orthogonal = len(features) == features.shape[1]
    design = recur_rank.uniform_design if orthogonal else found_design
    fast, fast_clicks = rl.RecurRank(features, n_positions, horizon=1, delta=0.9, seed=9), user()
    slow, slow_clicks = recur_rank.RecurRank(features, n_positions, 0.9, 9, design), user()
    stages = set()
    for step in range(1500):
        ranking = fast.rank()
        assert slow.rank() == list(ranking), f"in step {step}"
        fast.update(ranking, fast_clicks(ranking))
        slow.update(ranking, slow_clicks(ranking))
        assert [part.items for part in slow.parts] == fast.parts, f"in step {step}"
        stages.add(tuple((part.phase, len(part.items)) for part in slow.parts))
    assert len(stages) > 2, "the run must go through several phases to test them"


@pytest.mark.parametrize("delta", [None, 0.3])
def test_the_length_of_the_first_phase(delta: float | None) -> None:
    features, _ = linear(100, 8, 5, seed=3)
    policy = rl.RecurRank(features, 4, horizon=10_000, delta=delta, seed=1)
    needed = 5 * 2 * math.log(100 * 2 * 4 * 2 / (delta or 0.01))
    n_tried = int((policy.state.tally[:, 0] > 0).sum())
    assert needed <= policy.state.tally[:, 0].sum() <= 1.01 * needed + n_tried


def test_estimates_stay_within_their_bounds() -> None:
    """In none of 60 runs does an item stand in a part above a better one's, or is one of the best dropped.

    Each run may fail with probability 1e-4 by the theorem, and with far less in truth.
    """
    splits = drops = 0
    for run in range(60):
        features, attraction = linear(12, 4, 3, seed=run)
        policy = rl.RecurRank(features, 5, horizon=10_000, delta=1e-4, seed=run)
        Game(policy, rl.PositionBasedModel(attraction, [1, 0.9, 0.8, 0.7, 0.6]), run).play(100_000)
        parts = [attraction[part] for part in policy.parts]
        for above, below in itertools.pairwise(parts):
            assert above.min() > below.max()
        dropped = np.delete(attraction, [item for part in policy.parts for item in part])
        assert (dropped < np.sort(attraction)[-5]).all()
        splits += len(parts) - 1
        drops += len(dropped)
    assert min(splits, drops) > 60


FEATURES = np.column_stack([np.ones(6), [0.2, 1.0, 0.0, 0.6, 0.4, 0.8], [2.2, 3.0, 2.0, 2.6, 2.4, 2.8]])
"""Of rank 2, as the last column is 2 plus the second."""


@pytest.mark.parametrize(("model", "n_positions"), [("CM", 2), ("CM", 3), ("PBM", 3), ("PBM", 6)])
def test_finds_the_right_order_and_stops_having_regret(model: str, n_positions: int) -> None:
    if model == "CM":
        environment = rl.CascadeModel(0.05 + 0.4 * FEATURES[:, 1])
    else:
        environment = rl.PositionBasedModel(0.05 + 0.9 * FEATURES[:, 1], np.linspace(1, 0.5, n_positions))
    order = [1, 5, 3, 4, 0, 2][:n_positions]
    for run in range(3):
        policy = rl.RecurRank(FEATURES, n_positions, horizon=10_000, seed=run)
        game = Game(policy, environment, run)
        assert game.play(1000) > 0
        game.play(2_000_000)
        assert policy.best == order
        assert policy.parts == [[item] for item in order]
        assert game.play(10_000) == pytest.approx(0, abs=1e-9)


def test_settles_on_the_best_list_and_stays() -> None:
    policy = rl.RecurRank(np.eye(3), 2, horizon=100, seed=2)
    assert not policy.settled
    late = policy.rank()
    learn(policy, position_based([0.05, 0.9, 0.4], [1, 0.8], 1), 3000)
    assert policy.parts == [[1], [2]]
    assert policy.settled
    for _ in range(500):
        policy.update(late, [int(item == 0) for item in late])
    assert [list(policy.rank()) for _ in range(50)] == [[1, 2]] * 50


@pytest.mark.parametrize("features", [np.ones((1, 2)), np.ones((4, 2)), np.zeros((4, 2))])
def test_items_that_are_alike_leave_nothing_to_learn(features) -> None:
    policy = rl.RecurRank(features, 1, horizon=10, seed=0)
    assert policy.settled
    ranking = policy.rank()
    policy.update(ranking, [1])
    assert policy.best == list(ranking) == list(policy.rank())


@pytest.mark.parametrize("scale", [1e-320, 1e-170, 1e-9, 1e9, 1e200, 5e307])
def test_the_scale_of_features_does_not_matter(scale: float) -> None:
    features = np.array([[1.0], [2.0], [3.0]])
    one, other = (rl.RecurRank(features * by, 2, horizon=100, seed=1) for by in (1.0, scale))
    assert other.features.tolist() == (features * scale).tolist()
    for _ in range(400):
        rankings = [policy.rank() for policy in (one, other)]
        assert list(rankings[0]) == list(rankings[1])
        for policy, ranking in zip((one, other), rankings, strict=True):
            policy.update(ranking, [int(item == 2) for item in ranking])
    assert one.parts == other.parts == [[2], [1]]


def test_features_of_nothing_on_the_scale_of_others_leave_nothing_to_learn() -> None:
    policy = rl.RecurRank([[1e-170], [2e-170], [1.0]], 3, horizon=100, seed=1)
    learn(policy, lambda ranking: [int(item == 2) for item in ranking], 400)
    assert [sorted(part) for part in policy.parts] == [[2], [0, 1]]
    assert policy.settled
    assert list(policy.rank()) == policy.best


def test_only_first_positions_learn() -> None:
    policy = rl.RecurRank(np.eye(4), 3, horizon=100, seed=1)
    for _ in range(10):
        before = policy.state.tally.copy()
        ranking = policy.rank()
        policy.update(ranking, [1, 1, 1])
        gained = policy.state.tally - before
        assert gained[ranking[0]].tolist() == [0, 1, 1]
        assert gained.sum() == 2


@pytest.mark.parametrize("n_positions", [2, 4])
def test_feedback_of_an_ended_phase_is_ignored(n_positions: int) -> None:
    policy = rl.RecurRank(np.eye(4), n_positions, horizon=100, seed=1)
    early = policy.rank()
    learn(policy, lambda ranking: [0 for _ in ranking], 200)
    assert policy.state.part[0, 2] == 2
    before = policy.snapshot()
    policy.update(early, [1] * n_positions)
    assert_same_state(policy.snapshot(), before)


def test_trials_beyond_those_planned_are_ignored() -> None:
    """Where clicks come late, more lists try an item than were planned."""
    policy = rl.RecurRank(np.eye(3), 1, horizon=100, seed=1)
    first = policy.rank()
    quota = int(policy.state.tally[first[0], 0])
    for _ in range(quota):
        policy.update(first, [1])
    before = policy.snapshot()
    policy.update(first, [0])
    assert_same_state(policy.snapshot(), before)
    assert all(policy.rank()[0] != first[0] for _ in range(200))


def test_a_saved_policy_goes_on_through_splits(tmp_path) -> None:
    features, attraction = linear(6, 3, 2, seed=5)
    policy = rl.RecurRank(features, 4, horizon=1000, seed=4)
    users = rl.PositionBasedModel(attraction, [1, 0.9, 0.8, 0.7])
    Game(policy, users, 1).play(8000)
    parts = policy.parts
    assert len(parts) > 1
    policy.save(tmp_path / "policy.npz")
    loaded = rl.load(tmp_path / "policy.npz")
    for one in (policy, loaded):
        Game(one, users, 2).play(100_000)
    assert loaded.parts == policy.parts != parts
    assert_same_state(loaded.snapshot(), policy.snapshot())


# -- bad input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_positions": 4}, "more than the 3 items"),
        ({"n_positions": 0}, "n_positions"),
        ({"horizon": 0}, "horizon"),
        ({"horizon": float("inf")}, "horizon"),
        ({"delta": 0}, "delta"),
        ({"delta": 1}, "delta"),
        ({"delta": float("nan")}, "delta"),
        ({"features": [1, 2, 3]}, "one row for each item"),
        ({"features": [["x"], ["y"], ["z"]]}, "features"),
        ({"features": [[1.0], [float("nan")], [2.0]]}, r"features\[1, 0\]"),
        ({"features": np.zeros((0, 3))}, "n_items"),
        ({"seed": -1}, "seed"),
    ],
)
def test_refuses_bad_parameters(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rl.RecurRank(**{"features": np.eye(3), "n_positions": 2, "horizon": 10, **arguments})


@pytest.mark.parametrize("notes", [[0.5, 0], [2, 0], [-1, 0], [1e18, 0], [1]])
def test_refuses_notes_that_cannot_be(notes: list[float]) -> None:
    policy = rl.RecurRank(np.eye(3), 2, horizon=10, seed=1)
    fields = json.loads(policy.rank().to_json())
    assert fields["notes"] == [1, 0]
    before = policy.snapshot()
    with pytest.raises(ValueError, match="notes"):
        policy.update(rl.Ranking.from_json({**fields, "notes": notes}), [1, 0])
    assert_same_state(policy.snapshot(), before)


def test_refuses_an_item_that_the_phase_does_not_try() -> None:
    rows = np.column_stack([np.ones(21), np.linspace(-1, 1, 21)])
    policy = rl.RecurRank(rows, 3, horizon=100, seed=1)
    ranking = policy.rank()
    assert ranking[0] in (0, 20)
    items = [10, *(item for item in ranking if item != 10)][:3]
    with pytest.raises(ValueError, match="notes"):
        policy.update(rl.Ranking(items, notes=ranking.notes, policy=ranking.policy), [0, 1, 0])
