"""From the declaration of an experiment to its jobs, and from their runs to its outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankloop.experiments.declare import Amount, Experiment, Failure, Outcome, Panel, Player, Scale, met_by
from rankloop.experiments.fingerprint import definition
from rankloop.experiments.parts import checkpoints_within
from rankloop.experiments.players import join
from rankloop.experiments.warm_up import kind
from rankloop.runs import Store
from rankloop.runs.job import explain_error
from rankloop.simulation.jobs import SimulationJob


class PlayerJob(SimulationJob):
    """All runs of one player in one panel."""

    def __init__(self, panel: Panel, player: Player, amount: Amount, seed: int) -> None:
        super().__init__(
            player.policy,
            met_by(panel.environment, amount),
            horizon=amount.horizon,
            runs=amount.runs,
            seed=seed,
            checkpoints=checkpoints_within(amount.horizon, panel.checkpoints),
            top=panel.top,
        )
        self.panel = panel
        self.label = player.label
        self.key = definition(self.simulations(), self.blank)
        self.blank.setting["policy"] = player.label
        self.kind = kind(self.simulations()[0])
        """The kind of compiled loop; empty where the policy runs at Python's speed."""
        self.let_go()


@dataclass
class Prepared:
    """An experiment at one scale with its jobs."""

    experiment: Experiment
    scale: Scale
    panels: Sequence[Panel] = ()
    jobs: list[PlayerJob] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    """What could not even begin."""
    notes: list[str] = field(default_factory=list)

    @property
    def left(self) -> int:
        """Runs that are not finished."""
        return sum(job.left for job in self.jobs)

    def outcome(self, store: Store, failed: dict[tuple[str, int], str]) -> Outcome:
        """What there is so far, without the players of which no run is finished."""
        outcome = Outcome(self.experiment, self.scale, self.panels, {}, list(self.failures))
        seconds: dict[str, float] = {}
        for job in self.jobs:
            result = job.result(store.runs(job.key))
            outcome.failures += [
                Failure(job.panel.name, job.label, unit, failed[job.key, unit])
                for unit in range(job.n_units)
                if (job.key, unit) in failed
            ]
            seconds[job.key] = float(np.nansum(result.seconds))
            if result.finished:
                outcome.results[job.panel.name, job.label] = result
        outcome.seconds = sum(seconds.values())
        return outcome


def prepare(experiment: Experiment, scale: Scale, data: Any, seed: int, players: Sequence[tuple[str, Any]]) -> Prepared:
    """Make the jobs of an experiment; what cannot be set up becomes a failure, and the rest goes on."""
    prepared = Prepared(experiment, scale)
    try:
        amount = experiment.amounts[scale]
        prepared.panels, absent = join(experiment.panels(data, amount), players, amount)
    except Exception as error:
        prepared.failures.append(Failure("", "", -1, explain_error(error)))
        return prepared
    if absent:
        prepared.notes.append(f"{', '.join(absent)} cannot play in {experiment.name}, which asks for other methods")
    for panel in prepared.panels:
        for player in panel.players:
            try:
                if any(job.panel.name == panel.name and job.label == player.label for job in prepared.jobs):
                    raise ValueError(f"{panel.name} has two players {player.label!r}")
                prepared.jobs.append(PlayerJob(panel, player, amount.of(panel.name, player.label), seed))
            except Exception as error:
                prepared.failures.append(Failure(panel.name, player.label, -1, explain_error(error)))
    return prepared
