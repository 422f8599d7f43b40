"""Click environments whose preferences change."""

from __future__ import annotations

import numpy as np
import pytest

import rankloop as rl

ROWS = [[0.5, 0.2, 0.1], [0.1, 0.2, 0.5], [0.3, 0.6, 0.0]]
LENGTHS = [100, 40, 60]
POSITIONS = [0.9, 0.7, 0.4]
USERS = {
    "CM": (rl.DriftingCascade(ROWS, LENGTHS), rl.CascadeModel),
    "DCM": (rl.DriftingDependentClickModel(ROWS, POSITIONS, LENGTHS), rl.DependentClickModel),
    "PBM": (rl.DriftingPositionBasedModel(ROWS, POSITIONS, LENGTHS), rl.PositionBasedModel),
}


def stationary(kind: str, epoch: int):
    return USERS[kind][1](*([ROWS[epoch]] if kind == "CM" else [ROWS[epoch], POSITIONS]))


@pytest.mark.parametrize("kind", USERS)
def test_records_follow_the_schedule(kind: str) -> None:
    """A fixed list has the regret and the NDCG that the users of each epoch give it, the second round included."""
    users, shown = USERS[kind][0], [1, 0]
    steps = [1, 100, 101, 140, 200, 201, 300, 350]
    result = rl.simulate(
        rl.FixedRanking([1, 0, 2], n_positions=2), users, horizon=350, runs=2, checkpoints=steps, workers=1
    )
    each = np.repeat([0, 1, 2, 0, 1, 2], LENGTHS * 2)[:350]
    expected = np.cumsum([stationary(kind, epoch).regret(shown) for epoch in each])[np.array(steps) - 1]
    np.testing.assert_allclose(result.regret, [expected, expected])
    discount = 1 / np.log2([2, 3])
    rows = np.array(ROWS)[each[np.array(steps) - 1]]
    np.testing.assert_allclose(result.ndcg[0], rows[:, shown] @ discount / (-np.sort(-rows)[:, :2] @ discount))


@pytest.mark.parametrize("kind", USERS)
def test_every_epoch_clicks_like_its_click_model(kind: str) -> None:
    """On a shared stream of random numbers each answer equals that of the stationary users of its epoch."""
    users = type(USERS[kind][0])(*([ROWS] if kind == "CM" else [ROWS, POSITIONS]), LENGTHS)
    for step in range(400):
        expected = stationary(kind, users.epoch_at(step)).click([2, 0, 1], seed=step)
        assert users.click([2, 0, 1], seed=step) == expected


@pytest.mark.parametrize("kind", USERS)
def test_what_python_says_is_that_of_the_epoch(kind: str) -> None:
    users = USERS[kind][0]
    for at, epoch in ((0, 0), (99, 0), (100, 1), (139, 1), (140, 2), (199, 2), (200, 0)):
        now = stationary(kind, epoch)
        assert users.epoch_at(at) == epoch
        assert users.attraction_at(at).tolist() == ROWS[epoch]
        assert users.optimal_list(2, at=at) == now.optimal_list(2)
        assert users.reward([2, 0], at=at) == now.reward([2, 0])
        assert users.regret([2, 0, 1], top=1, at=at) == now.regret([2, 0, 1], top=1)


@pytest.mark.parametrize("kind", USERS)
def test_the_construction_of_chapter_4(kind: str) -> None:
    default = np.linspace(0.3, 0.03, 10)
    positions = [] if kind == "CM" else [[0.9, 0.5, 0.4]]
    make = type(USERS[kind][0]).chapter4
    users = make(default, *positions, raised_for=7, default_for=11, seed=1)
    assert users.epoch_length.tolist() == [11, 7] * 5
    for epoch, row in enumerate(users.attractions):
        changed = np.flatnonzero(row != default)
        assert len(changed) == (3 if epoch % 2 else 0)
        assert (row[changed] == 0.9).all()
        assert (changed >= 3).all(), "the top 3 stay"
    assert len({tuple(row) for row in users.attractions}) > 3, "other items rise each time"
    same = make(default, *positions, raised_for=7, default_for=11, seed=1)
    np.testing.assert_array_equal(same.attractions, users.attractions)


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: rl.DriftingCascade([], 10), "at least one"),
        (lambda: rl.DriftingCascade(0.5, 10), "one row of numbers for each epoch"),
        (lambda: rl.DriftingCascade([0.5, 0.2], 10), r"attractions\[0\] must be a sequence"),
        (lambda: rl.DriftingCascade([[0.5], [0.5, 0.2]], 10), r"attractions\[0\] has 1 and attractions\[1\] has 2"),
        (lambda: rl.DriftingCascade([[0.5, 0.1], [0.5, 1.2]], 10), r"attractions\[1\]\[1\] = 1.2"),
        (lambda: rl.DriftingCascade([[0.5, float("nan")]], 10), r"attractions\[0\]\[1\] = nan"),
        (lambda: rl.DriftingCascade(ROWS, 0), "at least 1, not 0"),
        (lambda: rl.DriftingCascade(ROWS, [10, 10]), "3 epochs, but 2 epoch lengths"),
        (lambda: rl.DriftingCascade(ROWS, 1.5), "not 1.5"),
        (lambda: rl.DriftingDependentClickModel(ROWS, [1.5], 10), r"abandonment\[0\] = 1.5"),
        (lambda: rl.DriftingPositionBasedModel(ROWS, [], 10), "examination must be a sequence of at least 1"),
        (lambda: rl.DriftingCascade.chapter4([0.5, 0.4], stay=1, raised=2), "more than the 2 there are"),
        (lambda: rl.DriftingCascade.chapter4([0.5] * 9, breakpoints=0), "breakpoints must be"),
        (lambda: rl.DriftingCascade.chapter4([0.5] * 9, raised_to=1.1), "= 1.1"),
        (lambda: rl.DriftingCascade(ROWS, 10).epoch_at(-1), "at must be"),
        (lambda: rl.DriftingCascade(ROWS, 10).click([0, 0]), "must not hold an item twice"),
        (lambda: rl.DriftingCascade(ROWS, 10).reward([3]), "item 3 does not exist"),
    ],
)
def test_bad_input_is_refused(make, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        make()
