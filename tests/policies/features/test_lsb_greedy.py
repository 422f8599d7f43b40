"""LSBGreedy learns from every position, where CascadeLSB stops at the first click."""

from __future__ import annotations

import numpy as np
from made_up_items import X
from references.features import RidgeForm

import rankloop as rl


def test_items_below_the_first_click_are_learned_from() -> None:
    nothing, shown, clicks = np.zeros((40, 0)), [3, 8, 1, 20, 7], [0, 1, 0, 1, 0]
    for make, cascade in ((rl.LSBGreedy, False), (rl.CascadeLSB, True)):
        policy, plain = make(X, 5, seed=1), RidgeForm(nothing, X, 1.0, cascade=cascade)
        policy.update(rl.Ranking(shown, policy=policy.identity), clicks)
        plain.update(shown, clicks)
        np.testing.assert_allclose(policy.state.model.precision, plain.precision)
        np.testing.assert_allclose(policy.state.model.evidence, plain.evidence)


def test_without_clicks_it_learns_what_the_cascading_policy_learns() -> None:
    greedy, cascading = rl.LSBGreedy(X, 5, seed=1), rl.CascadeLSB(X, 5, seed=1)
    for _ in range(20):
        shown = greedy.rank()
        assert list(cascading.rank()) == list(shown)
        for policy in (greedy, cascading):
            policy.update(rl.Ranking(shown.items, policy=policy.identity), [0] * 5)
    np.testing.assert_array_equal(greedy.covariance, cascading.covariance)
