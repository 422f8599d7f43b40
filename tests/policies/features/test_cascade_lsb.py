"""CascadeLSB: what an item adds to the items above it; and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from made_up_items import X

import rankloop as rl


def test_an_item_is_worth_what_the_items_above_leave_uncovered() -> None:
    """Two crime stories and a comedy that is worth half of one: it is worth more than the second of them."""
    policy = rl.CascadeLSB([[0.9, 0], [0.9, 0], [0, 0.9]], 3, gamma=0, seed=1)
    policy.state.model.weights[:] = [1.0, 0.5]
    assert policy.best[1] == 2
    assert [round(item.attraction, 3) for item in policy.explain([0, 2, 1]).items] == [0.9, 0.45, 0.09]


def test_a_negative_topic_covers_nothing_and_lowers_its_own_item() -> None:
    policy = rl.CascadeLSB([[0.5], [-0.5], [0.4]], 3, seed=1)
    policy.state.model.weights[:] = 1.0
    assert [round(item.attraction, 3) for item in policy.explain([1, 0, 2]).items] == [-0.5, 0.5, 0.2]


@pytest.mark.parametrize("value", [1.2, -1.2])
def test_refuses_topics_beyond_one(value) -> None:
    wide = np.array(X)
    wide[2, 0] = value
    with pytest.raises(ValueError, match=rf"topics\[2, 0\] = {value}"):
        rl.CascadeLSB(wide, 5)
