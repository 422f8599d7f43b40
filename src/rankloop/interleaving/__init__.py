"""Comparing rankers by showing their lists as one, and giving credit for the clicks."""

from rankloop.interleaving.balanced import Balanced
from rankloop.interleaving.base import Interleaver, Interleaving, Preference
from rankloop.interleaving.drafts import begin, draw, place, prepare, score_clicks
from rankloop.interleaving.lists import Lists
from rankloop.interleaving.optimised import Optimised
from rankloop.interleaving.probabilistic import Probabilistic
from rankloop.interleaving.probabilistic_multileaving import ProbabilisticMultileaving
from rankloop.interleaving.team_draft import TeamDraft
from rankloop.interleaving.team_draft_multileaving import TeamDraftMultileaving
from rankloop.wording import former_names

__all__ = [
    "Balanced",
    "Interleaver",
    "Interleaving",
    "Lists",
    "Optimised",
    "Preference",
    "Probabilistic",
    "ProbabilisticMultileaving",
    "TeamDraft",
    "TeamDraftMultileaving",
    "begin",
    "draw",
    "place",
    "prepare",
    "score_clicks",
]

__getattr__ = former_names(__name__, {"Outcome": "Preference", "judge": "score_clicks"})
