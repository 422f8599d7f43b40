"""What chapter 3 says of click bandits that re-rank."""

from __future__ import annotations

from rankloop.experiments.comparisons import differs, exceeds, less, matches, never
from rankloop.experiments.declare import Claim
from rankloop.experiments.judging import judged_by
from rankloop.experiments.readings import Read
from rankloop.experiments.statistics import Published
from rankloop.experiments.trends import grows, steps_by, straight

_LONG = 5_000_000
"""The thesis' horizon, by which at least two policies show the best list."""

_GROWN = 1_000_000
"""Steps by which growth can be told from a slow start."""

_QUERIES = 100
"""Number of queries in the thesis; its numbers are means over these, and ours over others."""

_UNSAFE = {
    "CascadeKL-UCB": {"CM": (24.12, 0.76), "DCM": (23.33, 0.90), "PBM": (23.63, 0.96)},
    "BatchRank": {"CM": (83.01, 0.56), "DCM": (71.89, 0.92), "PBM": (59.63, 0.98)},
    "TopRank": {"CM": (83.56, 0.70), "DCM": (71.47, 1.07), "PBM": (57.00, 1.24)},
}
"""Unsafe lists of the first 100, with the errors that the thesis gives."""

_FIRST_LISTS = (
    "It was judged by long runs of fewer queries; short runs of all queries, with the same policies, tell it better."
)

REGRET = (
    Claim(
        "production-linear",
        "rerank-regret",
        "3.5.2",
        "Production's list is not the best on average: showing it for ever costs regret in proportion to time.",
        judged_by(exceeds("Production", 0.0, record="regret"), grows(["Production"], faster_than=0.9)),
    ),
    Claim(
        "kl-ucb-learns-in-cascades",
        "rerank-regret",
        "3.5.2",
        "CascadeKL-UCB learns in the CM and the DCM: its regret grows more slowly than the square root of time.",
        judged_by(grows(["CascadeKL-UCB"], slower_than=0.5, panels=["CM", "DCM"]), not_before=_GROWN),
    ),
    Claim(
        "kl-ucb-linear-in-pbm",
        "rerank-regret",
        "3.5.2",
        "In the PBM the regret of CascadeKL-UCB grows in proportion to time (a growth exponent above 0.8).",
        judged_by(grows(["CascadeKL-UCB"], faster_than=0.8, panels=["PBM"]), not_before=_GROWN),
    ),
    Claim(
        "three-learn-everywhere",
        "rerank-regret",
        "3.5.2",
        "BubbleRank, BatchRank and TopRank learn in all three click models: their regret grows more slowly than time.",
        judged_by(grows(["BubbleRank", "BatchRank", "TopRank"], slower_than=0.9), not_before=_LONG),
    ),
    Claim(
        "safety-costs-regret",
        "rerank-regret",
        "3.5.2",
        "In the end BubbleRank has more regret than BatchRank and TopRank, and in the CM and DCM than CascadeKL-UCB.",
        judged_by(
            *(less(player, ["BubbleRank"]) for player in ("BatchRank", "TopRank")),
            less("CascadeKL-UCB", ["BubbleRank"], panels=["CM", "DCM"]),
            not_before=_LONG,
        ),
    ),
    Claim(
        "safety-pays-at-first",
        "rerank-first-lists",
        "3.5.2",
        "In the first 1,000 steps BubbleRank has less regret than BatchRank and TopRank.",
        judged_by(less("BubbleRank", ["BatchRank", "TopRank"], at=1000)),
        changed=_FIRST_LISTS,
    ),
)

