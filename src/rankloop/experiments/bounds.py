"""The theory's bounds for what an experiment has measured, where there are any."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rankloop import theory
from rankloop.arrays import Floats, Ints
from rankloop.environments import (
    CascadeModel,
    ClickProblem,
    DependentClickModel,
    DriftingCascade,
    HybridProblem,
    PositionBasedModel,
    PreferenceMatrix,
)
from rankloop.environments.problems import each_of
from rankloop.experiments.declare import Outcome, met_by
from rankloop.simulation import Result

NOTES = {
    2: "upper bounds for MergeDTS where alpha is above 1/2 and the matrix meets assumptions 2.1 and 2.2, as the "
    "theorem asks; for RMED1 the lower bound of all policies, which holds as the number of steps grows",
    3: "BubbleRank's upper bound, mean over the queries",
    4: "upper bounds for epsilon = 0.6, since the theorems exclude the 0.5 that is played",
    5: "the upper bound of the theorem, which is for a larger gamma and for scaled regret, and so no bound for what is "
    "played here",
}
"""What the bounds of each chapter are."""

EPSILON = 0.6


def bounds(outcome: Outcome) -> dict[tuple[str, str], Floats]:
    """For each panel and player that a theorem speaks of, its bound on the regret at each checkpoint."""
    found = {}
    for panel in outcome.panels:
        for player in panel.players:
            result = outcome.results.get((panel.name, player.label))
            bound = BOUNDS.get(player.label)
            if result is None or bound is None:
                continue
            met = met_by(panel.environment, outcome.amount_of(panel.name, player.label))
            problems = each_of(met)
            try:
                each = [bound(np.maximum(result.steps, 2), result, problem) for problem in problems]
            except ValueError:  # the theorem asks for what this problem does not have, such as a gap between items
                continue
            known = [values for values in each if values is not None]
            if len(known) == len(problems):
                found[panel.name, player.label] = np.mean(known, axis=0)
    return found


def _merge_dts(steps: Ints, result: Result, problem: Any) -> Floats | None:
    parameters = result.setting["parameters"]
    if not isinstance(problem, PreferenceMatrix) or parameters["alpha"] <= 0.5 or not problem.assumptions.met:
        return None
    return theory.merge_dts_expected_bound(
        steps,
        n_arms=problem.n_arms,
        gap=theory.smallest_gap(problem.preferences),
        alpha=parameters["alpha"],
        batch_size=parameters["batch_size"],
    )


def _rmed1(steps: Ints, result: Result, problem: Any) -> Floats | None:
    if not isinstance(problem, PreferenceMatrix) or problem.condorcet_winner is None:
        return None
    return theory.dueling_lower_bound(steps, problem.preferences)


def _bubble_rank(steps: Ints, result: Result, problem: Any) -> Floats | None:
    if not isinstance(problem, ClickProblem):
        return None
    users = problem.environment
    if isinstance(users, PositionBasedModel):
        examined = users.examination[: users.n_items]
    elif isinstance(users, CascadeModel | DependentClickModel):
        examined = theory.examinations(users.attraction, getattr(users, "abandonment", None))
    else:
        return None
    return theory.bubble_rank_bound(
        steps,
        n_items=users.n_items,
        initial_inversions=theory.initial_inversions(problem.initial, users.attraction),
        gap=theory.smallest_difference(users.attraction),
        chi_min=float(examined.min()),
        chi_max=float(examined.max()),
        delta=float(result.setting["horizon"]) ** -4,
    )


def _ducb(steps: Ints, result: Result, problem: Any) -> Floats | None:
    if not isinstance(problem, DriftingCascade):
        return None
    gamma = theory.best_discount(result.setting["horizon"])
    return theory.cascade_ducb_bound(steps, **_drift(steps, result, problem), gamma=gamma)


def _swucb(steps: Ints, result: Result, problem: Any) -> Floats | None:
    if not isinstance(problem, DriftingCascade):
        return None
    window = theory.best_window(result.setting["horizon"])
    return theory.cascade_swucb_bound(steps, **_drift(steps, result, problem), window=window)


def _drift(steps: Ints, result: Result, problem: DriftingCascade) -> dict[str, Any]:
    changes = np.searchsorted(np.cumsum(problem.epoch_length)[:-1], steps)
    shown = result.setting["parameters"]["n_positions"]
    return {"gaps": theory.drift_gaps(problem.attractions, shown), "breakpoints": changes, "epsilon": EPSILON}


def _hybrid(steps: Ints, result: Result, problem: Any) -> Floats | None:
    if not isinstance(problem, HybridProblem):
        return None
    return theory.hybrid_bound(
        steps,
        n_features=problem.relevance.shape[1] + problem.topics.shape[1],
        n_positions=result.setting["parameters"]["n_positions"],
    )


BOUNDS: dict[str, Callable[[Ints, Result, Any], Floats | None]] = {
    "MergeDTS": _merge_dts,
    "RMED1": _rmed1,
    "BubbleRank": _bubble_rank,
    "CascadeDUCB": _ducb,
    "CascadeSWUCB": _swucb,
    "CascadeHybrid": _hybrid,
}
"""By the label of the player."""
