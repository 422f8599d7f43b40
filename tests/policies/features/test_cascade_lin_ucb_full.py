"""CascadeLinUCBFull is CascadeLinUCB with topics as further features."""

from __future__ import annotations

import numpy as np
import pytest
from made_up_items import X, Z, play

import rankloop as rl


def test_it_is_the_linear_policy_told_topics_and_relevance() -> None:
    full, linear = rl.CascadeLinUCBFull(Z, X, 5, seed=3), rl.CascadeLinUCB(np.hstack([X, Z]), 5, seed=3)

    def check(ranking, clicks) -> None:
        assert list(linear.rank()) == list(ranking)
        linear.update(rl.Ranking(ranking.items, policy=linear.identity), clicks)

    play(full, 60, each=check)
    np.testing.assert_array_equal(full.beta, linear.beta)
    assert full.theta.size == 0


def test_refuses_topics_that_are_no_coverage() -> None:
    with pytest.raises(ValueError, match=r"topics\[2, 0\] = -0.2"):
        rl.CascadeLinUCBFull(Z[:3], [[0.5], [0.5], [-0.2]], 2)
