"""rankloop: optimise ranking systems online, as bandits.

    import rankloop as rl

Names load when first used, so that `import rankloop` is quick; the compiler comes with the first policy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankloop.environments import (
        CascadeModel,
        ClickEnvironment,
        ClickProblem,
        DependentClickModel,
        DriftingCascade,
        DriftingDependentClickModel,
        DriftingPositionBasedModel,
        HybridCascade,
        HybridClippingWarning,
        HybridProblem,
        PositionBasedModel,
        PreferenceMatrix,
        click_problems,
        hybrid_problems,
    )
    from rankloop.files import load
    from rankloop.policies import (
        DTS,
        REX3,
        RMED1,
        RUCB,
        BatchRank,
        BubbleRank,
        CascadeDUCB,
        CascadeKLUCB,
        CascadeSWUCB,
        CascadeUCB1,
        ClickPolicy,
        Duel,
        DuelingPolicy,
        FixedRanking,
        MergeDTS,
        MergeRUCB,
        RankedEXP3,
        Ranking,
        SelfSparring,
        Sparring,
        TopRank,
    )
    from rankloop.simulation import Result, plot, simulate

__version__ = "0.1.0"

_HOME = {
    "rankloop.environments": [
        "CascadeModel",
        "ClickEnvironment",
        "ClickProblem",
        "DependentClickModel",
        "DriftingCascade",
        "DriftingDependentClickModel",
        "DriftingPositionBasedModel",
        "HybridCascade",
        "HybridClippingWarning",
        "HybridProblem",
        "PositionBasedModel",
        "PreferenceMatrix",
        "click_problems",
        "hybrid_problems",
    ],
    "rankloop.files": ["load"],
    "rankloop.policies": [
        "BatchRank",
        "BubbleRank",
        "CascadeDUCB",
        "CascadeKLUCB",
        "CascadeSWUCB",
        "CascadeUCB1",
        "ClickPolicy",
        "DTS",
        "Duel",
        "DuelingPolicy",
        "FixedRanking",
        "MergeDTS",
        "MergeRUCB",
        "REX3",
        "RMED1",
        "RUCB",
        "RankedEXP3",
        "Ranking",
        "SelfSparring",
        "Sparring",
        "TopRank",
    ],
    "rankloop.simulation": ["Result", "plot", "simulate"],
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "DTS",
    "REX3",
    "RMED1",
    "RUCB",
    "BatchRank",
    "BubbleRank",
    "CascadeDUCB",
    "CascadeKLUCB",
    "CascadeModel",
    "CascadeSWUCB",
    "CascadeUCB1",
    "ClickEnvironment",
    "ClickPolicy",
    "ClickProblem",
    "DependentClickModel",
    "DriftingCascade",
    "DriftingDependentClickModel",
    "DriftingPositionBasedModel",
    "Duel",
    "DuelingPolicy",
    "FixedRanking",
    "HybridCascade",
    "HybridClippingWarning",
    "HybridProblem",
    "MergeDTS",
    "MergeRUCB",
    "PositionBasedModel",
    "PreferenceMatrix",
    "RankedEXP3",
    "Ranking",
    "Result",
    "SelfSparring",
    "Sparring",
    "TopRank",
    "click_problems",
    "hybrid_problems",
    "load",
    "plot",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'rankloop' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
