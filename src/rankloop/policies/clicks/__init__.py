"""Click bandits: which list to show, from clicks on lists."""

from rankloop.policies.clicks.base import ClickPolicy as ClickPolicy
from rankloop.policies.clicks.base import Ranking as Ranking
from rankloop.policies.clicks.batch_rank import BatchRank as BatchRank
from rankloop.policies.clicks.bubble_rank import BubbleRank as BubbleRank
from rankloop.policies.clicks.cascade_ducb import CascadeDUCB as CascadeDUCB
from rankloop.policies.clicks.cascade_kl_ucb import CascadeKLUCB as CascadeKLUCB
from rankloop.policies.clicks.cascade_swucb import CascadeSWUCB as CascadeSWUCB
from rankloop.policies.clicks.cascade_ucb1 import CascadeUCB1 as CascadeUCB1
from rankloop.policies.clicks.fixed_ranking import FixedRanking as FixedRanking
from rankloop.policies.clicks.ranked_exp3 import RankedEXP3 as RankedEXP3
from rankloop.policies.clicks.safety import SafetyReceipt as SafetyReceipt
from rankloop.policies.clicks.top_rank import TopRank as TopRank
