"""Policies: what to show next, and what to learn from the answer. One policy, one module."""

from rankloop.policies.base import Policy, load_policy
from rankloop.policies.dueling import DTS, RUCB, Duel, DuelingPolicy, MergeDTS, MergeRUCB

__all__ = ["DTS", "RUCB", "Duel", "DuelingPolicy", "MergeDTS", "MergeRUCB", "Policy", "load_policy"]
