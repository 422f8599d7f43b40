"""Synthetic queries, and chapter 4's drift of queries, for simulations without data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rankloop.datasets.synthetic_clicks import SyntheticQueries
from rankloop.environments.cascade_model import CascadeModel
from rankloop.environments.click_environment import ClickEnvironment
from rankloop.environments.dependent_click_model import DependentClickModel
from rankloop.environments.drifting import DriftingEnvironment
from rankloop.environments.drifting_cascade import DriftingCascade
from rankloop.environments.drifting_dependent_click_model import DriftingDependentClickModel
from rankloop.environments.drifting_position_based_model import DriftingPositionBasedModel
from rankloop.environments.position_based_model import PositionBasedModel
from rankloop.environments.problems import ClickProblem

N_ITEMS = 10
"""Items of each query: as many as a page of results shows."""

N_DRIFTING = 6
"""Items that a query needs to drift: three that stay, and three that rise."""

N_EPOCHS = 10
"""Epochs of the thesis' experiments with drift."""


def built_in(n_queries: int, click_model: str) -> list[ClickProblem]:
    """Synthetic queries like those of a search engine's log, with an initial order that is good, but not perfect."""
    made = SyntheticQueries(n_queries)
    problems = []
    for q in range(n_queries):
        attraction, name = made.attraction[q, :N_ITEMS], f"q{q}"
        environment: ClickEnvironment = (
            CascadeModel(attraction, name=name)
            if click_model == "CM"
            else DependentClickModel(attraction, made.abandonment, name=name)
            if click_model == "DCM"
            else PositionBasedModel(attraction, made.examination, name=name)
        )
        items = [made.item_name(q, item) for item in range(N_ITEMS)]
        problems.append(ClickProblem(name, environment, list(range(N_ITEMS)), items))
    return problems


def drifting(problems: Sequence[ClickProblem], horizon: int, seed: int) -> list[DriftingEnvironment]:
    """The drift of chapter 4 for each query, each with its own items that rise; ten epochs fill the horizon."""
    length = epoch_length(horizon)
    found: list[DriftingEnvironment] = []
    for number, problem in enumerate(problems):
        users = problem.environment
        schedule: dict[str, Any] = {
            "raised_for": length,
            "default_for": length,
            "breakpoints": N_EPOCHS,
            "seed": seed + number,
            "name": users.name,
        }
        if isinstance(users, DependentClickModel):
            found.append(DriftingDependentClickModel.chapter4(users.attraction, users.abandonment, **schedule))
        elif isinstance(users, PositionBasedModel):
            found.append(DriftingPositionBasedModel.chapter4(users.attraction, users.examination, **schedule))
        else:
            found.append(DriftingCascade.chapter4(users.attraction, **schedule))
    return found


def epoch_length(horizon: int) -> int:
    """The number of lists of an epoch, if all epochs together fill the horizon."""
    return -(-horizon // N_EPOCHS)
