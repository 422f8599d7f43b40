"""`rankloop experiments`: what of the thesis can be reproduced, and how much each scale runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankloop.experiments import Amount


def experiments() -> None:
    """List the experiments of the thesis, and the size of each at each scale."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from rankloop.cli.tables import console
    from rankloop.experiments.catalogue import EXPERIMENTS
    from rankloop.experiments.declare import SCALES
    from rankloop.report.scorecard import chapter_title

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("name", "thesis", "title"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "name")
    for scale in SCALES:
        table.add_column(scale, justify="right", no_wrap=True)
    chapter = None
    for experiment in EXPERIMENTS:
        if experiment.chapter != chapter:
            if chapter is not None:
                table.add_section()
            chapter = experiment.chapter
            table.add_row("", "", f"[bold]{escape(chapter_title(chapter))}[/]")
        amounts = [amount_in_short(experiment.amounts[scale]) for scale in SCALES]
        table.add_row(*map(escape, (experiment.name, experiment.section, experiment.title, *amounts)))
    console().print(table)
    print("A scale is steps × runs (× queries or users); * where some policies have amounts of their own.")
    print("Run some with: rankloop reproduce NAME… --scale smoke")


def amount_in_short(amount: Amount) -> str:
    """Steps, runs and problems, as short as a column.

    >>> from rankloop.experiments import Amount
    >>> amount_in_short(Amount(10**8, 50)), amount_in_short(Amount(100_000, 10, 100))
    ('100M × 50', '100k × 10 × 100')
    >>> amount_in_short(Amount(10**8, 50, others={"*: DTS": Amount(10**7, 6)}))
    '100M × 50*'
    """
    from rankloop.wording import short_number

    parts = [short_number(amount.horizon), f"{amount.runs:,}"]
    short = " × ".join(parts if amount.problems is None else [*parts, f"{amount.problems:,}"])
    return f"{short}*" if amount.others else short