SAFETY = (
    Claim(
        "bubble-rank-never-violates",
        "rerank-violations",
        "3.5.3",
        "BubbleRank shows not a single list that is less safe than allowed.",
        judged_by(never("BubbleRank", "violations"), not_before=_GROWN),
    ),
    Claim(
        "kl-ucb-violates-for-ever-in-pbm",
        "rerank-violations",
        "3.5.3",
        "In the PBM the unsafe lists of CascadeKL-UCB grow in number in proportion to time (a growth exponent above "
        "0.8).",
        judged_by(grows(["CascadeKL-UCB"], faster_than=0.8, panels=["PBM"], record="violations"), not_before=_GROWN),
    ),
    Claim(
        "kl-ucb-violates-early",
        "rerank-first-lists",
        "3.5.3",
        "Of the first 100 lists that CascadeKL-UCB shows, more than 20 are unsafe, in each click model.",
        judged_by(exceeds("CascadeKL-UCB", 20, record="violations", at=100)),
        changed=_FIRST_LISTS,
    ),
    Claim(
        "shuffling-violates-more",
        "rerank-first-lists",
        "3.5.3",
        "Of their first 100 lists, BatchRank and TopRank show more unsafe ones than CascadeKL-UCB.",
        judged_by(
            *(
                differs(player, "CascadeKL-UCB", record="violations", at=100, more_than=0.0)
                for player in ("BatchRank", "TopRank")
            )
        ),
        changed=_FIRST_LISTS,
    ),
    Claim(
        "batch-rank-and-top-rank-alike-at-first",
        "rerank-first-lists",
        "3.5.3",
        "Of their first 100 lists, BatchRank and TopRank show about as many unsafe ones (a difference below 5).",
        judged_by(differs("BatchRank", "TopRank", record="violations", at=100, more_than=-5.0, less_than=5.0)),
        changed="New.",
    ),
    *(
        Claim(
            f"unsafe-lists-of-{player.lower()}",
            "rerank-first-lists",
            "3.5.3",
            f"Of its first 100 lists {player} shows "
            f"{', '.join(f'{number:g} in the {model}' for model, (number, _) in numbers.items())} that are unsafe "
            "(to within 15).",
            judged_by(
                *(
                    matches(
                        f"{model}: unsafe lists of the first 100 of {player}",
                        [Read(model, player, record="violations")],
                        Published(*found),
                        margin=15.0,
                        at=100,
                        queries=_QUERIES,
                    )
                    for model, found in numbers.items()
                )
            ),
            changed="New.",
        )
        for player, numbers in _UNSAFE.items()
    ),
)

BOUND = (
    *(
        Claim(
            f"regret-linear-in-wrong-pairs-{click_model.lower()}",
            f"rerank-initial-{click_model.lower()}",
            "3.5.4",
            f"In the {click_model} the regret of BubbleRank grows along a straight line (a bend below a tenth of its "
            "rise) with the pairs that its initial list has in the wrong order.",
            judged_by(straight("BubbleRank", bend=0.1), not_before=_LONG),
        )
        for click_model in ("CM", "DCM", "PBM")
    ),
    Claim(
        "half-the-looks-twice-the-regret",
        "rerank-examination",
        "3.5.4",
        "The regret of BubbleRank doubles (a factor from 1.5 to 2.5) each time that chi_min is halved.",
        judged_by(steps_by("BubbleRank", at_least=1.5, at_most=2.5), not_before=_GROWN),
    ),
)

NDCG = (
    Claim(
        "bubble-rank-reaches-the-best",
        "rerank-ndcg",
        "3.5.5",
        "In the end the lists of BubbleRank are all but optimal: their NDCG is above 0.98, and within 0.02 of that of "
        "BatchRank and TopRank.",
        judged_by(
            exceeds("BubbleRank", 0.98, record="ndcg"),
            *(
                differs("BubbleRank", player, record="ndcg", more_than=-0.02, less_than=0.02)
                for player in ("BatchRank", "TopRank")
            ),
            not_before=_LONG,
        ),
    ),
    Claim(
        "bubble-rank-starts-at-production",
        "rerank-first-lists",
        "3.5.5",
        "After 10 steps the NDCG of BubbleRank is within 0.05 of production's, while that of BatchRank and TopRank is "
        "more than 0.05 below it.",
        judged_by(
            differs("BubbleRank", "Production", record="ndcg", at=10, more_than=-0.05, less_than=0.05),
            *(
                differs("Production", player, record="ndcg", at=10, more_than=0.05)
                for player in ("BatchRank", "TopRank")
            ),
        ),
        changed=_FIRST_LISTS,
    ),
)

CLAIMS = (*REGRET, *SAFETY, *BOUND, *NDCG)
