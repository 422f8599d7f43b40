"""What the commands that compare policies share: runs that are saved as they finish, a table and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from rankloop.cli.errors import refusing
from rankloop.cli.folder import Folder
from rankloop.cli.options import Scale
from rankloop.cli.progress import Board
from rankloop.cli.tables import print_results
from rankloop.extras import PLOTS, how_to_install
from rankloop.simulation import Result, simulate
from rankloop.simulation.simulate import blank


def compare(
    players: Sequence[Any],
    environment: Any,
    scale: Scale,
    out: Path,
    title: str,
    *,
    problem: str,
    pictures: Mapping[str, Mapping[str, Any]],
    checkpoints: Sequence[int] | None = None,
    top: int | None = None,
) -> None:
    """Simulate each policy, go on from what the folder holds, and print and draw what came out.

    `problem` is what the environment is called where another one is refused; `pictures` says for each file how to plot
    it; `checkpoints` are the steps to record at where the number of them is not enough.
    """
    setting: dict[str, Any] = {
        "horizon": scale.horizon,
        "seed": scale.seed,
        "checkpoints": scale.checkpoints if checkpoints is None else checkpoints,
        "top": top,
    }
    with refusing():
        wanted = [blank(player, environment, **setting) for player in players]
    folder = Folder(out, problem)
    folder.check(wanted)
    folder.make()

    def keep(so_far: Result) -> None:
        board.ran(so_far)
        folder.save(so_far)

    interrupted = False
    n_runs = scale.runs * (len(environment) if isinstance(environment, list) else 1)
    with Board(len(players)) as board:
        for player, expected in zip(players, wanted, strict=True):
            board.start(expected.policy, n_runs)
            try:
                result = simulate(
                    player,
                    environment,
                    **setting,
                    runs=scale.runs,
                    workers=scale.workers,
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
    table, drawn = folder.finish(pictures)
    print_results(folder.results.values(), title)
    print(f"Table: {table}")
    if drawn:
        print(f"Plot{'s' * (len(drawn) > 1)}: {' ' * (len(drawn) == 1)}{', '.join(map(str, drawn))}")
    else:
        print(f"Plot:  none, since {how_to_install('plots', PLOTS)}")
    print(f"Runs:  {', '.join(str(out / name) for name in folder.results)}")


def _stop(folder: Folder, title: str) -> None:
    if folder.abandon():
        print("No run had finished, so nothing is kept.")
    else:
        print_results(folder.results.values(), f"{title} (interrupted)")
        print(f"Finished runs are kept in {folder.path}; the same command goes on from there.")
    raise typer.Exit(130)
