"""Dueling bandits: which of many rankers is best, by comparing two at a time."""

from rankloop.policies.dueling.base import Duel as Duel
from rankloop.policies.dueling.base import DuelingPolicy as DuelingPolicy
from rankloop.policies.dueling.dts import DTS as DTS
from rankloop.policies.dueling.merge_dts import MergeDTS as MergeDTS
from rankloop.policies.dueling.merge_rucb import MergeRUCB as MergeRUCB
from rankloop.policies.dueling.rex3 import REX3 as REX3
from rankloop.policies.dueling.rmed1 import RMED1 as RMED1
from rankloop.policies.dueling.rucb import RUCB as RUCB
from rankloop.policies.dueling.self_sparring import SelfSparring as SelfSparring
from rankloop.policies.dueling.sparring import Sparring as Sparring
