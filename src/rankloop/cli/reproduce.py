"""`rankloop reproduce`: the thesis' experiments run anew, its claims judged, and a report of both."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankloop.cli.arguments import whole
from rankloop.cli.errors import Refused, refusing
from rankloop.wording import suggestion

if TYPE_CHECKING:
    from rankloop.experiments import Amount, Experiment, Outcome
    from rankloop.experiments.declare import Scale
    from rankloop.report.reproduction import Report

MOST_NAMED = 10
"""Failures that are named in the terminal; the report names more."""


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
        typer.Option(metavar="DIR", help="Where the real datasets are; stand-ins are used for those it has not."),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where runs are kept, and the report goes.")] = Path(
        "reproduction"
    ),
    cluster: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="The scheduler of a Dask cluster that shall do the work.")
    ] = None,
    with_: Annotated[
        list[str] | None,
        typer.Option(
            "--with", metavar="MODULE:POLICY", help="A policy of yours that joins every experiment it can play in."
        ),
    ] = None,
    runs: Annotated[
        str | None,
        typer.Option(metavar="N", help="Runs of each policy, instead of as many as the scale says; only new ones run."),
    ] = None,
    workers: Annotated[str | None, typer.Option(metavar="N", help="Runs at once.", show_default="all cores")] = None,
    seed: Annotated[str, typer.Option(metavar="N", help="Seed of all random numbers.")] = "0",
    beside: Annotated[str | None, typer.Option(hidden=True, help="Page that the report links to.")] = None,
) -> None:
    """Run the thesis' experiments anew, judge its claims, and write a report.

    Runs are kept as they finish: the same command goes on where it was interrupted, and another scale, more runs or
    more policies add to what is there.
    """
    from rankloop.experiments.declare import SCALES

    if scale not in SCALES:
        raise Refused(f"no scale {scale!r}{suggestion(scale, SCALES)}")
    n_runs = whole("--runs", runs, 1) if runs is not None else None
    n_workers = whole("--workers", workers, 1) if workers is not None else None
    first_seed = whole("--seed", seed, 0)
    chosen = _with_runs(_chosen(names or ()), scale, n_runs)
    if data is not None and not data.is_dir():
        raise Refused(f"--data {data} is {'a file' if data.exists() else 'not there'}: give a folder with datasets")

    from rankloop.cli.folder import check_writable

    check_writable(out)
    players = _players(with_ or ())
    outcomes, left = _run(chosen, scale, data, out, cluster, players, n_workers, first_seed)
    report = _write(outcomes, out, _command(names, scale, data, with_, runs, seed), n_workers, beside)
    _finish(outcomes, report, out, left)


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


def _run(
    chosen: Sequence[Experiment],
    scale: Scale,
    data: Path | None,
    out: Path,
    cluster: str | None,
    players: Sequence[tuple[str, str]],
    workers: int | None,
    seed: int,
) -> tuple[Sequence[Outcome], int]:
    """The outcomes as far as they came, and how many units an interrupt left undone."""
    from rankloop.cli.watching import Watching
    from rankloop.experiments.cluster import connect
    from rankloop.experiments.data import Data
    from rankloop.experiments.runner import run_experiments
    from rankloop.experiments.work import Interrupted

    with ExitStack() as stack, refusing():
        executor: Any = stack.enter_context(connect(cluster)) if cluster is not None else None
        watching = stack.enter_context(Watching())
        try:
            outcomes = run_experiments(
                chosen,
                scale,
                Data(data),
                out / "runs",
                seed=seed,
                executor=executor,
                workers=workers,
                progress=watching,
                players=players,
                finished=watching.finished,
            )
        except Interrupted as interrupt:
            return [each for each in interrupt.outcomes if _begun(each)], interrupt.left
        return outcomes, 0


def _begun(outcome: Outcome) -> bool:
    return any(result.finished for result in outcome.results.values())


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


def _write(
    outcomes: Sequence[Outcome], out: Path, command: str, workers: int | None, beside: str | None
) -> Report | None:
    if not outcomes:
        return None
    from rankloop import __version__
    from rankloop.experiments.bounds import bounds
    from rankloop.experiments.claims import CLAIMS
    from rankloop.report.reproduction import reproduction

    footer = f"Made by rankloop {__version__} with the command: {command}"
    pages = {beside: "the page of the demo"} if beside else {}
    found = {outcome.experiment.name: bounds(outcome) for outcome in outcomes}
    report = reproduction(
        outcomes, CLAIMS, cores=workers or os.cpu_count() or 1, footer=footer, bounds=found, beside=pages
    )
    with refusing("cannot write the report"):
        report.write(out)
    return report


def _finish(outcomes: Sequence[Outcome], report: Report | None, out: Path, left: int) -> None:
    """Say what came out, where it is, and what went wrong."""
    from rankloop.cli.watching import print_scorecard, print_timings

    if report is None:
        print("No run had finished, so there is nothing to report.")
        raise typer.Exit(130)
    print_scorecard(report.judged)
    print_timings(report.timings)
    broken = [f"{each.claim.name}: {each.finding.text}" for each in report.judged if each.broken]
    failed = [
        f"{outcome.experiment.name}: {failure.player} in {failure.panel}, run {failure.run}: {failure.error}"
        for outcome in outcomes
        for failure in outcome.failures
    ]
    for title, found in (("could not be done", failed), ("could not be judged", broken)):
        if found:
            print(f"{len(found):,} {title}:")
            print("\n".join(f"  {line}" for line in found[:MOST_NAMED]))
            if len(found) > MOST_NAMED:
                print(f"  and {len(found) - MOST_NAMED:,} more")
    page = out / "index.html"
    print(f"Report:   {page}\nMarkdown: {out / 'report.md'}\nOpen it in a browser: {page.resolve().as_uri()}")
    if left:
        print(f"Interrupted with {left:,} runs to go: the report is of what has finished. The same command goes on.")
        raise typer.Exit(130)
    if failed or broken:
        raise typer.Exit(1)
