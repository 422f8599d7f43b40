"""Feature bandits: which list to show, from the features of its items and clicks on lists."""

from rankloop.policies.features.base import FeaturePolicy
from rankloop.policies.features.c2ucb import C2UCB
from rankloop.policies.features.cascade_hybrid import CascadeHybrid
from rankloop.policies.features.cascade_hybrid_ts import CascadeHybridTS
from rankloop.policies.features.cascade_lin_ts import CascadeLinTS
from rankloop.policies.features.cascade_lin_ucb import CascadeLinUCB
from rankloop.policies.features.cascade_lin_ucb_full import CascadeLinUCBFull
from rankloop.policies.features.cascade_lsb import CascadeLSB
from rankloop.policies.features.cascade_lsb_full import CascadeLSBFull
from rankloop.policies.features.explanation import Explanation, plot_coverage
from rankloop.policies.features.lsb_greedy import LSBGreedy
from rankloop.policies.features.recur_rank import RecurRank
from rankloop.policies.features.segments import Segments

__all__ = [
    "C2UCB",
    "CascadeHybrid",
    "CascadeHybridTS",
    "CascadeLSB",
    "CascadeLSBFull",
    "CascadeLinTS",
    "CascadeLinUCB",
    "CascadeLinUCBFull",
    "Explanation",
    "FeaturePolicy",
    "LSBGreedy",
    "RecurRank",
    "Segments",
    "plot_coverage",
]
