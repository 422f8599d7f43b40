"""Policies: what to show next, and what to learn from the answer. One policy, one module."""

from rankloop.policies.base import Policy, load_policy
from rankloop.policies.clicks import (
    BubbleRank,
    CascadeDUCB,
    CascadeKLUCB,
    CascadeSWUCB,
    CascadeUCB1,
    ClickPolicy,
    FixedRanking,
    Ranking,
    SafetyReceipt,
)
from rankloop.policies.dueling import Duel, DuelingPolicy, MergeDTS, MergeRUCB

__all__ = [
    "BubbleRank",
    "CascadeDUCB",
    "CascadeKLUCB",
    "CascadeSWUCB",
    "CascadeUCB1",
    "ClickPolicy",
    "Duel",
    "DuelingPolicy",
    "FixedRanking",
    "MergeDTS",
    "MergeRUCB",
    "Policy",
    "Ranking",
    "SafetyReceipt",
    "load_policy",
]
