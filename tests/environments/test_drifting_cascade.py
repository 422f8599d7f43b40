"""Users whose preferences change, and the claims of chapter 4 among them."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from references.list_loop import Game
from shared_data import SHARED

import rankloop as rl
from rankloop.kernels import stream

YANDEX = SHARED / "click_models" / "yandex_40_queries.json"


def test_epochs_follow_each_other_and_start_over() -> None:
    users = rl.DriftingCascade([[1, 0, 0], [0, 1, 0], [0, 0, 1]], epoch_length=[2, 1, 3])
    clicked = [users.click([0, 1, 2], seed=0).index(1) for _ in range(15)]
    assert clicked == [0, 0, 1, 2, 2, 2, 0, 0, 1, 2, 2, 2, 0, 0, 1]
    assert clicked == [users.epoch_at(at) for at in range(15)]


def test_clicks_have_the_epochs_probabilities() -> None:
    """40,000 lists: each frequency within four standard errors (false alarms: about 1 in 2,000)."""
    rows = np.array([[0.3, 0.6, 0.1], [0.8, 0.0, 0.5]])
    users = rl.DriftingCascade(rows, epoch_length=1)
    rng = stream(8)
    clicks = np.array([users.click([2, 0, 1], seed=rng) for _ in range(40_000)])
    assert clicks.sum(axis=1).max() == 1
    for epoch in (0, 1):
        a, b, c = rows[epoch, [2, 0, 1]]
        expected = np.array([a, (1 - a) * b, (1 - a) * (1 - b) * c])
        error = np.sqrt(expected * (1 - expected) / 20_000)
        assert (abs(clicks[epoch::2].mean(axis=0) - expected) <= 4 * error).all()


@pytest.mark.parametrize("top", [None, 1, 2, 5])
def test_the_compiled_regret_is_that_of_the_moment(top: int | None) -> None:
    draw = np.random.default_rng(3)
    rows = draw.random((3, 5))
    users = rl.DriftingCascade(rows, epoch_length=[2, 3, 1])

    class Fixed:
        def __init__(self, items: list[int]) -> None:
            policy = rl.FixedRanking([*items, *(i for i in range(5) if i not in items)], n_positions=3)
            self.state, self.n_positions, self.n_notes = policy.state, 3, 0

    items = [4, 0, 2]
    game = Game(Fixed(items), users, 0)
    game.users = users.state_at(top)
    for at in range(14):
        n = min(3, top or 3)
        best = max(
            1 - np.prod(1 - rows[users.epoch_at(at)][list(others)]) for others in itertools.combinations(range(5), n)
        )
        here = 1 - np.prod(1 - rows[users.epoch_at(at)][items[:n]])
        assert np.isclose(users.regret(items, top, at=at), best - here)
        assert np.isclose(game.play(1), best - here)


def test_each_run_starts_at_the_first_step() -> None:
    users = rl.DriftingCascade([[1.0, 0.0], [0.0, 1.0]], epoch_length=1)
    users.click([0, 1])
    assert users.state_at(None).clock.tolist() == [0, 0]


def test_the_drift_of_chapter_4() -> None:
    attraction = np.array([0.1, 0.5, 0.2, 0.4, 0.3, 0.05, 0.15, 0.02])
    users = rl.DriftingCascade.chapter4(attraction, seed=1)
    assert users.epoch_length.tolist() == [10_000] * 10
    assert (users.attractions[::2] == attraction).all()
    raised = []
    for row in users.attractions[1::2]:
        assert (row[[1, 3, 4]] == attraction[[1, 3, 4]]).all()
        risen = np.flatnonzero(row != attraction)
        assert len(risen) == 3
        assert (row[risen] == 0.9).all()
        raised.append(tuple(risen))
    assert len(set(raised)) > 1
    again = rl.DriftingCascade.chapter4(attraction, seed=1)
    assert (again.attractions == users.attractions).all()
    other = rl.DriftingCascade.chapter4(
        attraction, stay=1, raised=2, raised_to=0.7, raised_for=5, default_for=3, breakpoints=5
    )
    assert other.epoch_length.tolist() == [3, 5, 3, 5, 3]
    assert [int((row == 0.7).sum()) for row in other.attractions] == [0, 2, 0, 2, 0]
    assert other.n_steps == 19


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rl.DriftingCascade([], 10), "one row of numbers for each epoch, at least one"),
        (lambda: rl.DriftingCascade([[]], 10), "at least 1 number"),
        (lambda: rl.DriftingCascade([0.1, 0.2], 10), "at least 1 number"),
        (lambda: rl.DriftingCascade([[0.1, 0.2], [0.1]], 10), "every epoch has the same items"),
        (lambda: rl.DriftingCascade([[0.1, "x"]], 10), "sequence of numbers in"),
        (lambda: rl.DriftingCascade([[0.1, 0.2], [0.1, 1.5]], 10), r"attractions\[1\]\[1\] = 1.5 is not"),
        (lambda: rl.DriftingCascade([[-0.1, 0.2]], 10), r"attractions\[0\]\[0\] = -0.1 is not"),
        (lambda: rl.DriftingCascade([[float("nan"), 0.2]], 10), r"attractions\[0\]\[0\] = nan is not"),
        (lambda: rl.DriftingCascade([[0.1, 0.2]], 0), "at least 1, not 0"),
        (lambda: rl.DriftingCascade([[0.1, 0.2]], 2.5), "at least 1, not 2.5"),
        (lambda: rl.DriftingCascade([[0.1, 0.2]], [5, 5]), "1 epochs, but 2 epoch lengths"),
        (lambda: rl.DriftingCascade([[0.1, 0.2]], "5"), "at least 1, not '5'"),
        (lambda: rl.DriftingCascade.chapter4([0.1] * 5), "3 items that stay and 3 that rise are more than the 5"),
        (lambda: rl.DriftingCascade.chapter4([0.1] * 6, breakpoints=0), "breakpoints must be a whole number"),
        (lambda: rl.DriftingCascade.chapter4([0.1] * 6, raised=-1), "raised must be a whole number"),
        (lambda: rl.DriftingCascade.chapter4([0.1] * 6, raised_to=1.1), "1.1 is not a probability"),
        (lambda: rl.DriftingCascade.chapter4([0.1] * 6, raised_for=0), "at least 1, not 0"),
        (lambda: rl.DriftingCascade([[0.1, 0.2]], 5).click([0, 0]), "an item twice"),
        (lambda: rl.DriftingCascade([[0.1, 0.2]], 5).click([0, 2]), "item 2 does not exist"),
        (lambda: rl.DriftingCascade([[0.1, 0.2]], 5).click(3), "sequence of item numbers"),
        (lambda: rl.DriftingCascade([[0.1, 0.2]], 5).regret([0], at=-1), "at must be"),
        (lambda: rl.DriftingCascade([[0.1, 0.2]], 5).state_at(0), "top must be"),
        (lambda: rl.DriftingCascade([[0.1, 0.2]], 5).optimal_list(3), "n_positions must be"),
    ],
)
def test_bad_input_is_refused(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def claims_of_chapter_4(attractions: list[list[float]]) -> None:
    """Regret by epoch over queries and 2 runs of 100,000 steps each."""

    def epochs(make) -> np.ndarray:
        rows = []
        for query, attraction in enumerate(attractions):
            for run in range(2):
                users = rl.DriftingCascade.chapter4(attraction, seed=100 * query + run)
                game = Game(make(run), users, 100 * query + run)
                rows.append([game.play(10_000) for _ in range(10)])
        return np.mean(rows, axis=0)

    window = epochs(lambda seed: rl.CascadeSWUCB(10, 3, horizon=100_000, seed=seed))
    discount = epochs(lambda seed: rl.CascadeDUCB(10, 3, horizon=100_000, seed=seed))
    kl = epochs(lambda seed: rl.CascadeKLUCB(10, 3, seed=seed))
    ucb1 = epochs(lambda seed: rl.CascadeUCB1(10, 3, seed=seed))
    assert window.sum() < discount.sum() < min(kl.sum(), ucb1.sum())
    assert kl[8] > 2 * kl[0], "the fifth default epoch costs CascadeKLUCB more than the first"
    assert window[8] < 2.5 * window[0]
    assert window[8] < kl[8]


def test_claims_of_chapter_4_on_made_up_queries() -> None:
    draw = np.random.default_rng(7)
    shape = np.array([0.3, 0.2, 0.15, 0.1, 0.1, 0.06, 0.05, 0.03, 0.02, 0.02])
    claims_of_chapter_4([(shape * draw.uniform(0.7, 1.4, 10)).tolist() for _ in range(8)])


@pytest.mark.skipif(not YANDEX.exists(), reason="needs the shared click models")
def test_claims_of_chapter_4_on_yandex_queries() -> None:
    queries = json.loads(YANDEX.read_text())[:10]
    claims_of_chapter_4([query["CM"]["attraction"] for query in queries])
