"""What there is to do: the curves of experiments, and which of their units are missing."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankloop.experiments.declare import Amount, Experiment, Failure, Outcome, Panel, Scale, met_by
from rankloop.experiments.fingerprint import definition
from rankloop.experiments.parts import within
from rankloop.experiments.players import join
from rankloop.experiments.store import Store
from rankloop.experiments.units import Errand, Stopped, explain
from rankloop.experiments.warm_up import kind
from rankloop.simulation import Result
from rankloop.simulation.problems import Problem, problems
from rankloop.simulation.simulate import _blank

ERRAND_SECONDS = 0.25
"""About how much work is sent at once: much more than sending it takes, and little enough to share out evenly."""

MOST_UNITS = 256
"""In one errand."""

PROBE_SECONDS = 0.003
"""How long a policy plays at least to see how long a step takes; there can be hundreds of curves."""


@dataclass
class Curve:
    """One line of one picture: the units of a policy in an environment, or in each of a collection of them."""

    panel: Panel
    label: str
    policy: Any
    environment: Any
    """The panel's, or as many of its queries or users as this player meets."""
    definition: str
    blank: Result
    """Its result before the first run."""
    n_problems: int
    n_units: int
    kind: str
    """Of compiled loop; empty where it runs at Python's speed."""
    missing: list[int] = field(default_factory=list)
    """Units that are yet to be sent out, those of earlier curves with the same definition left out."""
    left: int = 0
    """Units that are not finished, those on their way included."""
    seconds_per_step: float = 0.0
    _problems: list[Problem] = field(default_factory=list)

    @property
    def horizon(self) -> int:
        """Steps in a unit."""
        return int(self.blank.setting["horizon"])

    @property
    def unit_seconds(self) -> float:
        """How long a unit takes, as far as is known."""
        return self.seconds_per_step * self.horizon

    def problem(self, unit: int) -> Problem:
        """What a unit plays."""
        if not self._problems:  # made when needed, since the policies of a hundred users can be large
            self._problems = problems(self.policy, self.environment, self.panel.top, None)
        return self._problems[unit % self.n_problems]

    def let_go(self) -> None:
        """Keep no policies in memory."""
        self._problems = []

    def next_errand(self, workers: int) -> Errand:
        """The next units to be played, several where they are short."""
        fair = math.ceil(len(self.missing) / (4 * workers))
        many = max(1, min(MOST_UNITS, fair, int(ERRAND_SECONDS / max(self.unit_seconds, 1e-9))))
        units, self.missing = tuple(self.missing[:many]), self.missing[many:]
        found = tuple(self.problem(unit) for unit in (units if self.n_problems > 1 else units[:1]))
        if not self.missing:
            self.let_go()
        return Errand(units, found, int(self.blank.setting["seed"]), self.blank.steps, self.horizon)

    def measure(self) -> None:
        """Load the loop, or compile it, and see how long a step takes."""
        problem = self.problem(0)
        problem.warm_up()
        probe = _Probe()
        try:
            problem.play(0, 0, np.array([self.horizon]), self.horizon, probe)
        except Stopped:
            pass
        finally:
            self.let_go()
        self.seconds_per_step = probe.seconds_per_step


class _Probe:
    """Hears of the steps of a short run, and ends it."""

    def __init__(self) -> None:
        self.seconds_per_step = 0.0
        self._begin = self._last = time.perf_counter()

    def __call__(self, steps: int) -> None:
        now = time.perf_counter()
        if steps:
            self.seconds_per_step = (now - self._last) / steps
        self._last = now
        if now - self._begin > PROBE_SECONDS:
            raise Stopped


@dataclass
class Plan:
    """An experiment at one scale, and how far it is."""

    experiment: Experiment
    scale: Scale
    panels: Sequence[Panel] = ()
    curves: list[Curve] = field(default_factory=list)
    refused: list[Failure] = field(default_factory=list)
    """What could not even begin."""
    notes: list[str] = field(default_factory=list)

    @property
    def n_units(self) -> int:
        """All units, those of earlier times included."""
        return sum(curve.n_units for curve in self.curves)

    @property
    def left(self) -> int:
        """Units that are not finished."""
        return sum(curve.left for curve in self.curves)

    def outcome(self, store: Store, failed: dict[tuple[str, int], str]) -> Outcome:
        """What there is so far; curves of which no unit is finished are left out."""
        outcome = Outcome(self.experiment, self.scale, self.panels, {}, list(self.refused))
        seconds: dict[str, float] = {}
        for curve in self.curves:
            runs = store.runs(curve.definition)
            finished = {unit: runs[unit] for unit in range(curve.n_units) if unit in runs}
            outcome.failures += [
                Failure(curve.panel.name, curve.label, unit, failed[curve.definition, unit])
                for unit in range(curve.n_units)
                if (curve.definition, unit) in failed
            ]
            seconds[curve.definition] = float(np.nansum([run.seconds for run in finished.values()]))
            if finished:
                interrupted = len(finished) < curve.n_units
                result = Result(curve.blank.setting, curve.blank.steps, finished, interrupted)
                outcome.results[curve.panel.name, curve.label] = result
        outcome.seconds = sum(seconds.values())
        return outcome


def plan(
    experiment: Experiment, scale: Scale, data: Any, seed: int, players: Sequence[tuple[str, Any]], store: Store
) -> Plan:
    """The curves of an experiment; what cannot be set up is a failure, and the rest goes on."""
    made = Plan(experiment, scale)
    try:
        amount = experiment.amounts[scale]
        made.panels, absent = join(experiment.panels(data, amount), players, amount)
    except Exception as error:
        made.refused.append(Failure("", "", -1, explain(error)))
        return made
    if absent:
        made.notes.append(f"{', '.join(absent)} cannot play in {experiment.name}, which asks for other methods")
    for panel in made.panels:
        for player in panel.players:
            try:
                if any(curve.panel.name == panel.name and curve.label == player.label for curve in made.curves):
                    raise ValueError(f"{panel.name} has two players {player.label!r}")
                part = amount.of(panel.name, player.label)
                made.curves.append(_curve(panel, player.label, player.policy, part, seed, store))
            except Exception as error:
                made.refused.append(Failure(panel.name, player.label, -1, explain(error)))
    return made


def _curve(panel: Panel, label: str, policy: Any, amount: Amount, seed: int, store: Store) -> Curve:
    environment = met_by(panel.environment, amount)
    found = problems(policy, environment, panel.top, None)
    blank = _blank(found, environment, amount.horizon, seed, within(amount.horizon, panel.checkpoints))
    text = definition(found, blank)
    blank.setting["policy"] = label
    curve = Curve(panel, label, policy, environment, text, blank, len(found), amount.runs * len(found), kind(found[0]))
    runs = store.runs(text)
    curve.missing = [unit for unit in range(curve.n_units) if unit not in runs]
    known = [run.seconds for run in runs.values() if not math.isnan(run.seconds)]
    curve.seconds_per_step = float(np.mean(known)) / curve.horizon if known else 0.0
    return curve
