"""CascadeLinUCB: each item by itself, ties at random; and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from made_up_items import Z, play

import rankloop as rl


def test_the_items_above_do_not_matter() -> None:
    """Without its first item, the list begins with its second."""
    policy = rl.CascadeLinUCB(Z, 5, seed=1)
    play(policy, 60)
    first, *rest = policy.rank()
    assert list(policy.rank([item for item in policy.items if item != first]))[:4] == rest


def test_ties_are_broken_at_random() -> None:
    """Chi-square of the first of 8 equal items over 1,600 policies, at the 0.1 % level."""
    seen = np.bincount([rl.CascadeLinUCB(np.eye(8), 2, seed=s).rank()[0] for s in range(1600)], minlength=8)
    assert ((seen - 200) ** 2 / 200).sum() < 24.32


@pytest.mark.parametrize(
    ("features", "arguments", "message"),
    [
        ([], {}, "at least one item"),
        (Z[0], {}, "one row for each item"),
        ("x", {}, "table of numbers"),
        ([[10**400]], {}, "table of numbers"),
        ([[1, 2], [3]], {}, "table of numbers"),
        (1e8 * Z, {}, r"features\[0, 0\] = .* is beyond 1e\+06"),
        (Z, {"gamma": -1}, "gamma"),
        (Z, {"gamma": np.nan}, "gamma"),
        (Z, {"gamma": 10**400}, "gamma"),
        (Z, {"ridge": 5e-324}, "ridge"),
        (Z, {"ridge": 0}, "ridge"),
    ],
)
def test_refuses_bad_features_and_parameters(features, arguments, message) -> None:
    with pytest.raises(ValueError, match=message):
        rl.CascadeLinUCB(features, 1, **arguments)
