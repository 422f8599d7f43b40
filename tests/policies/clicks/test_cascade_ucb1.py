"""CascadeUCB1 against the pseudo-code."""

from __future__ import annotations

import pytest
from references import cascading
from references.side_by_side import PROBLEMS, assert_same_choices

import rankloop as rl


@pytest.mark.parametrize(("attraction", "n_positions"), PROBLEMS)
def test_it_matches_the_pseudo_code_step_by_step(attraction: list[float], n_positions: int) -> None:
    n = len(attraction)
    assert_same_choices(
        rl.CascadeUCB1(n, n_positions, seed=5), cascading.CascadeUCB1(n, n_positions, seed=5), attraction, 1500
    )


def test_alpha_widens_the_bounds() -> None:
    fast, slow = rl.CascadeUCB1(4, 2, alpha=0.3, seed=1), cascading.CascadeUCB1(4, 2, seed=1)
    slow.alpha = 0.3
    assert_same_choices(fast, slow, [0.3, 0.2, 0.4, 0.35], 1500)
