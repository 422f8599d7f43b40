"""Click bandits: which list to show, from clicks on lists."""

from rankloop.policies.clicks.base import ClickPolicy, Ranking
from rankloop.policies.clicks.batch_rank import BatchRank
from rankloop.policies.clicks.bubble_rank import BubbleRank
from rankloop.policies.clicks.cascade_ducb import CascadeDUCB
from rankloop.policies.clicks.cascade_kl_ucb import CascadeKLUCB
from rankloop.policies.clicks.cascade_swucb import CascadeSWUCB
from rankloop.policies.clicks.cascade_ucb1 import CascadeUCB1
from rankloop.policies.clicks.fixed_ranking import FixedRanking
from rankloop.policies.clicks.ranked_exp3 import RankedEXP3
from rankloop.policies.clicks.safety import SafetyReceipt
from rankloop.policies.clicks.top_rank import TopRank

__all__ = [
    "BatchRank",
    "BubbleRank",
    "CascadeDUCB",
    "CascadeKLUCB",
    "CascadeSWUCB",
    "CascadeUCB1",
    "ClickPolicy",
    "FixedRanking",
    "RankedEXP3",
    "Ranking",
    "SafetyReceipt",
    "TopRank",
]
