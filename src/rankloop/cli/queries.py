"""The queries whose lists `rankloop rerank` and `rankloop drift` improve."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rankloop.cli.arguments import choice, no_file, whole, whole_or_none
from rankloop.cli.errors import Refused, refusing
from rankloop.environments.problems import offers
from rankloop.environments.synthetic_queries import N_ITEMS, built_in
from rankloop.wording import count

if TYPE_CHECKING:
    from rankloop.environments import ClickProblem
    from rankloop.experiments import Source

N_BUILT_IN = 10
"""Built-in queries, where no number is given."""


def read_queries(
    models: str | None, click_model: str, queries: str | None, *, least: int = 1
) -> tuple[list[ClickProblem], str]:
    """The problems, and what to call them. All have ten items, or as many as the longest list of the file has.

    `least` is the number of items that a query must have.
    """
    model = choice("--click-model", click_model, ("CM", "DCM", "PBM"))
    wanted = whole_or_none("--queries", queries, 1)
    if models is None:
        n = N_BUILT_IN if wanted is None else wanted
        return built_in(n, model), f"{count(n, 'built-in query', 'built-in queries')}, {model}"

    from rankloop.click_models import read_query_models
    from rankloop.environments import click_problems

    path = Path(models)
    if not path.exists():
        raise Refused(no_file(models))
    if path.is_dir():
        raise Refused(f"{models} is a folder: give a file of click models")
    with refusing():
        entries = read_query_models(path)
    n_items = min(N_ITEMS, max(len(entry.items) for entry in entries))
    if n_items < least:
        raise Refused(f"{models}: queries must have at least {least} items here, and the longest has {n_items}")
    with refusing(models):
        problems = click_problems(entries, model, n_items=n_items)
    if len(problems) < len(entries):
        shorter = count(len(entries) - len(problems), "query", "queries")
        print(f"{models}: {shorter} with fewer than {n_items} items left out", file=sys.stderr)
    if wanted is not None and wanted > len(problems):
        there = f"{models} has {count(len(problems), 'query', 'queries')} of {n_items} items"
        raise Refused(f"--queries must be at most {len(problems)}, not {wanted}: {there}")
    problems = problems[:wanted]
    return problems, f"{count(len(problems), 'query', 'queries')} of {path.name}, {model}"


def source_of(models: str | None) -> Source:
    """Where the queries come from, for the report."""
    from rankloop.experiments import Source

    return Source("made-up queries", real=False) if models is None else Source(Path(models).name, real=True)


def read_shape(positions: str | None, top: str | None, counted: int | None, first: ClickProblem) -> tuple[int, int]:
    """How many positions are shown, and how many of them count: `counted`, or all, where that is not said.

    All positions that the users of the first query look at are shown where no number of them is given.
    """
    most = offers(first)["n_positions"]
    n_positions = most if positions is None else whole("--positions", positions, 1)
    if n_positions > most:
        raise Refused(f"--positions must be at most {most}, the length of the longest list, not {n_positions}")
    if top is None:
        return n_positions, min(n_positions, counted or n_positions)
    n_counted = whole("--top", top, 1)
    if n_counted > n_positions:
        raise Refused(f"--top must be at most the number of --positions, {n_positions}, not {n_counted}")
    return n_positions, n_counted
