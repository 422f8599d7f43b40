"""Dueling bandits: which of many rankers is best, by comparing two at a time."""

from rankloop.policies.dueling.base import Duel, DuelingPolicy
from rankloop.policies.dueling.dts import DTS
from rankloop.policies.dueling.merge_dts import MergeDTS
from rankloop.policies.dueling.merge_rucb import MergeRUCB
from rankloop.policies.dueling.rex3 import REX3
from rankloop.policies.dueling.rmed1 import RMED1
from rankloop.policies.dueling.rucb import RUCB
from rankloop.policies.dueling.self_sparring import SelfSparring
from rankloop.policies.dueling.sparring import Sparring

__all__ = [
    "DTS",
    "REX3",
    "RMED1",
    "RUCB",
    "Duel",
    "DuelingPolicy",
    "MergeDTS",
    "MergeRUCB",
    "SelfSparring",
    "Sparring",
]
