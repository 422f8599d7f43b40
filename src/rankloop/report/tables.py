"""Results as rows of a table."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from rankloop.report.markdown import Cell, Table
from rankloop.simulation import Result
from rankloop.simulation.checkpoints import FIRST_STEPS
from rankloop.simulation.result import readable


class Row(NamedTuple):
    """What a table says of a result of duels, at its last checkpoint."""

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


class ListRow(NamedTuple):
    """What a table says of a result of lists, at its last checkpoint; None where it was not recorded."""

    policy: str
    steps: int
    runs: int
    mean_regret: float
    standard_error: float
    early_violations: float | None
    """Lists among the first 100 that were less safe than allowed."""
    violations: float | None
    """Such lists among all."""
    ndcg: float
    microseconds_per_step: float


class DriftRow(NamedTuple):
    """What a table says of a result of lists for users whose preferences change."""

    policy: str
    steps: int
    runs: int
    mean_regret: float
    standard_error: float
    first_epoch_regret: float | None
    late_epoch: int
    """The last of the epochs 1, 3, 5, ...: in the thesis' drift, preferences are then those of the first one."""
    late_epoch_regret: float | None
    ndcg: float
    microseconds_per_step: float
    regret_after_change: float | None
    """The regret of all epochs but the first, before which nothing had changed."""


class HybridRow(NamedTuple):
    """What a table says of a result of lists for users who want them relevant and diverse."""

    policy: str
    steps: int
    runs: int
    mean_regret: float
    standard_error: float
    clicks_a_list: float
    """Over the whole run; users click once at most."""
    microseconds_per_step: float


AnyRow = Row | ListRow | DriftRow | HybridRow


def rows(results: Iterable[Result]) -> list[AnyRow]:
    """One row for each result that has finished runs, the best first, by what its problem is about.

    For lists these are the unsafe ones, and for changing preferences the regret after the first change; where they are
    alike or not recorded, and for all other problems, it is the regret.

    >>> from rankloop import MergeDTS, PreferenceMatrix, simulate
    >>> result = simulate(MergeDTS(20), PreferenceMatrix.cycle2(), horizon=100_000, runs=2)
    >>> [row] = rows([result])
    >>> row.policy, row.steps, row.runs, row.found_winner, row.failures
    ('MergeDTS', 100000, 2, 1.0, 0)
    """
    found = [_row(result) for result in results if result.finished]
    return sorted(found, key=lambda row: (_lead(row), row.mean_regret))


def _lead(row: AnyRow) -> float:
    """What the problem of a row is about; less of it is better."""
    if isinstance(row, ListRow) and row.violations is not None:
        return row.violations
    if isinstance(row, DriftRow) and row.regret_after_change is not None:
        return row.regret_after_change
    return row.mean_regret


def ranking(results: Iterable[Result]) -> Table:
    """The rows as a table of a report; who does best in what the problem is about stands out."""
    found = rows(results)
    best = min(map(_lead, found), default=0.0)
    lines = [
        [Cell(text, strong=k < 2 and _lead(row) == best and len(found) > 1) for k, text in enumerate(cells(row))]
        for row in found
    ]
    return Table(headings(found), lines)


def _row(result: Result) -> AnyRow:
    horizon = int(result.setting.get("horizon", result.steps[-1]))
    common: dict[str, Any] = {
        "policy": result.policy,
        "steps": int(result.steps[-1]),
        "runs": len(result.finished),
        "mean_regret": float(result.mean()[-1]),
        "standard_error": float(result.standard_error()[-1]),
        "microseconds_per_step": float(result.seconds.mean()) / horizon * 1e6,
    }
    recorded = next(iter(result.finished.values())).records
    if "ndcg" not in recorded:
        return Row(**common, found_winner=float(result.found.mean()), failures=int(result.failures.sum()))
    if result.setting.get("hybrid"):
        return HybridRow(**common, clicks_a_list=float(result.mean("clicks")[-1]) / common["steps"])
    ndcg = float(result.mean("ndcg")[-1])
    if "epochs" in result.setting:
        late, first = _late_epoch(result), _regret_in_epoch(result, 1)
        return DriftRow(
            **common,
            ndcg=ndcg,
            first_epoch_regret=first,
            regret_after_change=None if first is None else common["mean_regret"] - first,
            late_epoch=late,
            late_epoch_regret=_regret_in_epoch(result, late),
        )
    violations = "violations" in recorded
    return ListRow(
        **common,
        ndcg=ndcg,
        early_violations=_at(result, "violations", FIRST_STEPS) if violations else None,
        violations=float(result.mean("violations")[-1]) if violations else None,
    )


