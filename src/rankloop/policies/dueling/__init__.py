"""Dueling bandits: which of many rankers is best, by comparing two at a time."""

from rankloop.policies.dueling.base import Duel, DuelingPolicy
from rankloop.policies.dueling.dts import DTS
from rankloop.policies.dueling.merge_dts import MergeDTS
from rankloop.policies.dueling.merge_rucb import MergeRUCB
from rankloop.policies.dueling.rucb import RUCB

__all__ = ["DTS", "RUCB", "Duel", "DuelingPolicy", "MergeDTS", "MergeRUCB"]
