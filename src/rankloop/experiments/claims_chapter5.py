"""What chapter 5 says of bandits that rank by relevance and diversity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from rankloop.arrays import Floats
from rankloop.experiments.comparisons import Comparison, compared, less, log_ratio, measured
from rankloop.experiments.declare import Claim, Outcome
from rankloop.experiments.judging import judged_by
from rankloop.experiments.readings import Read, studied_values
from rankloop.experiments.statistics import Evidence

_HYBRID = "CascadeHybrid"
_FULL = ("CascadeLinUCBFull", "CascadeLSBFull")
_BASELINES = ("CascadeLinUCB", "CascadeLinUCBFull", "CascadeLSB", "CascadeLSBFull")

_BETWEEN = tuple(f"lambda = 0.{tenth}" for tenth in range(1, 9))
_SPECIALISTS = (
    ("CascadeLSB", "CascadeLinUCB", ["lambda = 0"]),
    ("CascadeLinUCB", "CascadeLSB", ["lambda = 0.9", "lambda = 1"]),
)
"""A policy that knows only one side of items, one that knows only the other, and where the first is at its best."""

_GROWN = 20_000
"""Steps by which those who lack a feature have lost more than it costs the others to learn it."""


def _along(text: str, players: Sequence[str], between: Callable[[float, float], float], *, rises: bool) -> Comparison:
    """That what is between two players' regret rises, or falls, along a line fitted to the studied parameter."""

    def slope(outcome: Outcome, not_before: int) -> Evidence:
        x = studied_values(outcome)
        weights = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
        reads = [Read(panel.name, player) for player in players for panel in outcome.panels]

        def of(means: Floats) -> float:
            a, b = means[: len(x)], means[len(x) :]
            return float(weights @ [between(*pair) for pair in zip(a, b, strict=True)])

        what = f"slope in {outcome.experiment.parameter} of {text}"
        more_than, less_than = (0.0, None) if rises else (None, 0.0)
        [one] = measured(what, reads, of, more_than=more_than, less_than=less_than)(outcome, not_before)
        return one

    def compare(outcome: Outcome, not_before: int) -> list[Evidence]:
        return [compared(text, [panel.name for panel in outcome.panels], partial(slope, outcome, not_before))]

    return compare


def _behind_by_little() -> list[Comparison]:
    """Where a specialist is at its best, CascadeHybrid has not much more regret."""
    return [
        measured(
            f"{panel}: regret of {_HYBRID} over that of {specialist}",
            [Read(panel, _HYBRID), Read(panel, specialist)],
            lambda m: log_ratio(m[0], m[1]),
            less_than=1.5,
            ratio=True,
        )
        for specialist, _, panels in _SPECIALISTS
        for panel in panels
    ]


def _at_either_end(outcome: Outcome, not_before: int) -> list[Evidence]:
    """With few topics the Full twins are alike, with many CascadeLinUCBFull has less regret."""
    few, many = outcome.panels[0].name, outcome.panels[-1].name
    alike = measured(
        f"{few}: regret of CascadeLSBFull over that of CascadeLinUCBFull",
        [Read(few, "CascadeLSBFull"), Read(few, "CascadeLinUCBFull")],
        lambda m: log_ratio(m[0], m[1]),
        more_than=0.8,
        less_than=1.25,
        ratio=True,
    )
    ahead = less("CascadeLinUCBFull", ["CascadeLSBFull"], panels=[many])
    return [*ahead(outcome, not_before), *alike(outcome, not_before)]


