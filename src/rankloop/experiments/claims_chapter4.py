"""What chapter 4 says of click bandits whose users change."""

from __future__ import annotations

from collections.abc import Sequence

from rankloop.arrays import Floats
from rankloop.experiments.chapter4 import SINGLE_QUERIES
from rankloop.experiments.comparisons import Comparison, less, log_ratio, matches, measured
from rankloop.experiments.declare import Claim
from rankloop.experiments.judging import judged_by
from rankloop.experiments.readings import Read
from rankloop.experiments.statistics import Published
from rankloop.experiments.trends import grows

_ALL = "all queries"
_FORGETTING = ("CascadeDUCB", "CascadeSWUCB")
_REMEMBERING = ("RankedEXP3", "CascadeKL-UCB", "BatchRank")

_EPOCHS = 10
_FIFTH = 1 / (5 * _EPOCHS)
_QUERIES = 100
"""Number of queries in the thesis; its numbers are means over these, and ours over others."""


def _converges(player: str) -> Comparison:
    """That less is lost in the last fifths of epochs than in the first fifths."""
    ends = [share for epoch in range(_EPOCHS) for share in _fifths(epoch / _EPOCHS)]
    return measured(
        f"regret of {player} in the last fifths of epochs over that in the first",
        [Read(_ALL, player, at=share) for share in ends[1:]],  # nothing is lost at the beginning
        lambda m: _last_over_first([0.0, *m]),
        less_than=1.0,
        ratio=True,
    )


def _fifths(begin: float) -> tuple[float, float, float, float]:
    end = begin + 1 / _EPOCHS
    return begin, begin + _FIFTH, end - _FIFTH, end


def _last_over_first(at: Sequence[float]) -> float:
    parts = [(at[k + 1] - at[k], at[k + 3] - at[k + 2]) for k in range(0, len(at), 4)]
    return log_ratio(sum(last for _, last in parts), sum(first for first, _ in parts))


def _ninth(means: Floats) -> float:
    return float(means[1] - means[0])


CLAIMS = (
    Claim(
        "forgetting-beats-remembering",
        "drift-regret",
        "4.5",
        "Under change, CascadeDUCB and CascadeSWUCB have less regret than RankedEXP3, CascadeKL-UCB and BatchRank.",
        judged_by(*(less(player, _REMEMBERING) for player in _FORGETTING)),
    ),
    Claim(
        "remembering-linear",
        "drift-regret",
        "4.5",
        "Under change, the regret of RankedEXP3, CascadeKL-UCB and BatchRank grows in proportion to time (a growth "
        "exponent above 0.8 from the second epoch to the last).",
        judged_by(grows(_REMEMBERING, faster_than=0.8, since=0.2)),
    ),
    Claim(
        "window-beats-discount-by-a-little",
        "drift-regret",
        "4.5",
        "CascadeSWUCB has less regret than CascadeDUCB, which has less than 1.5 times as much.",
        judged_by(less("CascadeSWUCB", ["CascadeDUCB"], at_most=1.5)),
    ),
    Claim(
        "forgetting-converges",
        "drift-regret",
        "4.5",
        "CascadeDUCB and CascadeSWUCB see the changes and converge after each: they lose less in the last fifths of "
        "epochs than in the first.",
        judged_by(*(_converges(player) for player in _FORGETTING)),
        changed="It set the share of regret in the second halves of epochs beside that of the policies that remember, "
        "of which the thesis says nothing.",
    ),
    Claim(
        "memory-hurts-when-old-tastes-return",
        "drift-regret",
        "4.5",
        "CascadeKL-UCB has more regret in the ninth epoch than in the first, though users are the same.",
        judged_by(
            measured(
                "regret of CascadeKL-UCB in epoch 9 over that in epoch 1",
                [Read(_ALL, "CascadeKL-UCB", at=share) for share in (0.1, 0.8, 0.9)],
                lambda m: log_ratio(m[2] - m[1], m[0]),
                more_than=1.0,
                ratio=True,
            )
        ),
        changed="Another claim said this of RankedEXP3 and BatchRank too, of which the thesis gives no number; and "
        "this one asked for twice as much.",
    ),
    Claim(
        "regret-of-the-first-epoch",
        "drift-regret",
        "4.5",
        "CascadeKL-UCB has a regret of 111.50 in the first epoch (to within a quarter).",
        judged_by(
            matches(
                "regret of CascadeKL-UCB in epoch 1",
                [Read(_ALL, "CascadeKL-UCB", at=0.1)],
                Published(111.50, 1.12),
                margin=28.0,
                queries=_QUERIES,
            )
        ),
        changed="New.",
    ),
    Claim(
        "regret-of-the-ninth-epoch",
        "drift-regret",
        "4.5",
        "CascadeKL-UCB has a regret of 447.82 in the ninth epoch (to within a half; the thesis' error is a third).",
        judged_by(
            matches(
                "regret of CascadeKL-UCB in epoch 9",
                [Read(_ALL, "CascadeKL-UCB", at=share) for share in (0.8, 0.9)],
                Published(447.82, 137.16),
                margin=224.0,
                statistic=_ninth,
                queries=_QUERIES,
            )
        ),
        changed="New.",
    ),
    Claim(
        "forgetting-sub-linear-on-single-queries",
        "drift-single-queries",
        "4.8",
        f"On most of {SINGLE_QUERIES} queries the regret of CascadeDUCB and CascadeSWUCB grows more slowly than time "
        "(a growth exponent below 0.9 from the second epoch to the last).",
        judged_by(grows(_FORGETTING, slower_than=0.9, since=0.2), rule="most"),
        changed="It spoke of the second halves of epochs, on every query; the thesis says that the regret is "
        "sub-linear, and that the queries exemplify it.",
    ),
    Claim(
        "remembering-linear-on-single-queries",
        "drift-single-queries",
        "4.8",
        f"On most of {SINGLE_QUERIES} queries the regret of RankedEXP3, CascadeKL-UCB and BubbleRank grows in "
        "proportion to time (a growth exponent above 0.8 from the second epoch to the last).",
        judged_by(grows(["RankedEXP3", "CascadeKL-UCB", "BubbleRank"], faster_than=0.8, since=0.2), rule="most"),
        changed="It asked for every query; the thesis says that the queries exemplify it.",
    ),
)
