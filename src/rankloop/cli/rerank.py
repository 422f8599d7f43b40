"""`rankloop rerank`: which policy improves production's lists, at what cost, and how safely."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli.options import (
    ClickModelName,
    ListsShown,
    LogarithmicPoints,
    Models,
    Queries,
    RunOptions,
    RunsOfQuery,
    Seed,
    Workers,
    option,
    policies_like,
)

CHAPTER_3 = "BubbleRank,TopRank,BatchRank,CascadeKLUCB,FixedRanking"
"""The policies that the thesis compares in its chapter on safe re-ranking."""

FOLDER = "rerank-results"

COUNTED = 5
"""Positions over which the thesis counts regret."""


def rerank(
    models: Models = None,
    click_model: ClickModelName = "DCM",
    policies: Annotated[str, policies_like("BubbleRank,TopRank(delta=1e-9)")] = CHAPTER_3,
    horizon: ListsShown = "1e6",
    runs: RunsOfQuery = "10",
    queries: Queries = None,
    top: Annotated[str | None, option("Positions over which regret and NDCG count.", "N", f"{COUNTED}")] = None,
    positions: Annotated[str | None, option("Positions of a list, at most 10.", "K", "all")] = None,
    workers: Workers = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of the results.", show_default=FOLDER)] = None,
    seed: Seed = "0",
    checkpoints: LogarithmicPoints = "60",
) -> None:
    """Run click bandits on queries, each with its production list, and compare regret, safety and NDCG.

    Runs are saved as they finish: the same command continues where it was interrupted, and more runs or policies add to
    what is there.
    """
    options = RunOptions.read(horizon, runs, seed, checkpoints, workers)

    from rankloop.cli.arguments import make_click_policies
    from rankloop.cli.own_problem import OwnProblem, compare_policies
    from rankloop.cli.queries import read_queries, read_shape, source_of
    from rankloop.simulation.checkpoints import from_the_first

    problems, name = read_queries(models, click_model, queries)
    n_positions, n_counted = read_shape(positions, top, COUNTED, problems[0])
    shape = f"{n_positions} of {problems[0].n_items} items shown, {options.horizon:,} lists per run"
    own = OwnProblem(
        "rerank",
        3,
        name,
        f"{name}: {shape}, the top {n_counted} counted",
        problems,
        source_of(models),
        lambda text: make_click_policies(text, problems[0], n_positions, options.horizon),
        records=("regret", "violations", "ndcg"),
        checkpoints=from_the_first(options.horizon, options.checkpoints),
        top=n_counted,
    )
    compare_policies(own, policies, options, out, FOLDER)
