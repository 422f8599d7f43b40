"""What claims are tested by: comparisons of an experiment's results, each giving evidence for or against.

A comparison takes an outcome and returns evidence; `judged_by` makes a claim's test of several.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from rankloop.experiments.declare import Finding, Outcome
from rankloop.experiments.readings import Undecidable, panel_named, sample, studied_values
from rankloop.experiments.statistics import Evidence, Floats, above, below, rarer, verdict

Comparison = Callable[[Outcome], list[Evidence]]


def judged_by(*comparisons: Comparison, not_before: int = 0) -> Callable[[Outcome], Finding]:
    """The test of a claim that makes these comparisons, all of them.

    Of the long run a short experiment says nothing, so with a horizon below `not_before` the claim is undecided.
    """

    def test(outcome: Outcome) -> Finding:
        try:
            if not outcome.panels:
                raise Undecidable("there are no results at all")
            found = [evidence for comparison in comparisons for evidence in comparison(outcome)]
        except Undecidable as reason:
            return Finding("undecided", math.nan, math.nan, str(reason))
        said, decisive = verdict(found)
        text = decisive.text
        if len(found) > 1:
            text += f" ({'worst' if said == 'fails' else 'weakest'} of {len(found)} comparisons)"
        real = {panel_named(outcome, name).source.real for evidence in found for name in evidence.panels}
        if False in real:
            text += "; partly on stand-ins" if True in real else "; on stand-ins"
        if outcome.amount.horizon < not_before:
            said, text = "undecided", f"{text}; too early to judge before step {not_before:,}"
        return Finding(said, decisive.effect, decisive.error, text)

    return test


def log_ratio(over: float, under: float) -> float:
    """The logarithm of a ratio; not a number where there is none."""
    return math.log(over / under) if over > 0 and under > 0 else math.nan


def _positive(samples: Iterable[Floats], what: str) -> None:
    """Ratios need means above 0, of all rows but any one too."""
    for values in samples:
        if not (values >= 0).all() or np.count_nonzero(values) < 2:
            raise Undecidable(f"{what} is 0, so there is no ratio")


class Read(NamedTuple):
    """Where a sample is read."""

    panel: str
    player: str
    at: float = 1.0
    record: str = "regret"


def measured(
    text: str,
    reads: Sequence[Read],
    statistic: Callable[[Floats], float],
    *,
    more_than: float | None = None,
    less_than: float | None = None,
    ratio: bool = False,
) -> Comparison:
    """That some statistic of the means of samples lies above one bound and below another."""

    def compare(outcome: Outcome) -> list[Evidence]:
        samples = [sample(outcome, read.panel, read.player, read.record, read.at) for read in reads]
        names = [read.panel for read in reads]
        sides = ((above, more_than), (below, less_than))
        return [
            side(text, statistic, samples, bound, panels=names, ratio=ratio)
            for side, bound in sides
            if bound is not None
        ]

    return compare


def less(
    a: str,
    than: Sequence[str],
    *,
    panels: Sequence[str] | None = None,
    record: str = "regret",
    at: float = 1.0,
    times: float = 1.0,
) -> Comparison:
    """That one player has less than others, `times` less: their ratio is above `times`."""

    def compare(outcome: Outcome) -> list[Evidence]:
        found = []
        for panel in panels or [panel.name for panel in outcome.panels]:
            for b in than:
                samples = [sample(outcome, panel, player, record, at) for player in (a, b)]
                _positive(samples, f"{record} of {a} or {b} in {panel}")
                text = f"{panel}: {record} of {b} over that of {a}"
                found.append(above(text, lambda m: log_ratio(m[1], m[0]), samples, times, panels=[panel], ratio=True))
        return found

    return compare


def differs(
    a: str,
    b: str,
    *,
    panels: Sequence[str] | None = None,
    record: str,
    at: float = 1.0,
    more_than: float | None = None,
    less_than: float | None = None,
) -> Comparison:
    """That a's mean minus b's lies above one bound and below another."""

    def compare(outcome: Outcome) -> list[Evidence]:
        found = []
        for panel in panels or [panel.name for panel in outcome.panels]:
            samples = [sample(outcome, panel, player, record, at) for player in (a, b)]
            text = f"{panel}: {record} of {a} minus that of {b}"
            if more_than is not None:
                found.append(above(text, lambda m: m[0] - m[1], samples, more_than, panels=[panel]))
            if less_than is not None:
                found.append(below(text, lambda m: m[0] - m[1], samples, less_than, panels=[panel]))
        return found

    return compare


def exceeds(
    player: str, bound: float, *, record: str, panels: Sequence[str] | None = None, at: float = 1.0
) -> Comparison:
    """That a player's mean is above a bound."""

    def compare(outcome: Outcome) -> list[Evidence]:
        names = panels or [panel.name for panel in outcome.panels]
        step = "" if at == 1.0 else f" after {at:,} steps"
        return [
            above(f"{name}: {record} of {player}{step}", lambda m: m[0], [sample(outcome, name, player, record, at)],
                  bound, panels=[name])
            for name in names
        ]  # fmt: skip

    return compare


