"""`rankloop duel`: which of many rankers is best, and which policy finds out at the least cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rankloop.cli.folder import Folder
    from rankloop.simulation import Result


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
    runs: Annotated[str, typer.Option(metavar="N", help="Independent runs of each policy.")] = "10",
    workers: Annotated[str | None, typer.Option(metavar="N", help="Threads.", show_default="all cores")] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where results go.")] = Path("rankloop-results"),
    seed: Annotated[str, typer.Option(metavar="N", help="Of everything random.")] = "0",
    checkpoints: Annotated[
        str, typer.Option(metavar="N", help="Points of a regret curve, spread evenly on a logarithmic scale.")
    ] = "60",
) -> None:
    """Run dueling bandits on a preference matrix and compare their regret.

    Runs are saved as they finish: the same command goes on where it was interrupted, and more runs or policies add to
    what is there.
    """
    from rankloop.cli.arguments import default_policies, make_policies, read_matrix, whole

    n_steps, n_runs, first_seed = whole("--horizon", horizon, 1), whole("--runs", runs, 1), whole("--seed", seed, 0)
    n_checkpoints = whole("--checkpoints", checkpoints, 1)
    n_workers = whole("--workers", workers, 1) if workers is not None else None

    from rankloop.cli.errors import refusing
    from rankloop.cli.folder import Folder
    from rankloop.cli.progress import Board
    from rankloop.cli.tables import print_results
    from rankloop.simulation import simulate
    from rankloop.simulation.simulate import blank

    problem = read_matrix(matrix)
    players = make_policies(",".join(default_policies()) if policies is None else policies, problem.n_arms)
    with refusing():
        wanted = [
            blank(player, problem, horizon=n_steps, seed=first_seed, checkpoints=n_checkpoints) for player in players
        ]
    folder = Folder(out)
    folder.check(wanted)
    folder.make()

    def keep(so_far: Result) -> None:
        board.ran(so_far)
        folder.save(so_far)

    title = f"{problem.name}: {problem.n_arms} rankers, {n_steps:,} duels a run"
    interrupted = False
    with Board(len(players)) as board:
        for player, expected in zip(players, wanted, strict=True):
            board.start(expected.policy, n_runs)
            try:
                result = simulate(
                    player,
                    problem,
                    horizon=n_steps,
                    runs=n_runs,
                    seed=first_seed,
                    checkpoints=n_checkpoints,
                    workers=n_workers,
                    progress=board.progress,
                    resume=folder.saved(expected),
                    after_run=keep,
                )
            except KeyboardInterrupt:
                interrupted = True
                break
            folder.save(result, at_once=True)
            interrupted = result.interrupted
            if interrupted:
                break
            board.finish(result)
    if interrupted:
        _stop(folder, title)
    table, picture = folder.finish()
    print_results(folder.results.values(), title)
    print(f"Table: {table}\nPlot:  {picture}\nRuns:  {', '.join(str(out / name) for name in folder.results)}")


def _stop(folder: Folder, title: str) -> None:
    from rankloop.cli.tables import print_results

    if folder.abandon():
        print("No run had finished, so nothing is kept.")
    else:
        print_results(folder.results.values(), f"{title} (interrupted)")
        print(f"Finished runs are kept in {folder.path}; the same command goes on from there.")
    raise typer.Exit(130)
