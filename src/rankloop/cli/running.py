"""What all commands that run experiments share: the run itself, and what is said and written at its end."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rankloop.cli.errors import Refused, refusing

if TYPE_CHECKING:
    from rankloop.experiments import Claim, Experiment, Outcome
    from rankloop.experiments.declare import Scale
    from rankloop.report.reproduction import Report

MOST_NAMED = 10
"""Failures that are named in the terminal; the report names more."""


def run(
    experiments: Sequence[Experiment],
    scale: Scale,
    data: Any,
    out: Path,
    *,
    seed: int,
    workers: int | None,
    cluster: str | None = None,
    players: Sequence[tuple[str, Any]] = (),
) -> tuple[Sequence[Outcome], int]:
    """The outcomes as far as they came, and how many runs an interrupt left undone."""
    from rankloop.cli.watching import announce
    from rankloop.experiments.cluster import connect
    from rankloop.experiments.runner import Interrupted, run_experiments
    from rankloop.runs import display

    with ExitStack() as stack, refusing():
        executor: Any = stack.enter_context(connect(cluster)) if cluster is not None else None
        watcher = stack.enter_context(display())
        number = itertools.count(1)
        try:
            outcomes = run_experiments(
                experiments,
                scale,
                data,
                out / "runs",
                seed=seed,
                executor=executor,
                workers=workers,
                progress=watcher,
                players=players,
                finished=lambda outcome: announce(watcher, next(number), len(experiments), outcome),
            )
        except Interrupted as interrupt:
            begun = [each for each in interrupt.outcomes if any(result.finished for result in each.results.values())]
            return begun, interrupt.left
        return outcomes, 0


def write_report(
    outcomes: Sequence[Outcome],
    claims: Iterable[Claim],
    out: Path,
    command: str,
    workers: int | None,
    **texts: Any,
) -> Report:
    """Write the report of the outcomes; `command` is what gives it again."""
    from rankloop import __version__
    from rankloop.experiments.bounds import bounds
    from rankloop.report.reproduction import reproduction

    footer = f"Made by rankloop {__version__} with the command: {command}"
    found = {outcome.experiment.name: bounds(outcome) for outcome in outcomes}
    cores = workers or os.cpu_count() or 1
    report = reproduction(outcomes, claims, cores=cores, footer=footer, bounds=found, **texts)
    with refusing("cannot write the report"):
        report.write(out)
    return report


def finish(outcomes: Sequence[Outcome], report: Report, out: Path, left: int) -> None:
    """Say where the report is and what went wrong, and end with the exit code that tells."""
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
        print(f"Interrupted with {left:,} runs left: the report is of what has finished. The same command goes on.")
        raise typer.Exit(130)
    if failed or broken:
        raise typer.Exit(1)


def check_writable(path: Path) -> None:
    """Refuse what cannot become a folder with results, without making anything."""
    if path.exists() and not path.is_dir():
        raise Refused(f"--out {path} is a file: give a folder")
    existing = next(parent for parent in (path.absolute(), *path.absolute().parents) if parent.exists())
    if not existing.is_dir():
        raise Refused(f"--out {path}: {existing} is a file, not a folder")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise Refused(f"--out {path}: {existing} is not writable: give another folder")
