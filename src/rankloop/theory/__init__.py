"""What the thesis' theorems say: parameters, bounds on regret, and advice drawn from both.

Bounds take one number of steps or an array of them, and answer in kind, so that they can be drawn beside what was
measured.
"""

from rankloop.theory.advice import Advice, Plan
from rankloop.theory.advisor import advise_diversity, advise_drift, advise_rankers, advise_reranking
from rankloop.theory.diversity import hybrid_bound, hybrid_eta, hybrid_gamma
from rankloop.theory.drift import (
    best_discount,
    best_window,
    cascade_ducb_bound,
    cascade_swucb_bound,
    drift_gaps,
    drift_lower_bound,
)
from rankloop.theory.dueling import (
    dueling_lower_bound,
    merge_comparisons_bound,
    merge_constant,
    merge_dts_bound,
    merge_dts_expected_bound,
    merge_duels,
    smallest_gap,
)
from rankloop.theory.reranking import (
    bubble_rank_bound,
    examinations,
    initial_inversions,
    safety_probability,
    smallest_difference,
)

__all__ = [
    "Advice",
    "Plan",
    "advise_diversity",
    "advise_drift",
    "advise_rankers",
    "advise_reranking",
    "best_discount",
    "best_window",
    "bubble_rank_bound",
    "cascade_ducb_bound",
    "cascade_swucb_bound",
    "drift_gaps",
    "drift_lower_bound",
    "dueling_lower_bound",
    "examinations",
    "hybrid_bound",
    "hybrid_eta",
    "hybrid_gamma",
    "initial_inversions",
    "merge_comparisons_bound",
    "merge_constant",
    "merge_dts_bound",
    "merge_dts_expected_bound",
    "merge_duels",
    "safety_probability",
    "smallest_difference",
    "smallest_gap",
]
