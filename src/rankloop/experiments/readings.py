"""Reading samples from an outcome; what is missing raises `Undecidable`, with the reason.

What a comparison is about decides what its error is of. The runs in one environment are independent, whichever policy
made them. Queries are fixed: the error is that of their runs, and what is compared is the same queries. Users are a
sample of many, so the error is over users, and policies are paired by user; likewise queries with a single run each, or
where a number is set beside one that was measured on other queries.

Players of one experiment may have played for different numbers of steps, and in different numbers of runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from rankloop.arrays import Floats
from rankloop.experiments.declare import Outcome, Panel
from rankloop.experiments.statistics import LEAST, Sample
from rankloop.runs import Run
from rankloop.simulation import Result
from rankloop.wording import duration

THESIS_STEPS = 10**8
"""Number of steps for which the thesis gives times."""

SETTLING = ("MergeDTS", "MergeRUCB")
"""Players that show only one ranker once they have eliminated all others."""

TOLD_THE_HORIZON = ("REX3",)
"""Players that behave otherwise where the horizon is longer."""


class Undecidable(Exception):
    """Raised where results are missing that a claim needs, with the reason."""


class Read(NamedTuple):
    """Where a sample is read."""

    panel: str
    player: str
    at: float = 1.0
    """A whole number of steps, or a fraction of the step at which the comparison is made."""
    record: str = "regret"
    sampled: bool = False
    """Whether queries are a sample of many, and not fixed."""


def result_of(outcome: Outcome, panel: str, player: str) -> Result:
    """The runs of one player in one panel, all of them."""
    panel_named(outcome, panel)
    result = outcome.results.get((panel, player))
    failed = [failure.error for failure in outcome.failures if (failure.panel, failure.player) == (panel, player)]
    if result is None or not result.finished or result.interrupted or failed:
        why = f" ({failed[0]})" if failed else ""
        raise Undecidable(f"runs of {player} in {panel} are missing{why}")
    return result


def last_step(result: Result, player: str) -> float:
    """The last step at which a curve can be read: without end where it has settled without regret."""
    if player in SETTLING and _settled(result):
        return math.inf
    return float(result.steps[-1])


def _settled(result: Result) -> bool:
    half = int(np.searchsorted(result.steps, result.steps[-1] // 2, "right")) - 1
    regrets = [run.records.get("regret") for run in result.finished.values()]
    return half >= 0 and all(regret is not None and regret[half] == regret[-1] for regret in regrets)


def common_steps(outcome: Outcome, players: Iterable[tuple[str, str]]) -> list[int]:
    """The steps at which all of these players, each in its panel, can be read."""
    curves = [(result_of(outcome, panel, player), player) for panel, player in dict.fromkeys(players)]
    longest = max(int(result.steps[-1]) for result, _ in curves)
    steps: set[int] | None = None
    for result, player in curves:
        known = set(result.steps.tolist())
        if last_step(result, player) == math.inf:
            known |= {step for other, _ in curves for step in other.steps.tolist() if step > result.steps[-1]}
        steps = known if steps is None else steps & known
    if not steps:
        raise Undecidable("there is no step at which all players were recorded")
    return sorted(step for step in steps if step <= longest)


def sample(outcome: Outcome, read: Read, step: int) -> Sample:
    """What was recorded at a step: a column for each run, a row for each fixed query.

    `seconds` (of 10^8 steps, at the measured time per step) and `failures` are read as records too.
    """
    result = result_of(outcome, read.panel, read.player)
    where = np.flatnonzero(result.steps == step)
    if len(where):
        column = int(where[0])
    elif step > result.steps[-1] and last_step(result, read.player) == math.inf:
        column = len(result.steps) - 1
    else:
        raise Undecidable(f"nothing was recorded at step {step:,} of {read.player} in {read.panel}")
    units = sorted(result.finished)
    horizon = int(result.steps[-1])
    values = np.array([_value(result.finished[unit], read.record, column, horizon) for unit in units])
    if not np.isfinite(values).all():
        raise Undecidable(f"{read.player} has no finite {read.record} in {read.panel}")
    return _shaped(values, n_problems(result), read, users=bool(result.setting.get("hybrid")))


def _shaped(values: Floats, problems: int, read: Read, *, users: bool) -> Sample:
    by_problem = values[: len(values) // problems * problems].reshape(-1, problems).T
    runs = by_problem.shape[1]
    if problems == 1:
        rows, block, kind = by_problem, f"{read.panel}: {read.player}", "runs"
    elif users or read.sampled or runs == 1:
        rows, block, kind = by_problem.mean(axis=1)[None, :], "all", "users" if users else "queries"
    else:
        return Sample(by_problem, f"{read.panel}: {read.player}")
    if rows.shape[1] < LEAST:
        raise Undecidable(f"{rows.shape[1]} {kind} are too few to tell")
    return Sample(rows, block)


def paired(samples: Sequence[Sample]) -> list[Sample]:
    """The samples with as many columns as all of their block have: policies meet on the users that all of them met."""
    least: dict[object, int] = {}
    rows: dict[object, int] = {}
    for one in samples:
        least[one.block] = min(least.get(one.block, one.values.shape[1]), one.values.shape[1])
    queries = {one.values.shape[0] for one in samples if one.values.shape[0] > 1}
    if queries:  # fixed queries: the first that all have
        rows = dict.fromkeys((one.block for one in samples if one.values.shape[0] > 1), min(queries))
    return [one._replace(values=one.values[: rows.get(one.block), : least[one.block]]) for one in samples]


def n_problems(result: Result) -> int:
    """How many queries or users a curve is of."""
    return len(result.setting.get("queries", ())) or 1


def _value(run: Run, record: str, column: int, horizon: int) -> float:
    if record == "seconds":
        return run.seconds * THESIS_STEPS / horizon
    if record == "failures":
        return float(run.failed)
    return float(run.records[record][column]) if record in run.records else math.nan


def projected(outcome: Outcome, players: Iterable[tuple[str, str]], step: float, times: float = 1.0) -> str:
    """How long as many runs of these players would take to a step, or `times` as many, on one core."""
    seconds = 0.0
    for panel, player in dict.fromkeys(players):
        result = outcome.results.get((panel, player))
        if result is not None and result.finished:
            seconds += float(np.nansum(result.seconds)) * max(1.0, step / float(result.steps[-1])) * times
    return f"about {duration(seconds)} on one core"


def panel_named(outcome: Outcome, name: str) -> Panel:
    """The panel of that name."""
    for panel in outcome.panels:
        if panel.name == name:
            return panel
    raise Undecidable(f"there is no panel {name}")


def studied_values(outcome: Outcome) -> Floats:
    """The values of the studied parameter, one a panel."""
    if len(outcome.panels) < 3:
        raise Undecidable(f"{len(outcome.panels)} values of {outcome.experiment.parameter} are too few to tell")
    return np.array([math.nan if panel.value is None else panel.value for panel in outcome.panels])
