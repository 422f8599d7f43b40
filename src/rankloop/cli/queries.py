"""The queries whose lists `rankloop rerank` and `rankloop drift` improve."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankloop.cli.arguments import no_file, whole
from rankloop.cli.errors import Refused, refusing

if TYPE_CHECKING:
    from rankloop.environments import ClickProblem
    from rankloop.environments.drifting import DriftingEnvironment

N_ITEMS = 10
"""Items of each query: as many as a page of results shows."""

N_EPOCHS = 10
"""Epochs of the thesis' experiments with drift."""

N_BUILT_IN = 10
"""Built-in queries, where no number is given."""


def read_queries(models: str | None, click_model: str, queries: str | None) -> tuple[list[ClickProblem], str]:
    """The problems, and what to call them."""
    model = click_model.upper()
    if model not in ("CM", "DCM", "PBM"):
        raise Refused(f"--click-model must be CM, DCM or PBM, not {click_model!r}")
    wanted = None if queries is None else whole("--queries", queries, 1)
    if models is None:
        n = N_BUILT_IN if wanted is None else wanted
        return built_in(n, model), f"{n:,} built-in quer{'y' if n == 1 else 'ies'}, {model}"

    from rankloop.environments import click_problems

    path = Path(models)
    if not path.exists():
        raise Refused(no_file(models))
    if path.is_dir():
        raise Refused(f"{models} is a folder: give a file of click models")
    with refusing(models):
        problems = click_problems(path, model, n_items=N_ITEMS)
    if wanted is not None and wanted > len(problems):
        raise Refused(f"--queries {wanted}: {models} has only {len(problems)} queries of {N_ITEMS} items")
    problems = problems[:wanted]
    return problems, f"{len(problems):,} quer{'y' if len(problems) == 1 else 'ies'} of {path.name}, {model}"


def built_in(n_queries: int, click_model: str) -> list[ClickProblem]:
    """Made-up queries like those of a search engine's log: production's order is good, but not perfect."""
    from rankloop.datasets.synthetic_clicks import SyntheticQueries
    from rankloop.environments import CascadeModel, ClickProblem, DependentClickModel, PositionBasedModel

    made = SyntheticQueries(n_queries)
    problems = []
    for q in range(n_queries):
        attraction, name = made.attraction[q, :N_ITEMS], f"q{q}"
        environment = (
            CascadeModel(attraction, name=name)
            if click_model == "CM"
            else DependentClickModel(attraction, made.abandonment, name=name)
            if click_model == "DCM"
            else PositionBasedModel(attraction, made.examination, name=name)
        )
        items = [made.item_name(q, item) for item in range(N_ITEMS)]
        problems.append(ClickProblem(name, environment, list(range(N_ITEMS)), items))
    return problems


def drifting(problems: list[ClickProblem], horizon: int, seed: int) -> list[DriftingEnvironment]:
    """The drift of chapter 4 for each query, with other items that rise: ten epochs fill the horizon."""
    from rankloop.environments import (
        DependentClickModel,
        DriftingCascade,
        DriftingDependentClickModel,
        DriftingPositionBasedModel,
        PositionBasedModel,
    )

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
    """How many lists an epoch lasts, if all of them are to fill the horizon."""
    return -(-horizon // N_EPOCHS)


def read_shape(positions: str, top: str | None, counted: int | None) -> tuple[int, int]:
    """How many positions are shown, and how many of them count: `counted`, or all, where that is not said."""
    n_positions = whole("--positions", positions, 1)
    if n_positions > N_ITEMS:
        raise Refused(f"--positions must be at most {N_ITEMS}, the number of items of a query, not {n_positions}")
    if top is None:
        return n_positions, min(n_positions, counted or n_positions)
    n_counted = whole("--top", top, 1)
    if n_counted > n_positions:
        raise Refused(f"--top must be at most the number of --positions, {n_positions}, not {n_counted}")
    return n_positions, n_counted
