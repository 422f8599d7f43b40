"""Reading samples from an outcome; what is missing raises `Undecidable`, with the reason.

Rows belong together by query or user where there are several, each row being the mean of its runs, else by run.
"""

from __future__ import annotations

import math

import numpy as np

from rankloop.environments import ClickProblem, HybridProblem
from rankloop.experiments.declare import Outcome, Panel
from rankloop.experiments.statistics import LEAST, Floats
from rankloop.simulation.result import Run


class Undecidable(Exception):
    """Raised where results are missing that a claim needs, with the reason."""


def sample(outcome: Outcome, panel: str, player: str, record: str = "regret", at: float = 1.0) -> Floats:
    """One number for each query or user, or each run of a single environment: what was recorded at a step.

    `at` is a whole number of steps, or the share of the horizon as a fraction; 1.0 is the end. `seconds` and `failures`
    are read as records too.
    """
    environment = panel_named(outcome, panel).environment
    many = isinstance(environment, list | tuple) and not isinstance(environment, ClickProblem)
    n_problems = len(environment) if many else 1
    expected = outcome.amount.runs * n_problems
    result = outcome.results.get((panel, player))
    present = 0 if result is None else sum(unit in result.finished for unit in range(expected))
    if result is None or present < expected:
        failed = next((f.error for f in outcome.failures if (f.panel, f.player) == (panel, player)), None)
        why = "" if failed is None else f" ({failed})"
        raise Undecidable(f"{expected - present} of {expected} runs of {player} in {panel} are missing{why}")
    step = at if isinstance(at, int) else round(at * outcome.amount.horizon)
    if step > outcome.amount.horizon:
        raise Undecidable(f"looks at step {step:,}, beyond the {outcome.amount.horizon:,} of this scale")
    where = np.flatnonzero(result.steps == step)
    if not len(where):
        raise Undecidable(f"nothing was recorded at step {step:,} of {player} in {panel}")
    values = np.array([_value(result.finished[unit], record, int(where[0])) for unit in range(expected)])
    if not np.isfinite(values).all():
        raise Undecidable(f"{player} has no finite {record} in {panel}")
    rows: Floats = values.reshape(-1, n_problems).mean(axis=0) if n_problems > 1 else values
    if len(rows) < LEAST:
        many_of = "users" if many and isinstance(environment[0], HybridProblem) else "queries"
        raise Undecidable(f"{len(rows)} {many_of if n_problems > 1 else 'runs'} are too few to tell")
    return rows


def _value(run: Run, record: str, column: int) -> float:
    if record == "seconds":
        return run.seconds
    if record == "failures":
        return float(run.failed)
    return float(run.records[record][column]) if record in run.records else math.nan


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
