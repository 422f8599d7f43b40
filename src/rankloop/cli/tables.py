"""Tables in the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rankloop.report import cells, headings, rows
from rankloop.simulation import Result

WIDTH_OF_FILES = 120
"""Columns where the output is not a terminal and has no width of its own."""


def console() -> Console:
    """Standard output, as wide as it is."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH_OF_FILES)


def new_table(title: str) -> Table:
    """A table in the style of all commands."""
    return Table(title=escape(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)


def print_results(results: Iterable[Result], title: str) -> None:
    """The table of results, the least regret first."""
    table = new_table(title)
    found = rows(results)
    for heading in headings(found):
        table.add_column(heading, justify="left" if heading == "policy" else "right", overflow="fold")
    for row in found:
        table.add_row(*map(escape, cells(row)))
    console().print(table)
