"""The queries whose lists `rankloop rerank` and `rankloop drift` improve."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rankloop.cli.arguments import no_file, whole
from rankloop.cli.errors import Refused, refusing
from rankloop.environments.queries import N_ITEMS, built_in

if TYPE_CHECKING:
    from rankloop.environments import ClickProblem
    from rankloop.experiments import Source

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


def source_of(models: str | None) -> Source:
    """Where the queries come from, for the report."""
    from rankloop.experiments import Source

    return Source("made-up queries", real=False) if models is None else Source(Path(models).name, real=True)


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
