"""CascadeHybrid is the thesis' block form; and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from made_up_items import X, Z, play
from references.features import BlockForm, RidgeForm

import rankloop as rl

NAN = np.array(Z)
NAN[3, 1] = np.nan
WIDE = np.array(X)
WIDE[2, 0] = 1.2
NEGATIVE = np.array(X)
NEGATIVE[2, 0] = -0.2


def test_the_block_form_of_the_thesis_is_ridge_regression() -> None:
    block, ridge = BlockForm(Z, X, 1.0), RidgeForm(Z, X, 1.0)
    policy = rl.CascadeHybrid(Z, X, 5, seed=3)
    draw = np.random.default_rng(4)

    def check(ranking, clicks) -> None:
        above = draw.choice(40, 3, replace=False).tolist()
        for item in set(range(40)) - set(above):
            assert block.score(item, above) == pytest.approx(ridge.score(item, above), abs=1e-8)
        block.update(ranking, clicks)
        ridge.update(ranking, clicks)

    play(policy, 80, each=check)
    theta = np.linalg.solve(block.H, block.u)
    np.testing.assert_allclose(policy.theta, theta, atol=1e-8)
    np.testing.assert_allclose(policy.beta, np.linalg.solve(block.M, block.y - block.B.T @ theta), atol=1e-8)


@pytest.mark.parametrize(
    ("relevance", "topics", "n_positions", "message"),
    [
        (NAN, X, 5, r"relevance\[3, 1\] = nan"),
        (Z, WIDE, 5, r"topics\[2, 0\] = 1.2"),
        (Z, NEGATIVE, 5, r"topics\[2, 0\] = -0.2"),
        (Z, X[:7], 5, "40 rows and topics 7"),
        (Z, X, 41, "more than the 40 items"),
        (Z[:0], X[:0], 1, "at least one item"),
    ],
)
def test_refuses_bad_features(relevance, topics, n_positions, message) -> None:
    with pytest.raises(ValueError, match=message):
        rl.CascadeHybrid(relevance, topics, n_positions)
