"""Click bandits: which list to show, from clicks on lists."""

from rankloop.policies.clicks.base import ClickPolicy, Ranking
from rankloop.policies.clicks.bubble_rank import BubbleRank
from rankloop.policies.clicks.fixed_ranking import FixedRanking
from rankloop.policies.clicks.safety import SafetyReceipt

__all__ = ["BubbleRank", "ClickPolicy", "FixedRanking", "Ranking", "SafetyReceipt"]
