"""Feature bandits: which list to show, from the features of its items and clicks on lists."""

from rankloop.policies.features.base import FeaturePolicy as FeaturePolicy
from rankloop.policies.features.c2ucb import C2UCB as C2UCB
from rankloop.policies.features.cascade_hybrid import CascadeHybrid as CascadeHybrid
from rankloop.policies.features.cascade_hybrid_ts import CascadeHybridTS as CascadeHybridTS
from rankloop.policies.features.cascade_lin_ts import CascadeLinTS as CascadeLinTS
from rankloop.policies.features.cascade_lin_ucb import CascadeLinUCB as CascadeLinUCB
from rankloop.policies.features.cascade_lin_ucb_full import CascadeLinUCBFull as CascadeLinUCBFull
from rankloop.policies.features.cascade_lsb import CascadeLSB as CascadeLSB
from rankloop.policies.features.cascade_lsb_full import CascadeLSBFull as CascadeLSBFull
from rankloop.policies.features.explanation import Explanation as Explanation
from rankloop.policies.features.explanation import plot_coverage as plot_coverage
from rankloop.policies.features.lsb_greedy import LSBGreedy as LSBGreedy
from rankloop.policies.features.recur_rank import RecurRank as RecurRank
from rankloop.policies.features.segments import Segments as Segments
