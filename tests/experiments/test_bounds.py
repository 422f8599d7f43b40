"""Bounds of the theory beside what experiments measure."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from rankloop.environments import PreferenceMatrix
from rankloop.experiments.bounds import BOUNDS, NOTES, bounds
from rankloop.experiments.catalogue import find
from rankloop.experiments.data import Data
from rankloop.experiments.declare import Amount
from rankloop.experiments.runner import run_experiment


def tiny(name, tmp_path, players, amount, panels=None):
    """An experiment with few players and panels, and what it gives."""
    [experiment] = find([name])

    def few(data, amount):
        found = experiment.panels(data, amount)
        return [
            replace(panel, players=[player for player in panel.players if player.label in players])
            for panel in (found if panels is None else found[:panels])
        ]

    small = replace(experiment, panels=few, amounts={**experiment.amounts, "smoke": amount})
    return run_experiment(small, "smoke", Data(None), tmp_path, workers=1)


@pytest.mark.parametrize(
    ("name", "players", "amount", "panels"),
    [
        ("duels-alpha", ["MergeDTS"], Amount(3000, 2), 2),
        ("rerank-regret", ["BubbleRank"], Amount(5000, 1, 2), 3),
        ("drift-regret", ["CascadeDUCB", "CascadeSWUCB"], Amount(5000, 1, 2), None),
    ],
)
def test_measured_regret_stays_below_the_upper_bounds(name, players, amount, panels, tmp_path) -> None:
    outcome = tiny(name, tmp_path, players, amount, panels)
    found = bounds(outcome)
    assert {label for _, label in found} == set(players)
    for (panel, label), bound in found.items():
        result = outcome.result(panel, label)
        assert bound.shape == result.steps.shape
        assert (np.diff(bound) >= 0).all()
        assert (result.mean() <= bound).all()


def test_the_lower_bound_of_duels_is_a_lower_one(tmp_path) -> None:
    """RMED1 on the circle of twenty, where regret has long left its first steps behind."""
    outcome = tiny("duels-cycle", tmp_path, ["RMED1", "MergeDTS"], Amount(200_000, 3))
    found = bounds(outcome)
    assert {label for _, label in found} == {"RMED1"}  # the tuned MergeDTS is beyond its theorem
    for (panel, label), bound in found.items():
        assert bound[-1] < outcome.result(panel, label).mean()[-1]


def test_merge_dts_has_no_bound_where_its_theorem_does_not_hold() -> None:
    result = SimpleNamespace(setting={"parameters": {"alpha": 1.01, "batch_size": 4}})
    steps = np.array([10, 100])
    tied = [[0.5, 0.6, 0.6, 0.6], [0.4, 0.5, 0.5, 0.6], [0.4, 0.5, 0.5, 0.6], [0.4, 0.4, 0.4, 0.5]]
    assert BOUNDS["MergeDTS"](steps, result, PreferenceMatrix(tied)) is None
    assert BOUNDS["MergeDTS"](steps, result, PreferenceMatrix.cycle()) is not None


def test_every_chapter_says_what_its_bounds_are() -> None:
    assert sorted(NOTES) == [2, 3, 4, 5]
