"""Comparing rankers by showing their lists as one, and giving credit for the clicks."""

from rankloop.interleaving.balanced import Balanced
from rankloop.interleaving.base import Interleaver, Interleaving, Outcome
from rankloop.interleaving.drafts import begin, draw, judge, place, prepare
from rankloop.interleaving.lists import Lists
from rankloop.interleaving.optimised import Optimised
from rankloop.interleaving.probabilistic import Probabilistic
from rankloop.interleaving.probabilistic_multileaving import ProbabilisticMultileaving
from rankloop.interleaving.team_draft import TeamDraft
from rankloop.interleaving.team_draft_multileaving import TeamDraftMultileaving

__all__ = [
    "Balanced",
    "Interleaver",
    "Interleaving",
    "Lists",
    "Optimised",
    "Outcome",
    "Probabilistic",
    "ProbabilisticMultileaving",
    "TeamDraft",
    "TeamDraftMultileaving",
    "begin",
    "draw",
    "judge",
    "place",
    "prepare",
]
