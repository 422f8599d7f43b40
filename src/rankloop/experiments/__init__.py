"""Experiments declared as data, every figure and table of the thesis among them, and its claims."""

from rankloop.experiments.declare import Amount, Claim, Experiment, Finding, Outcome, Panel, Player, Source
from rankloop.experiments.players import load_player
from rankloop.experiments.runner import Interrupted, run_experiment, run_experiments

__all__ = [
    "Amount",
    "Claim",
    "Experiment",
    "Finding",
    "Interrupted",
    "Outcome",
    "Panel",
    "Player",
    "Source",
    "load_player",
    "run_experiment",
    "run_experiments",
]
