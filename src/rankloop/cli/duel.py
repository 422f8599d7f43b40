"""`rankloop duel`: which of many rankers is best, and which policy finds out at the least cost."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankloop.cli.options import Out, Runs, Scale, Seed, Workers


def duel(
    matrix: Annotated[
        str,
        typer.Argument(
            metavar="MATRIX",
            help="A preference matrix: a file (CSV, text, npy, npz), or cycle, cycle2 or features:136.",
            show_default=False,
        ),
    ],
    policies: Annotated[
        str | None,
        typer.Option(
            help="Names with commas between them, parameters in brackets: 'MergeDTS,MergeDTS(alpha=1.01)'; or all.",
            show_default="those of the thesis",
        ),
    ] = None,
    horizon: Annotated[str, typer.Option(metavar="N", help="Duels in a run.")] = "1e6",
    runs: Runs = "10",
    workers: Workers = None,
    out: Out = Path("rankloop-results"),
    seed: Seed = "0",
    checkpoints: Annotated[
        str, typer.Option(metavar="N", help="Points of a regret curve, spread evenly on a logarithmic scale.")
    ] = "60",
) -> None:
    """Run dueling bandits on a preference matrix and compare their regret.

    Runs are saved as they finish: the same command goes on where it was interrupted, and more runs or policies add to
    what is there.
    """
    scale = Scale.read(horizon, runs, seed, checkpoints, workers)

    from rankloop.cli.arguments import default_policies, make_policies, read_matrix
    from rankloop.cli.experiment import compare

    problem = read_matrix(matrix)
    players = make_policies(",".join(default_policies()) if policies is None else policies, problem.n_arms)
    title = f"{problem.name}: {problem.n_arms} rankers, {scale.horizon:,} duels a run"
    compare(players, problem, scale, out, title, problem="matrix", pictures={"regret.png": {}})
    merging = [name for name in ("MergeDTS", "MergeRUCB") if any(type(each).__name__ == name for each in players)]
    if merging and not problem.assumptions.met:
        print(f"Theory: no bound of {' and '.join(merging)} holds here, since {problem.assumptions.failure}")
