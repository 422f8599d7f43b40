"""What the commands that compare policies share: runs that are saved as they finish, a table and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from rankloop.cli.errors import refusing
from rankloop.cli.folder import Folder
from rankloop.cli.options import Scale
from rankloop.cli.tables import print_results
from rankloop.extras import PLOTS, how_to_install
from rankloop.runs import display
from rankloop.simulation import simulate
from rankloop.simulation.jobs import SimulationJob


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
        jobs = [SimulationJob(player, environment, runs=scale.runs, **setting) for player in players]
    wanted = [job.blank for job in jobs]
    folder = Folder(out, problem)
    folder.check(wanted)
    folder.make()
    with display() as watcher:
        try:
            results = simulate(
                list(players),
                environment,
                **setting,
                runs=scale.runs,
                workers=scale.workers,
                progress=watcher,
                resume=[folder.saved(expected) or expected for expected in wanted],
                after_run=folder.save,
            )
        except KeyboardInterrupt:
            results = []
    for result in results:
        folder.save(result, at_once=True)
    interrupted = not results or any(result.interrupted for result in results)
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
