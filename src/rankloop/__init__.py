"""rankloop: optimise ranking systems online, as bandits.

    import rankloop as rl

Names load when first used, so that `import rankloop` is quick; the compiler comes with the first policy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rankloop.version import __version__ as __version__

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
    from rankloop.files import (
        load,
    )
    from rankloop.live import (
        AsyncLive,
        Live,
    )
    from rankloop.policies import (
        C2UCB,
        DTS,
        REX3,
        RMED1,
        RUCB,
        BatchRank,
        BubbleRank,
        CascadeDUCB,
        CascadeHybrid,
        CascadeHybridTS,
        CascadeKLUCB,
        CascadeLinTS,
        CascadeLinUCB,
        CascadeLinUCBFull,
        CascadeLSB,
        CascadeLSBFull,
        CascadeSWUCB,
        CascadeUCB1,
        ClickPolicy,
        Duel,
        DuelingPolicy,
        FeaturePolicy,
        FixedRanking,
        LSBGreedy,
        MergeDTS,
        MergeRUCB,
        RankedEXP3,
        Ranking,
        RecurRank,
        Segments,
        SelfSparring,
        Sparring,
        TopRank,
    )
    from rankloop.simulation import (
        Result,
        plot,
        simulate,
        train,
    )


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
    "rankloop.live": ["AsyncLive", "Live"],
    "rankloop.policies": [
        "BatchRank",
        "BubbleRank",
        "C2UCB",
        "CascadeDUCB",
        "CascadeHybrid",
        "CascadeHybridTS",
        "CascadeKLUCB",
        "CascadeLSB",
        "CascadeLSBFull",
        "CascadeLinTS",
        "CascadeLinUCB",
        "CascadeLinUCBFull",
        "CascadeSWUCB",
        "CascadeUCB1",
        "ClickPolicy",
        "DTS",
        "Duel",
        "DuelingPolicy",
        "FeaturePolicy",
        "FixedRanking",
        "LSBGreedy",
        "MergeDTS",
        "MergeRUCB",
        "REX3",
        "RMED1",
        "RUCB",
        "RankedEXP3",
        "Ranking",
        "RecurRank",
        "Segments",
        "SelfSparring",
        "Sparring",
        "TopRank",
    ],
    "rankloop.simulation": ["Result", "plot", "simulate", "train"],
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "C2UCB",
    "DTS",
    "REX3",
    "RMED1",
    "RUCB",
    "AsyncLive",
    "BatchRank",
    "BubbleRank",
    "CascadeDUCB",
    "CascadeHybrid",
    "CascadeHybridTS",
    "CascadeKLUCB",
    "CascadeLSB",
    "CascadeLSBFull",
    "CascadeLinTS",
    "CascadeLinUCB",
    "CascadeLinUCBFull",
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
    "FeaturePolicy",
    "FixedRanking",
    "HybridCascade",
    "HybridClippingWarning",
    "HybridProblem",
    "LSBGreedy",
    "Live",
    "MergeDTS",
    "MergeRUCB",
    "PositionBasedModel",
    "PreferenceMatrix",
    "RankedEXP3",
    "Ranking",
    "RecurRank",
    "Result",
    "Segments",
    "SelfSparring",
    "Sparring",
    "TopRank",
    "click_problems",
    "hybrid_problems",
    "load",
    "plot",
    "simulate",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'rankloop' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
