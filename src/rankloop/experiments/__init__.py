"""Every figure and table of the thesis declared as data, the runner for long work, and the claims."""

from rankloop.experiments.declare import Amount, Claim, Experiment, Finding, Outcome, Panel, Player, Source

__all__ = ["Amount", "Claim", "Experiment", "Finding", "Outcome", "Panel", "Player", "Source"]
