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
    "BatchRank",
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
    "RankedEXP3",
    "Ranking",
    "SafetyReceipt",
    "SelfSparring",
    "Sparring",
    "TopRank",
    "load_policy",
]
