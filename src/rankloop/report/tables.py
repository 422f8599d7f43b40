"""Results as rows of a table."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rankloop.simulation import Result
from rankloop.simulation.result import readable


class Row(NamedTuple):
    """What a table says of one result, at its last checkpoint."""

    policy: str
    steps: int
    runs: int
    mean_regret: float
    standard_error: float
    found_winner: float
    """The share of runs that in the end believed in an arm without regret."""
    failures: int
    """Runs that eliminated the winner."""
    microseconds_per_step: float


def rows(results: Iterable[Result]) -> list[Row]:
    """One row a result that has finished runs, the least regret first.

    >>> from rankloop import MergeDTS, PreferenceMatrix, simulate
    >>> result = simulate(MergeDTS(20), PreferenceMatrix.cycle2(), horizon=100_000, runs=2)
    >>> [row] = rows([result])
    >>> row.policy, row.steps, row.runs, row.found_winner, row.failures
    ('MergeDTS', 100000, 2, 1.0, 0)
    """
    return sorted((_row(result) for result in results if result.finished), key=lambda row: row.mean_regret)


def _row(result: Result) -> Row:
    horizon = int(result.setting.get("horizon", result.steps[-1]))
    return Row(
        policy=result.policy,
        steps=int(result.steps[-1]),
        runs=len(result.finished),
        mean_regret=float(result.mean()[-1]),
        standard_error=float(result.standard_error()[-1]),
        found_winner=float(result.found.mean()),
        failures=int(result.failures.sum()),
        microseconds_per_step=float(result.seconds.mean()) / horizon * 1e6,
    )


HEADINGS = ("policy", "regret", "± s.e.", "runs", "found the winner", "lost the winner", "µs a step")


def cells(row: Row) -> Sequence[str]:
    """A row as a person reads it, under `HEADINGS`."""
    return (
        row.policy,
        readable(row.mean_regret),
        readable(row.standard_error) if row.runs > 1 else "–",
        f"{row.runs:,}",
        f"{row.found_winner:.0%}",
        f"{row.failures:,}",
        f"{row.microseconds_per_step:.2f}" if row.microseconds_per_step >= 0.005 else "<0.01",
    )


def as_csv(table: Iterable[Row]) -> str:
    """The rows with all their digits, as comma-separated text with a line of headings.

    >>> print(as_csv([Row("DTS", 100, 2, 1.5, 0.25, 0.5, 0, 6.0)]))
    policy,steps,runs,mean_regret,standard_error,found_winner,failures,microseconds_per_step
    DTS,100,2,1.5,0.25,0.5,0,6.0
    <BLANKLINE>
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Row._fields)
    writer.writerows(table)
    return text.getvalue()
