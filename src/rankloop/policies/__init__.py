"""Policies: what to show next, and what to learn from the answer. One policy, one module."""

from rankloop.policies.base import Policy, load_policy
from rankloop.policies.clicks import BubbleRank, ClickPolicy, FixedRanking, Ranking, SafetyReceipt
from rankloop.policies.dueling import (
    DTS,
    REX3,
    RMED1,
    RUCB,
    Duel,
    DuelingPolicy,
    MergeDTS,
    MergeRUCB,
    SelfSparring,
    Sparring,
)

__all__ = [
    "DTS",
    "REX3",
    "RMED1",
    "RUCB",
    "BubbleRank",
    "ClickPolicy",
    "Duel",
    "DuelingPolicy",
    "FixedRanking",
    "MergeDTS",
    "MergeRUCB",
    "Policy",
    "Ranking",
    "SafetyReceipt",
    "SelfSparring",
    "Sparring",
    "load_policy",
]
