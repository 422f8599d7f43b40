"""Outcomes of experiments with made-up regret, and what claims find in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankloop.experiments.comparisons import Comparison
from rankloop.experiments.declare import Amount, Experiment, Finding, Outcome, Panel, Player, Source
from rankloop.experiments.judging import judged_by
from rankloop.runs import Run
from rankloop.simulation import Result

STEPS = (10, 100, 1000, 10_000)
Curve = tuple[Sequence[int], np.ndarray]
"""Steps, and a row of records for each run."""


def flat(value: float, *, runs: int = 10, noise: float = 0.01, steps: Sequence[int] = STEPS, seed: int = 0) -> Curve:
    """A regret that is there from the first step on, apart for each run by some noise."""
    luck = np.random.default_rng((seed, int(value))).normal(1, noise, runs)
    return steps, np.outer(luck, np.full(len(steps), float(value)))


def growing(power: float, *, runs: int = 10, steps: Sequence[int] = STEPS) -> Curve:
    luck = np.random.default_rng(round(power * 100)).normal(1, 0.01, (runs, len(steps)))
    return steps, luck * np.array(steps, float) ** power


def outcome(
    panels: Mapping[str, Mapping[str, Curve]],
    *,
    stand_ins: Sequence[str] = (),
    queries: int = 1,
    record: str = "regret",
    values: Mapping[str, float] | None = None,
    failed: int = 0,
    setting: Mapping[str, Any] | None = None,
) -> Outcome:
    made = [
        Panel(
            name,
            None,
            Source("made up", name not in stand_ins),
            [Player(label, None) for label in players],
            value=(values or {}).get(name),
        )
        for name, players in panels.items()
    ]
    experiment = Experiment(
        "x", 2, "2", "X", "X.", lambda *_: made, {"smoke": Amount(10_000, 10)}, parameter="z" if values else ""
    )
    extra = {"queries": [str(k) for k in range(queries)]} if queries > 1 else {}
    results = {
        (name, label): Result(
            {"policy": label, "horizon": steps[-1], **extra, **(setting or {})},
            np.array(steps),
            {k: Run({record: row}, best=0, failed=k < failed, seconds=2.0) for k, row in enumerate(rows)},
        )
        for name, players in panels.items()
        for label, (steps, rows) in players.items()
    }
    return Outcome(experiment, "smoke", made, results)


def judged(found: Outcome, *comparisons: Comparison, **more: Any) -> Finding:
    return judged_by(*comparisons, **more)(found)