def _of_both(dataset: str, title: str, *, times: float) -> tuple[Claim, ...]:
    """What is said of both datasets; all baselines have so many times the regret, whatever d and K are."""
    more = (
        f"far more regret than {_HYBRID}, at least {times:g} times as much"
        if times > 1
        else f"more regret than {_HYBRID}"
    )
    return (
        Claim(
            f"hybrid-best-between-the-extremes-{dataset}",
            f"diversity-lambda-{dataset}",
            "5.4.2",
            f"On {title}, for every lambda from 0.1 to 0.8, CascadeHybrid has less regret than all four baselines.",
            judged_by(less(_HYBRID, _BASELINES, panels=_BETWEEN), not_before=_GROWN),
        ),
        Claim(
            f"hybrid-beats-those-who-know-as-much-{dataset}",
            f"diversity-lambda-{dataset}",
            "5.4.2",
            f"On {title}, for every lambda, CascadeHybrid has less regret than CascadeLinUCBFull and CascadeLSBFull.",
            judged_by(less(_HYBRID, _FULL), not_before=_GROWN),
        ),
        Claim(
            f"hybrid-best-for-any-topics-{dataset}",
            f"diversity-topics-{dataset}",
            "5.4.2",
            f"On {title}, however many topics there are, all baselines have {more}.",
            judged_by(less(_HYBRID, _BASELINES, times=times), not_before=_GROWN),
        ),
        Claim(
            f"hybrid-best-for-any-positions-{dataset}",
            f"diversity-positions-{dataset}",
            "5.4.2",
            f"On {title}, however long lists are, all baselines have {more}.",
            judged_by(less(_HYBRID, _BASELINES, times=times), not_before=_GROWN),
        ),
    )


MOVIELENS = (
    *_of_both("movielens", "MovieLens", times=1.25),
    Claim(
        "specialists-lead-by-little-movielens",
        "diversity-lambda-movielens",
        "5.4.2",
        "On MovieLens, CascadeHybrid has less than 1.5 times the regret of CascadeLSB at lambda = 0 and of "
        "CascadeLinUCB at 0.9 and 1.",
        judged_by(*_behind_by_little(), not_before=_GROWN),
    ),
    Claim(
        "more-topics-smaller-gap",
        "diversity-topics-movielens",
        "5.4.2",
        "On MovieLens, the more topics there are, the smaller is the gap in regret from CascadeHybrid to "
        "CascadeLinUCBFull.",
        judged_by(
            _along(
                "the gap in regret from CascadeHybrid to CascadeLinUCBFull",
                [_HYBRID, "CascadeLinUCBFull"],
                lambda hybrid, full: full - hybrid,
                rises=False,
            ),
            not_before=_GROWN,
        ),
    ),
    Claim(
        "full-twins-part-with-topics",
        "diversity-topics-movielens",
        "5.4.2",
        "On MovieLens, CascadeLinUCBFull has less regret than CascadeLSBFull where there are most topics, and about as "
        "much (a ratio from 0.8 to 1.25) where there are fewest.",
        judged_by(_at_either_end, not_before=_GROWN // 2),
        changed="It waited for 20,000 steps; both know all features, so 10,000 tell as well.",
    ),
)

YAHOO = (
    *_of_both("yahoo", "Yahoo! Music", times=1.0),
    Claim(
        "specialists-lead-by-little-yahoo",
        "diversity-lambda-yahoo",
        "5.4.2",
        "On Yahoo! Music, CascadeHybrid has more regret than CascadeLSB at lambda = 0 and than CascadeLinUCB at 0.9 "
        "and 1, but less than 1.5 times as much.",
        judged_by(
            *(less(specialist, [_HYBRID], panels=panels) for specialist, _, panels in _SPECIALISTS),
            *_behind_by_little(),
            not_before=_GROWN,
        ),
    ),
    Claim(
        "specialists-do-not-generalise",
        "diversity-lambda-yahoo",
        "5.4.2",
        "On Yahoo! Music, the regret of CascadeLSB over that of CascadeHybrid rises with lambda, that of CascadeLinUCB "
        "falls with it, and each has over twice as much as CascadeHybrid where the other is at its best.",
        judged_by(
            *(
                _along(
                    f"the logarithm of the regret of {player} over that of {_HYBRID}",
                    [player, _HYBRID],
                    log_ratio,
                    rises=rises,
                )
                for player, rises in (("CascadeLSB", True), ("CascadeLinUCB", False))
            ),
            *(less(_HYBRID, [other], panels=panels, times=2.0) for _, other, panels in _SPECIALISTS),
            not_before=_GROWN,
        ),
    ),
)

CLAIMS = (*MOVIELENS, *YAHOO)
