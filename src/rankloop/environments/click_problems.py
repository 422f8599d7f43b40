"""Fitted click models, query by query, as environments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rankloop.checks import check_choice, check_whole
from rankloop.click_models import ClickModel, QueryModel, query_models, read_query_models
from rankloop.environments.cascade_model import CascadeModel
from rankloop.environments.click_environment import ClickEnvironment
from rankloop.environments.dependent_click_model import DependentClickModel
from rankloop.environments.position_based_model import PositionBasedModel
from rankloop.environments.problems import ClickProblem
from rankloop.wording import listed


def click_problems(
    source: str | Path | ClickModel | Sequence[QueryModel], click_model: str | None = None, *, n_items: int = 10
) -> list[ClickProblem]:
    """One problem for each query of a file of fitted click models, or of one fitted model.

    Parameters
    ----------
    source
        A file that `rankloop clicks fit` or `click_models.save` wrote, a fitted model, or the models of some queries.
    click_model
        `CM`, `DCM` or `PBM`: which of the models in a file to take.
    n_items
        Number of items of each problem: those of the most frequent list first, then the most shown. Queries with fewer
        items are left out.

    Examples
    --------
    >>> from rankloop.click_models import DCM
    >>> from rankloop.datasets import synthetic_click_log
    >>> model = DCM.fit(synthetic_click_log(2000, n_queries=3))
    >>> problem = click_problems(model)[0]
    >>> problem.environment
    DependentClickModel(10 items, name='q0')
    >>> problem.initial
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """
    if isinstance(source, ClickModel):
        click_model = type(source).__name__ if click_model is None else click_model
        source = query_models([source])
    elif isinstance(source, str | Path):
        source = read_query_models(source)
    check_whole("n_items", n_items, 1)
    problems = []
    for entry in source:
        environment = _environment(entry, click_model, n_items)
        if environment is not None:
            problems.append(ClickProblem(entry.query, environment, list(range(n_items)), entry.items[:n_items]))
    if not problems:
        most = max((len(entry.items) for entry in source), default=0)
        raise ValueError(f"no query has {n_items} items: the longest has {most}" if most else "there are no queries")
    return problems


def _environment(entry: QueryModel, click_model: str | None, n_items: int) -> ClickEnvironment | None:
    click_model = check_choice("click_model", click_model, ("CM", "DCM", "PBM"))
    if click_model not in entry.parameters:
        known = listed(entry.parameters)
        raise ValueError(
            f"query {entry.query!r} has the fitted {known}, but no {click_model}: "
            f"fit it too (rankloop clicks fit --model {click_model}), or choose another click model"
        )
    if len(entry.items) < n_items:
        return None
    parameters = entry.parameters[click_model]
    attraction = parameters["attraction"][:n_items]
    if click_model == "CM":
        return CascadeModel(attraction, name=entry.query)
    if click_model == "DCM":
        return DependentClickModel(attraction, parameters["abandonment"], name=entry.query)
    return PositionBasedModel(attraction, parameters["examination"], name=entry.query)
