"""`rankloop reproduce`: run the thesis' experiments again, test its claims, and write a report of both."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankloop.cli.arguments import whole, whole_or_none
from rankloop.cli.errors import Refused, refusing
from rankloop.wording import suggestion

if TYPE_CHECKING:
    from rankloop.experiments import Amount, Experiment
    from rankloop.experiments.declare import Scale


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]",
            help="Which experiments, as `rankloop experiments` lists them; all if not given.",
            show_default=False,
        ),
    ] = None,
    scale: Annotated[
        str, typer.Option(metavar="SCALE", help="smoke (minutes), laptop (an hour or two), or paper (the thesis' own).")
    ] = "smoke",  # so that whoever tries the command sees the whole of it soon, and only then spends hours
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of the real datasets; stand-ins replace those that are missing."),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the runs and the report.")] = Path("reproduction"),
    cluster: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Address of the scheduler of a Dask cluster to run on.")
    ] = None,
    with_: Annotated[
        list[str] | None,
        typer.Option(
            "--with", metavar="MODULE:POLICY", help="Your own policy, added to every experiment that suits it."
        ),
    ] = None,
    runs: Annotated[
        str | None,
        typer.Option(
            metavar="N", help="Runs of each policy, instead of the scale's number; only new ones are computed."
        ),
    ] = None,
    workers: Annotated[str | None, typer.Option(metavar="N", help="Runs at once.", show_default="all cores")] = None,
    seed: Annotated[str, typer.Option(metavar="N", help="Seed of all random numbers.")] = "0",
    beside: Annotated[str | None, typer.Option(hidden=True, help="Page that the report links to.")] = None,
) -> None:
    """Run the thesis' experiments again, test its claims, and write a report.

    Runs are kept as they finish: the same command continues where it was interrupted, and another scale, more runs or
    more policies add to what is there.
    """
    from rankloop.experiments.declare import SCALES

    if scale not in SCALES:
        raise Refused(f"no scale {scale!r}{suggestion(scale, SCALES)}")
    n_runs = whole_or_none("--runs", runs, 1)
    n_workers = whole_or_none("--workers", workers, 1)
    first_seed = whole("--seed", seed, 0)
    chosen = _with_runs(_chosen(names or ()), scale, n_runs)
    if data is not None and not data.is_dir():
        raise Refused(f"--data {data} is {'a file' if data.exists() else 'not there'}: give a folder with datasets")

    from rankloop.cli.running import check_writable, finish, run, write_report
    from rankloop.cli.watching import print_scorecard, print_timings
    from rankloop.experiments.claims import CLAIMS
    from rankloop.experiments.data import Data

    check_writable(out)
    players = _players(with_ or ())
    given: dict[str, Any] = {"seed": first_seed, "workers": n_workers, "cluster": cluster, "players": players}
    outcomes, left = run(chosen, scale, Data(data), out, **given)
    if not outcomes:
        print("No run had finished, so there is nothing to report.")
        raise typer.Exit(130)
    command = _command(names, scale, data, with_, runs, seed)
    pages = {beside: "the page of the demo"} if beside else {}
    report = write_report(outcomes, CLAIMS, out, command, n_workers, beside=pages)
    print_scorecard(report.judged)
    print_timings(report.timings)
    finish(outcomes, report, out, left)


def _chosen(names: Sequence[str]) -> list[Experiment]:
    from rankloop.experiments.catalogue import EXPERIMENTS

    known = {experiment.name: experiment for experiment in EXPERIMENTS}
    for name in names:
        if name not in known:
            raise Refused(f"no experiment {name!r}{suggestion(name, known)}")
    return [experiment for name, experiment in known.items() if not names or name in names]


def _with_runs(chosen: Sequence[Experiment], scale: Scale, runs: int | None) -> list[Experiment]:
    if runs is None:
        return list(chosen)

    def with_runs(amount: Amount) -> Amount:
        return amount._replace(runs=runs, others={name: with_runs(each) for name, each in amount.others.items()})

    return [replace(each, amounts={**each.amounts, scale: with_runs(each.amounts[scale])}) for each in chosen]


def _players(paths: Sequence[str]) -> list[tuple[str, str]]:
    """The label and import path of each policy that joins."""
    from rankloop.experiments.players import load_player

    players: dict[str, str] = {}
    for path in paths:
        with refusing("--with"):
            load_player(path)
        label = path.rpartition(":")[2]
        if label in players:
            raise Refused(f"--with: two policies are named {label}")
        players[label] = path
    return list(players.items())


def _command(
    names: Sequence[str] | None,
    scale: str,
    data: Path | None,
    with_: Sequence[str] | None,
    runs: str | None,
    seed: str,
) -> str:
    """What gives this report again; a path of one's own says nothing to others."""
    parts = ["rankloop", "reproduce", *(names or ()), "--scale", scale]
    parts += ["--data", "DIR"] if data is not None else []
    for path in with_ or ():
        parts += ["--with", path]
    parts += ["--runs", runs] if runs is not None else []
    parts += ["--seed", seed] if seed != "0" else []
    return shlex.join(parts)
