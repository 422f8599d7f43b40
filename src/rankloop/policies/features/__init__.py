"""Feature bandits: which list to show, from the features of its items and clicks on lists."""

from rankloop.policies.features.base import FeaturePolicy
from rankloop.policies.features.c2ucb import C2UCB
from rankloop.policies.features.cascade_hybrid import CascadeHybrid
from rankloop.policies.features.cascade_hybrid_ts import CascadeHybridTS
from rankloop.policies.features.cascade_lin_ts import CascadeLinTS
from rankloop.policies.features.cascade_lin_ucb import CascadeLinUCB
from rankloop.policies.features.cascade_lsb import CascadeLSB
from rankloop.policies.features.lsb_greedy import LSBGreedy
from rankloop.policies.features.recur_rank import RecurRank

__all__ = [
    "C2UCB",
    "CascadeHybrid",
    "CascadeHybridTS",
    "CascadeLSB",
    "CascadeLinTS",
    "CascadeLinUCB",
    "FeaturePolicy",
    "LSBGreedy",
    "RecurRank",
]
