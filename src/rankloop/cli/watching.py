"""How experiments are watched, and how their scorecard looks in a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich import box
from rich.markup import escape
from rich.table import Table

from rankloop.cli.tables import console
from rankloop.experiments.watch import HEARTBEAT, Lines, Status, Watcher
from rankloop.report.experiment_tables import kind_and_text
from rankloop.report.scorecard import Judged, by_chapter, chapter_title, counted, found_here, said
from rankloop.wording import duration

if TYPE_CHECKING:
    from rankloop.experiments import Outcome
    from rankloop.report.markdown import Table as Rows

COLOURS = {"holds": "green", "fails": "red", "undecided": "yellow"}


class Watching:
    """A bar for a person, a line now and then for a log; and a line for each experiment that is finished."""

    def __init__(self) -> None:
        self._number = 0
        self._total = 0
        self._spoke = -HEARTBEAT
        self._lines: Watcher = Lines()
        self._bars: Any = None
        self._task: Any = None
        if sys.stderr.isatty():
            self._bars = _bars()
            self._task = self._bars.add_task("preparing", total=None, note="")

    def __enter__(self) -> Self:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def show(self, status: Status) -> None:
        """Show where the work stands."""
        self._total = status.experiments
        if self._bars is None:
            if status.doing != "preparing" or self._quiet():
                self._lines.show(status)
            return
        running = status.doing == "running"
        notes = [f"{duration(status.seconds_left)} left"] if status.seconds_left is not None else []
        notes += [f"[red]{status.failures:,} failed[/]"] if status.failures else []
        place = f"[dim]{status.number}/{status.experiments}[/] {escape(status.experiment)}"
        self._bars.update(
            self._task,
            description=place if running else status.doing,
            total=status.total,
            completed=status.done,
            note=", ".join(notes),
        )

    def _quiet(self) -> bool:
        """Whether nothing was said for a while: most experiments are prepared in a moment."""
        now = time.monotonic()
        quiet = now - self._spoke > HEARTBEAT
        self._spoke = now if quiet else self._spoke
        return quiet

    def note(self, text: str) -> None:
        """Tell something that the user should know."""
        self._print(text)

    def finished(self, outcome: Outcome) -> None:
        """Say that an experiment is done, and what data it used."""
        self._number += 1
        sources = dict.fromkeys(": ".join(kind_and_text(panel.source)) for panel in outcome.panels)
        failed = f", {len(outcome.failures):,} failed" if outcome.failures else ""
        shown = list(sources)[:2] + [f"and {len(sources) - 2} more"] * (len(sources) > 2)
        self._print(
            f"[{self._number}/{self._total}] {outcome.experiment.name}: done, {duration(outcome.seconds)} of core time"
            f"{failed}; {'; '.join(shown)}"
        )

    def _print(self, text: str) -> None:
        if self._bars is not None:
            self._bars.console.print(text, markup=False, highlight=False)
        else:
            print(text, file=sys.stderr, flush=True)


def _bars() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[note]}"),
        console=Console(stderr=True),
        transient=True,
    )


def print_scorecard(judged: Sequence[Judged]) -> None:
    """The claims with their verdicts, by chapter."""
    if not judged:
        print("No claim bears on what was run.")
        return
    table = Table(
        title=f"Scorecard: {counted(judged)}",
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("verdict", max_width=20)
    table.add_column("claim", ratio=4)
    table.add_column("found here", ratio=4)
    table.add_column("section")
    for chapter, found in by_chapter(judged).items():
        table.add_section()
        table.add_row("", f"[bold]{escape(chapter_title(chapter))}[/] [dim]{counted(found)}[/]")
        for claim, _, finding, _ in found:
            verdict = f"[{COLOURS[finding.verdict]}]{escape(said(finding.verdict, finding.waits))}[/]"
            table.add_row(verdict, *map(escape, (claim.text, found_here(finding), claim.section)))
    console().print(table)


def print_timings(rows: Rows) -> None:
    """The experiments with the time they took, and would take at paper scale."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for k, heading in enumerate(rows.headings):
        table.add_column(heading, justify="left" if k in rows.words else "right", overflow="fold")
    for row in rows.rows:
        table.add_row(*(escape(cell.text) for cell in row))
    console().print(table)
