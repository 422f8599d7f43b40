"""RankedEXP3 against the pseudo-code, and the claims made for it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from references import partitions
from references.users import cascade, position_based

import rankloop as rl
from rankloop.testing import assert_same_state

SPREAD = [0.1, 0.7, 0.4, 0.02, 0.55, 0.25, 0.85]


def assert_same_weights(fast, slow) -> None:
    """Up to a factor for each position."""
    leaves = fast.state.weights.shape[1] // 2
    weights = fast.state.weights[:, leaves : leaves + fast.n_items]
    expected = np.exp(np.array(slow.log_w) - np.max(slow.log_w, axis=1, keepdims=True))
    np.testing.assert_allclose(weights / weights.max(axis=1, keepdims=True), expected, rtol=1e-9)


@pytest.mark.parametrize(("n_items", "n_positions"), [(7, 7), (7, 3), (8, 8), (33, 5)])
@pytest.mark.parametrize("gamma", [0.3, None])
def test_matches_the_pseudo_code_step_by_step(n_items: int, n_positions: int, gamma: float | None) -> None:
    """The reference keeps logarithms of weights, so a draw may differ where it falls within 1e-15 of a boundary."""
    attraction = (SPREAD + [0.05] * n_items)[:n_items]
    examination = np.linspace(1, 0.4, n_positions).tolist()
    fast = rl.RankedEXP3(n_items, n_positions, gamma=gamma, seed=9)
    slow = partitions.RankedEXP3(n_items, n_positions, gamma, seed=9)
    fast_clicks, slow_clicks = (position_based(attraction, examination, 3) for _ in range(2))
    for _ in range(1500):
        ranking = fast.rank()
        assert slow.step(slow_clicks) == list(ranking)
        fast.update(ranking, fast_clicks(ranking))
    assert_same_weights(fast, slow)


def test_weights_scaled_down_give_the_same_choices() -> None:
    """Weights grow until their sum passes 1e100 and are scaled down; the reference's never are."""
    fast = rl.RankedEXP3(3, 2, gamma=0.9, seed=9)
    slow = partitions.RankedEXP3(3, 2, 0.9, seed=9)

    def clicks(shown):
        return [int(item == 1) for item in shown]

    largest = 0.0
    for _ in range(1500):
        ranking = fast.rank()
        assert slow.step(clicks) == list(ranking)
        fast.update(ranking, clicks(ranking))
        largest = max(largest, fast.state.weights.max())
        assert np.isfinite(fast.state.weights).all()
    assert largest > 1e90
    assert max(slow.log_w[0]) > 400
    assert fast.state.weights[0, 1] < 1e100
    assert_same_weights(fast, slow)


@pytest.mark.parametrize("arguments", [{"horizon": 8000}, {}])
def test_finds_the_best_list(arguments: dict) -> None:
    """Well separated, and over two positions: it learns slowly."""
    attraction = [0.02, 0.5, 0.02, 0.9, 0.02]
    for clicks in (cascade(attraction, 1), position_based(attraction, [1, 0.8], 1)):
        policy = rl.RankedEXP3(5, 2, seed=2, **arguments)
        for _ in range(8000):
            ranking = policy.rank()
            policy.update(ranking, clicks(ranking))
        assert policy.best == [3, 1]


def test_only_its_own_choice_teaches_a_position() -> None:
    policy = rl.RankedEXP3(4, 4, gamma=0.5, seed=3)
    replaced = 0
    for _ in range(200):
        ranking = policy.rank()
        before = policy.state.weights.copy()
        policy.update(ranking, [1, 1, 1, 1])
        learned = (policy.state.weights != before).any(axis=1)
        assert learned.tolist() == [note > 0 for note in ranking.notes]
        assert learned[0]
        replaced += int(not learned.all())
    assert replaced > 100


def test_a_late_list_is_weighed_by_the_probability_it_was_drawn_with() -> None:
    policy = rl.RankedEXP3(4, 2, gamma=0.2, seed=3)
    late = policy.rank()
    assert late.notes[0] == 0.25
    for _ in range(100):
        policy.update(policy.rank(), [1, 0])
    leaf = policy.state.weights.shape[1] // 2 + late[0]
    before = policy.state.weights[0, leaf]
    policy.update(late, [1, 0])
    assert policy.state.weights[0, leaf] == pytest.approx(before * np.exp(0.2 / (4 * 0.25)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_items": 3, "n_positions": 4}, "more than the 3 items"),
        ({"n_items": 3, "n_positions": 3, "horizon": 0}, "horizon"),
        ({"n_items": 3, "n_positions": 3, "gamma": 0}, "gamma"),
        ({"n_items": 3, "n_positions": 3, "gamma": 1.2}, "gamma"),
        ({"n_items": 3, "n_positions": 3, "gamma": float("nan")}, "gamma"),
        ({"n_items": 3, "n_positions": 3, "gamma": 0.1, "horizon": 5}, "not both"),
    ],
)
def test_refuses_bad_parameters(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rl.RankedEXP3(**arguments)


@pytest.mark.parametrize("notes", [[1e-9, 0.5], [-0.5, 0.5], [2.0, 0.5], [0.5]])
def test_refuses_notes_that_cannot_be(notes: list[float]) -> None:
    policy = rl.RankedEXP3(3, 2, gamma=0.1, seed=1)
    fields = json.loads(policy.rank().to_json())
    before = policy.snapshot()
    with pytest.raises(ValueError, match="notes"):
        policy.update(rl.Ranking.from_json({**fields, "notes": notes}), [1, 0])
    assert_same_state(policy.snapshot(), before)


def test_one_item_is_no_error() -> None:
    policy = rl.RankedEXP3(1, 1, seed=0)
    for _ in range(10):
        ranking = policy.rank()
        assert list(ranking) == [0]
        policy.update(ranking, [1])