def grows(
    players: Sequence[str],
    *,
    faster_than: float | None = None,
    slower_than: float | None = None,
    panels: Sequence[str] | None = None,
    record: str = "regret",
    since: float = 0.1,
) -> Comparison:
    """How fast something grows: the slope of its logarithm in that of time, 1 if linear, 1/2 if a square root."""

    def compare(outcome: Outcome) -> list[Evidence]:
        found = []
        scale = 1 / math.log(1 / since)
        for panel in panels or [panel.name for panel in outcome.panels]:
            for player in players:
                samples = [sample(outcome, panel, player, record, at) for at in (since, 1.0)]
                _positive(samples, f"{record} of {player} in {panel}")
                text = f"{panel}: growth exponent of {player}'s {record}"
                if faster_than is not None:
                    found.append(above(text, lambda m: scale * log_ratio(m[1], m[0]), samples, faster_than,
                                       panels=[panel]))  # fmt: skip
                if slower_than is not None:
                    found.append(below(text, lambda m: scale * log_ratio(m[1], m[0]), samples, slower_than,
                                       panels=[panel]))  # fmt: skip
        return found

    return compare


def outgrows(a: str, others: Sequence[str], *, panels: Sequence[str] | None = None, since: float = 0.1) -> Comparison:
    """That the regret of one player grows at a higher order than that of others."""

    def compare(outcome: Outcome) -> list[Evidence]:
        found = []
        scale = 1 / math.log(1 / since)
        for panel in panels or [panel.name for panel in outcome.panels]:
            for b in others:
                samples = [sample(outcome, panel, player, at=at) for player in (a, b) for at in (since, 1.0)]
                _positive(samples, f"regret of {a} or {b} in {panel}")
                text = f"{panel}: growth exponent of {a} minus that of {b}"
                found.append(
                    above(text, lambda m: scale * (log_ratio(m[1], m[0]) - log_ratio(m[3], m[2])), samples, 0.0,
                          panels=[panel])
                )  # fmt: skip
        return found

    return compare


def late_share(
    player: str,
    *,
    panels: Sequence[str],
    since: float = 0.5,
    more_than: float | None = None,
    less_than: float | None = None,
) -> Comparison:
    """How much of all regret falls into the time after a share of the horizon."""

    def compare(outcome: Outcome) -> list[Evidence]:
        found = []
        for panel in panels:
            samples = [sample(outcome, panel, player, at=at) for at in (since, 1.0)]
            _positive(samples[1:], f"regret of {player} in {panel}")
            text = f"{panel}: share of {player}'s regret after {since:.0%} of the steps"
            if more_than is not None:
                found.append(above(text, lambda m: 1 - m[0] / m[1], samples, more_than, panels=[panel]))
            if less_than is not None:
                found.append(below(text, lambda m: 1 - m[0] / m[1], samples, less_than, panels=[panel]))
        return found

    return compare


def scales(
    player: str,
    small: str,
    large: str,
    *,
    record: str = "seconds",
    more_than: float | None = None,
    less_than: float | None = None,
) -> Comparison:
    """Which power of the number of rankers something follows, from one panel to a larger one."""

    def compare(outcome: Outcome) -> list[Evidence]:
        sizes = [panel_named(outcome, name).environment.n_arms for name in (small, large)]
        reads = [Read(name, player, record=record) for name in (small, large)]
        return measured(
            f"power of the number of rankers that {record} of {player} follow, {sizes[0]} to {sizes[1]}",
            reads,
            lambda m: log_ratio(m[1], m[0]) / math.log(sizes[1] / sizes[0]),
            more_than=more_than,
            less_than=less_than,
        )(outcome)

    return compare


