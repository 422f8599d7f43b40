"""What chapter 4 says of click bandits whose users change."""

from __future__ import annotations

from collections.abc import Sequence

from rankloop.experiments.chapter4 import SINGLE_QUERIES
from rankloop.experiments.comparisons import Comparison, Read, grows, judged_by, less, log_ratio, measured
from rankloop.experiments.declare import Claim, Outcome
from rankloop.experiments.statistics import Evidence, Floats

_ALL = "all queries"
_FORGETTING = ("CascadeDUCB", "CascadeSWUCB")
_REMEMBERING = ("RankedEXP3", "CascadeKL-UCB", "BatchRank")


def _second_halves(means: Floats) -> float:
    """How much of the regret, given at each half of the ten epochs, falls into their second halves."""
    return float((means[1::2] - means[::2]).sum() / means[-1]) if means[-1] > 0 else float("nan")


def _settles(player: str, *, less_than: float) -> Comparison:
    """How much of the regret falls into the second halves of the ten epochs, in each panel."""

    def compare(outcome: Outcome) -> list[Evidence]:
        found = []
        for panel in outcome.panels:
            reads = [Read(panel.name, player, at=half / 20) for half in range(1, 21)]
            text = f"{panel.name}: share of {player}'s regret in the second halves of epochs"
            found += measured(text, reads, _second_halves, less_than=less_than)(outcome)
        return found

    return compare


def _later_over_first(player: str, *, more_than: float) -> Comparison:
    return measured(
        f"regret of {player} in epoch 9 over that in epoch 1",
        [Read(_ALL, player, at=share) for share in (0.1, 0.8, 0.9)],
        lambda m: log_ratio(m[2] - m[1], m[0]),
        more_than=more_than,
        ratio=True,
    )


def _settles_more(players: Sequence[str], than: Sequence[str]) -> Comparison:
    """That less of some players' regret falls into the second halves of epochs than of others'."""

    def compare(outcome: Outcome) -> list[Evidence]:
        found = []
        for a in players:
            for b in than:
                reads = [Read(_ALL, player, at=half / 20) for player in (b, a) for half in range(1, 21)]
                found += measured(
                    f"share of regret in the second halves of epochs, {b} minus {a}",
                    reads,
                    lambda m: _second_halves(m[:20]) - _second_halves(m[20:]),
                    more_than=0.0,
                )(outcome)
        return found

    return compare


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
        judged_by(
            less("CascadeSWUCB", ["CascadeDUCB"]),
            measured(
                "regret of CascadeDUCB over that of CascadeSWUCB",
                [Read(_ALL, "CascadeDUCB"), Read(_ALL, "CascadeSWUCB")],
                lambda m: log_ratio(m[0], m[1]),
                less_than=1.5,
                ratio=True,
            ),
        ),
    ),
    Claim(
        "forgetting-settles",
        "drift-regret",
        "4.5",
        "CascadeDUCB and CascadeSWUCB see the changes and settle after each: less of their regret falls into the "
        "second halves of epochs than of that of RankedEXP3, CascadeKL-UCB and BatchRank.",
        judged_by(_settles_more(_FORGETTING, _REMEMBERING)),
    ),
    Claim(
        "old-tastes-cost-more-the-second-time",
        "drift-regret",
        "4.5",
        "RankedEXP3, CascadeKL-UCB and BatchRank have more regret in the ninth epoch than in the first, though users "
        "are the same.",
        judged_by(*(_later_over_first(player, more_than=1.0) for player in _REMEMBERING)),
    ),
    Claim(
        "memory-hurts-when-old-tastes-return",
        "drift-regret",
        "4.5",
        "CascadeKL-UCB has over twice as much regret in the ninth epoch as in the first, though users are the same.",
        judged_by(_later_over_first("CascadeKL-UCB", more_than=2.0)),
    ),
    Claim(
        "forgetting-settles-on-every-query",
        "drift-single-queries",
        "4.8",
        f"On each of {SINGLE_QUERIES} queries CascadeDUCB and CascadeSWUCB settle after each change: the second halves "
        "of epochs cost less regret than the first.",
        judged_by(*(_settles(player, less_than=0.5) for player in _FORGETTING)),
    ),
    Claim(
        "remembering-linear-on-every-query",
        "drift-single-queries",
        "4.8",
        f"On each of {SINGLE_QUERIES} queries the regret of RankedEXP3, CascadeKL-UCB and BubbleRank grows in "
        "proportion to time (a growth exponent above 0.8 from the second epoch to the last).",
        judged_by(grows(["RankedEXP3", "CascadeKL-UCB", "BubbleRank"], faster_than=0.8, since=0.2)),
    ),
)
