"""Policies: what to show next, and what to learn from the answer. One policy, one module."""

from rankloop.policies.base import Policy, load_policy
from rankloop.policies.clicks import (
    BatchRank,
    BubbleRank,
    ClickPolicy,
    FixedRanking,
    RankedEXP3,
    Ranking,
    SafetyReceipt,
    TopRank,
)
from rankloop.policies.dueling import Duel, DuelingPolicy, MergeDTS, MergeRUCB

__all__ = [
    "BatchRank",
    "BubbleRank",
    "ClickPolicy",
    "Duel",
    "DuelingPolicy",
    "FixedRanking",
    "MergeDTS",
    "MergeRUCB",
    "Policy",
    "RankedEXP3",
    "Ranking",
    "SafetyReceipt",
    "TopRank",
    "load_policy",
]
