"""How long experiments take: measured here, projected to the thesis' scale, and what the thesis itself took."""

from __future__ import annotations

from typing import NamedTuple

from rankloop.environments.problems import each_of
from rankloop.experiments import Outcome
from rankloop.experiments.chapter2 import DAYS
from rankloop.simulation import Result

DAY = 86_400.0
THESIS_STEPS = 10**8


class Projection(NamedTuple):
    """What all runs of paper scale would take."""

    seconds: float
    """Seconds of one core."""
    whole: bool
    """Whether every player was measured."""


class RunningTime(NamedTuple):
    """One running time of the thesis, with ours for as many steps."""

    panel: str
    player: str
    thesis: float
    """Seconds, as ours."""
    ours: float


def microseconds(result: Result) -> float | None:
    """Mean time per step over the runs, in microseconds; None if no run has finished."""
    if not result.finished:
        return None
    horizon = int(result.setting.get("horizon", result.steps[-1]))
    return float(result.seconds.mean()) / horizon * 1e6


def projection(outcome: Outcome) -> Projection:
    """The time at paper scale, projected from the microseconds per step measured at this scale.

    A player that was not measured in a panel is taken to be as fast as in the others.
    """
    paper = outcome.experiment.amounts["paper"]
    measured = {key: speed for key, result in outcome.results.items() if (speed := microseconds(result)) is not None}
    total, whole = 0.0, True
    for panel in outcome.panels:
        labels = [player.label for player in panel.players]
        labels += [label for name, label in outcome.results if name == panel.name and label not in labels]
        for label in labels:
            speed = measured.get((panel.name, label))
            if speed is None:
                others = [other for (_, player), other in measured.items() if player == label]
                whole = whole and bool(others)
                speed = sum(others) / len(others) if others else 0.0
            part = paper.of(panel.name, label)
            n_problems = len(each_of(panel.environment)) if part.problems is None else part.problems
            total += part.runs * part.horizon * n_problems * speed * 1e-6
    return Projection(total, whole)


def running_times(outcome: Outcome) -> list[RunningTime]:
    """The running times of the thesis' table 2.2 for what was measured, ours beside them."""
    found = []
    for (panel, player), result in outcome.results.items():
        speed = microseconds(result)
        days = DAYS.get(panel, {}).get(player)
        if speed is not None and days is not None:
            found.append(RunningTime(panel, player, days * DAY, speed * 1e-6 * THESIS_STEPS))
    return found
