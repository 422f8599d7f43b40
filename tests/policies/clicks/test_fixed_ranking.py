"""FixedRanking shows its list, whatever is clicked."""

from __future__ import annotations

import numpy as np
import pytest

import rankloop as rl


def test_no_click_changes_the_list() -> None:
    policy = rl.FixedRanking([2, 0, 1, 3], n_positions=3)
    before = policy.snapshot()
    for clicks in ([0, 0, 0], [0, 0, 1], [1, 1, 1]):
        ranking = policy.rank()
        assert list(ranking) == policy.best == [2, 0, 1]
        policy.update(ranking, clicks)
    after = policy.snapshot()
    assert before.keys() == after.keys()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_a_fixed_ranking_takes_anything() -> None:
    policy = rl.FixedRanking([2, 0, 1])
    policy.update(policy.rank(), [1, 0, 0], seen=1)
    assert policy.best == [2, 0, 1]


def test_fixed_ranking_shows_todays_list() -> None:
    policy = rl.FixedRanking([2, 0, 1]).relisted([1, None, 2, 0], n_positions=3)
    assert list(policy.rank()) == [0, 1, 2]
    assert policy.update_outdated([0, None], (), [1, 0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"initial": [0, 1, 1]}, "item 1 twice"),
        ({"initial": [0, 2]}, "cannot hold 2"),
        ({"initial": [0]}, "at least 2 items"),
        ({"initial": 3}, "sequence of items"),
        ({"initial": [0, 1], "n_positions": 3}, "more than the 2 items"),
    ],
)
def test_refuses_what_is_no_order_of_the_items(arguments, message) -> None:
    with pytest.raises(ValueError, match=message):
        rl.FixedRanking(**arguments)
