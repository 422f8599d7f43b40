"""What the terminal shows of experiments: that one is done, the scorecard, the timings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.markup import escape
from rich.table import Table

from rankloop.cli.tables import console
from rankloop.report.experiment_tables import kind_and_text
from rankloop.report.scorecard import Judged, by_chapter, chapter_title, counted, found_here, said
from rankloop.wording import duration

if TYPE_CHECKING:
    from rankloop.experiments import Outcome
    from rankloop.report.markdown import Table as Rows
    from rankloop.runs import Watcher

COLOURS = {"holds": "green", "fails": "red", "undecided": "yellow"}


def announce(watcher: Watcher, number: int, total: int, outcome: Outcome) -> None:
    """Say that an experiment is done, and what data it used."""
    sources = dict.fromkeys(": ".join(kind_and_text(panel.source)) for panel in outcome.panels)
    failed = f", {len(outcome.failures):,} failed" if outcome.failures else ""
    shown = list(sources)[:2] + [f"and {len(sources) - 2} more"] * (len(sources) > 2)
    watcher.note(
        f"[{number}/{total}] {outcome.experiment.name}: done, {duration(outcome.seconds)} of core time"
        f"{failed}; {'; '.join(shown)}"
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