def never(player: str, record: str, *, panels: Sequence[str] | None = None) -> Comparison:
    """That something has not happened in a single run: one is enough to refute it."""

    def compare(outcome: Outcome) -> list[Evidence]:
        found = []
        for panel in panels or [panel.name for panel in outcome.panels]:
            counted = sample(outcome, panel, player, record)
            clean = not counted.any()
            text = f"{panel}: {record} of {player}: {counted.mean():,.3g} a run, claimed none"
            error = float(counted.std(ddof=1)) / math.sqrt(len(counted))
            chances = (0.0, 1.0) if clean else (1.0, 0.0)
            found.append(Evidence(text, float(counted.mean()), error, *chances, (panel,)))
        return found

    return compare


def seldom(player: str, bound: float, *, panel: str, record: str = "failures") -> Comparison:
    """That something happens in a smaller share of runs than the bound."""

    def compare(outcome: Outcome) -> list[Evidence]:
        happened = sample(outcome, panel, player, record)
        return [rarer(f"{panel}: {record} of {player}", happened, bound, panels=[panel])]

    return compare


def trend(player: str, *, rises: bool, record: str = "regret") -> Comparison:
    """How something changes with the logarithm of the studied parameter: counts as they are, others by their own log.

    The effect is the slope: for regret the power of the parameter that it follows.
    """

    def compare(outcome: Outcome) -> list[Evidence]:
        x = np.log(studied_values(outcome))
        weights = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
        names = [panel.name for panel in outcome.panels]
        samples = [sample(outcome, name, player, record) for name in names]
        counts = record == "failures"
        if not counts:
            _positive(samples, f"{record} of {player}")

        def slope(means: Floats) -> float:
            return float(weights @ (means if counts else np.log(means)))

        what = "share of" if counts else "log of"
        text = f"slope of the {what} {record} of {player} in the log of {outcome.experiment.parameter}"
        return [(above if rises else below)(text, slope, samples, 0.0, panels=names)]

    return compare


def straight(player: str, *, bend: float) -> Comparison:
    """That regret rises with the studied parameter, in a straight line.

    The bend is how far a parabola through the means is from its chord in the middle, as a share of its rise.
    """

    def compare(outcome: Outcome) -> list[Evidence]:
        x = studied_values(outcome)
        width = float(x.max() - x.min())
        fit = np.linalg.pinv(np.vander((x - x.min()) / width, 3))  # coefficients of z², z and 1, z from 0 to 1
        names = [panel.name for panel in outcome.panels]
        samples = [sample(outcome, name, player) for name in names]

        def rise(means: Floats) -> float:
            square, line, _ = fit @ means
            return float((square + line) / means.mean())

        def curved(means: Floats) -> float:
            square, line, _ = fit @ means
            return float(-0.25 * square / (square + line)) if square + line else math.nan

        name = outcome.experiment.parameter
        return [
            above(f"rise of regret over all {name}, in means", rise, samples, 0.0, panels=names),
            above(f"bend of regret in {name}", curved, samples, -bend, panels=names),
            below(f"bend of regret in {name}", curved, samples, bend, panels=names),
        ]

    return compare


def steps_by(player: str, *, at_least: float, at_most: float) -> Comparison:
    """That regret grows by about the same factor from each panel to the next."""

    def compare(outcome: Outcome) -> list[Evidence]:
        found = []
        studied_values(outcome)
        for first, second in pairwise(panel.name for panel in outcome.panels):
            samples = [sample(outcome, name, player) for name in (first, second)]
            _positive(samples, f"regret of {player}")
            text = f"regret of {player} at {second} over that at {first}"
            for test, bound in ((above, at_least), (below, at_most)):
                found.append(
                    test(text, lambda m: log_ratio(m[1], m[0]), samples, bound, panels=[first, second], ratio=True)
                )
        return found

    return compare
