"""Dueling bandits: which of many rankers is best, by comparing two at a time."""

from rankloop.policies.dueling.base import Duel, DuelingPolicy
from rankloop.policies.dueling.merge_dts import MergeDTS
from rankloop.policies.dueling.merge_rucb import MergeRUCB

__all__ = ["Duel", "DuelingPolicy", "MergeDTS", "MergeRUCB"]
