"""Policies: what to show next, and what to learn from the answer. One policy, one module."""

from rankloop.policies.base import Policy, load_policy
from rankloop.policies.dueling import (
    REX3,
    RMED1,
    Duel,
    DuelingPolicy,
    MergeDTS,
    MergeRUCB,
    SelfSparring,
    Sparring,
)

__all__ = [
    "REX3",
    "RMED1",
    "Duel",
    "DuelingPolicy",
    "MergeDTS",
    "MergeRUCB",
    "Policy",
    "SelfSparring",
    "Sparring",
    "load_policy",
]