def _late_epoch(result: Result) -> int:
    """The last of the epochs 1, 3, 5, ... that was finished."""
    ends = np.cumsum(result.setting["epochs"])
    return max(1, (int((ends <= result.steps[-1]).sum()) - 1) // 2 * 2 + 1)


def _regret_in_epoch(result: Result, number: int) -> float | None:
    ends = [0, *np.cumsum(result.setting["epochs"]).tolist()]
    before = 0.0 if number == 1 else _at(result, "regret", ends[number - 1])
    after = _at(result, "regret", ends[number])
    return None if before is None or after is None else after - before


def _at(result: Result, record: str, step: int) -> float | None:
    """The mean of a record at a step, if that is a checkpoint."""
    [found] = np.nonzero(result.steps == step)
    return float(result.mean(record)[found[0]]) if len(found) else None


REGRET = ("regret", "± s.e.")
RUNS = ("runs", "µs per step")
HEADINGS = ("policy", *REGRET, "found the winner", "lost the winner", *RUNS)
_HYBRID_HEADINGS = ("policy", *REGRET, "clicks per list", *RUNS)
_LIST_HEADINGS = ("policy", "unsafe lists", "unsafe of first 100", *REGRET, "NDCG", *RUNS)


def headings(table: Sequence[AnyRow]) -> Sequence[str]:
    """What stands above the cells of a table."""
    if table and isinstance(table[0], ListRow):
        return _LIST_HEADINGS
    if table and isinstance(table[0], HybridRow):
        return _HYBRID_HEADINGS
    if table and isinstance(table[0], DriftRow):
        epochs = ("regret after the first change", "in epoch 1", f"in epoch {table[0].late_epoch}")
        return ("policy", *epochs, *REGRET, "NDCG", *RUNS)
    return HEADINGS


def cells(row: AnyRow) -> Sequence[str]:
    """A row as a person reads it, under its `headings`."""
    regret = (readable(row.mean_regret), readable(row.standard_error) if row.runs > 1 else "–")
    middle: tuple[str, ...]
    if isinstance(row, Row):
        middle = (*regret, f"{row.found_winner:.0%}", f"{row.failures:,}")
    elif isinstance(row, HybridRow):
        middle = (*regret, f"{row.clicks_a_list:.3f}")
    elif isinstance(row, ListRow):
        middle = (_number(row.violations), _number(row.early_violations), *regret, f"{row.ndcg:.3f}")
    else:
        epochs = (row.regret_after_change, row.first_epoch_regret, row.late_epoch_regret)
        middle = (*map(_number, epochs), *regret, f"{row.ndcg:.3f}")
    speed = f"{row.microseconds_per_step:.2f}" if row.microseconds_per_step >= 0.005 else "<0.01"
    return (row.policy, *middle, f"{row.runs:,}", speed)


def _number(value: float | None) -> str:
    return "–" if value is None else readable(value)


def as_csv(table: Sequence[AnyRow]) -> str:
    """The rows with all their digits, as comma-separated text with a line of headings.

    >>> print(as_csv([Row("DTS", 100, 2, 1.5, 0.25, 0.5, 0, 6.0)]))
    policy,steps,runs,mean_regret,standard_error,found_winner,failures,microseconds_per_step
    DTS,100,2,1.5,0.25,0.5,0,6.0
    <BLANKLINE>
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(type(table[0])._fields if table else Row._fields)
    writer.writerows(table)
    return text.getvalue()
