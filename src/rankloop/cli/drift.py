"""`rankloop drift`: which policy keeps up when preferences change."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli.options import ClickModelName, Models, Queries, RunOptions, RunsOfQuery, Seed, Workers, policies_like

CHAPTER_4 = "CascadeSWUCB,CascadeDUCB,RankedEXP3,CascadeKLUCB,BatchRank"
"""The policies that the thesis compares in its chapter on changing preferences."""


FOLDER = "drift-results"


def drift(
    models: Models = None,
    click_model: ClickModelName = "CM",
    policies: Annotated[str, policies_like("CascadeSWUCB(window=500)")] = CHAPTER_4,
    horizon: Annotated[str, typer.Option(metavar="N", help="Lists shown in a run: ten epochs.")] = "1e5",
    runs: RunsOfQuery = "10",
    queries: Queries = None,
    top: Annotated[
        str | None, typer.Option(metavar="N", help="Positions over which regret and NDCG count.", show_default="all")
    ] = None,
    positions: Annotated[str, typer.Option(metavar="K", help="Positions of a list, at most 10.")] = "3",
    workers: Workers = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of the results.", show_default=FOLDER)] = None,
    seed: Seed = "0",
    checkpoints: Annotated[str, typer.Option(metavar="N", help="Points of a curve, spread evenly over time.")] = "200",
) -> None:
    """Run click bandits on queries whose users change their tastes, and compare regret.

    In every second of ten epochs three random items of a query rise to an attraction of 0.9, and fall back after it;
    its three best items stay. Runs are saved as they finish: the same command continues where it was interrupted, and
    more runs or policies add to what is there.
    """
    options = RunOptions.read(horizon, runs, seed, checkpoints, workers)

    from rankloop.cli.arguments import make_click_policies, whole
    from rankloop.cli.own_problem import OwnProblem, compare_policies
    from rankloop.cli.queries import read_queries, read_shape, source_of
    from rankloop.environments.synthetic_queries import N_DRIFTING, N_EPOCHS, drifting
    from rankloop.simulation.checkpoints import evenly

    whole("--horizon", horizon, N_EPOCHS)
    problems, name = read_queries(models, click_model, queries, least=N_DRIFTING)
    n_positions, n_counted = read_shape(positions, top, None, problems[0])
    users = drifting(problems, options.horizon, options.seed)
    shape = f"{n_positions} of {users[0].n_items} items shown, {options.horizon:,} lists per run"
    own = OwnProblem(
        "drift",
        4,
        f"{name}, drifting",
        f"{name}, drifting: {shape}",
        users,
        source_of(models),
        lambda text: make_click_policies(text, users[0], n_positions, options.horizon),
        log=False,
        checkpoints=evenly(options.horizon, options.checkpoints),
        top=n_counted,
    )
    compare_policies(own, policies, options, out, FOLDER)
