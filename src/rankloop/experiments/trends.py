"""Comparisons of how results change: with time, with the number of rankers, with the parameter of a study."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from rankloop.arrays import Floats
from rankloop.experiments.comparisons import Comparison, compared, in_each_panel, log_ratio, measured, panels_or_all
from rankloop.experiments.declare import Outcome
from rankloop.experiments.readings import Read, Undecidable, common_steps, panel_named, studied_values
from rankloop.experiments.statistics import Evidence


def _in_each(
    panels: Sequence[str] | None,
    players: Sequence[str],
    text: str,
    make: Callable[[Outcome, int, str, str], Evidence],
) -> Comparison:
    """A comparison that is made for each panel and player; `text` says what it is about, with `{player}` in it."""

    def compare(outcome: Outcome, not_before: int) -> list[Evidence]:
        return [
            compared(
                f"{panel}: {text.format(player=player)}", [panel], partial(make, outcome, not_before, panel, player)
            )
            for panel in panels_or_all(panels, outcome)
            for player in players
        ]

    return compare


def _grown(outcome: Outcome, players: Sequence[tuple[str, str]], since: float) -> tuple[int, int]:
    """Two steps that all players have: the last, and the last before a share of it."""
    steps = common_steps(outcome, players)
    before = [step for step in steps if step <= since * steps[-1]]
    if not before:
        raise Undecidable(f"nothing was recorded within the first {since:.0%} of {steps[-1]:,} steps")
    return before[-1], steps[-1]


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

    def exponent(outcome: Outcome, not_before: int, panel: str, player: str) -> Evidence:
        first, last = _grown(outcome, [(panel, player)], since)
        scale = 1 / math.log(last / first)
        [one] = measured(
            f"{panel}: growth exponent of {player}'s {record} from step {first:,}",
            [Read(panel, player, at=first, record=record), Read(panel, player, at=last, record=record)],
            lambda m: scale * log_ratio(m[1], m[0]),
            more_than=faster_than,
            less_than=slower_than,
        )(outcome, not_before)
        return one

    return _in_each(panels, players, f"growth of {{player}}'s {record}", exponent)


def outgrows(a: str, others: Sequence[str], *, panels: Sequence[str] | None = None, since: float = 0.1) -> Comparison:
    """That the regret of one player grows at a higher order than that of others."""

    def exponents(outcome: Outcome, not_before: int, panel: str, b: str) -> Evidence:
        first, last = _grown(outcome, [(panel, a), (panel, b)], since)
        scale = 1 / math.log(last / first)
        [one] = measured(
            f"{panel}: growth exponent of {a} minus that of {b}, from step {first:,}",
            [Read(panel, player, at=step) for player in (a, b) for step in (first, last)],
            lambda m: scale * (log_ratio(m[1], m[0]) - log_ratio(m[3], m[2])),
            more_than=0.0,
        )(outcome, not_before)
        return one

    return _in_each(panels, others, f"growth of {a} against that of {{player}}", exponents)


def late_share(
    player: str,
    *,
    panels: Sequence[str],
    since: float = 0.5,
    at: int | None = None,
    more_than: float | None = None,
    less_than: float | None = None,
) -> Comparison:
    """How much of all regret falls into the time after a step, or a share of the time."""
    when = f"{since:.0%} of the steps" if isinstance(since, float) else f"step {since:,}"
    return in_each_panel(
        panels,
        lambda panel: [
            measured(
                f"{panel}: share of {player}'s regret after {when}",
                [Read(panel, player, at=since), Read(panel, player)],
                lambda m: float(1 - m[0] / m[1]) if m[1] > 0 else math.nan,
                more_than=more_than,
                less_than=less_than,
                at=at,
            )
        ],
    )


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

    def power(outcome: Outcome, not_before: int) -> Evidence:
        sizes = [panel_named(outcome, name).environment.n_arms for name in (small, large)]
        [one] = measured(
            f"power of the number of rankers that {record} of {player} follow, {sizes[0]} to {sizes[1]}",
            [Read(name, player, record=record) for name in (small, large)],
            lambda m: log_ratio(m[1], m[0]) / math.log(sizes[1] / sizes[0]),
            more_than=more_than,
            less_than=less_than,
        )(outcome, not_before)
        return one

    def compare(outcome: Outcome, not_before: int) -> list[Evidence]:
        text = f"{record} of {player} by the number of rankers"
        return [compared(text, [small, large], lambda: power(outcome, not_before))]

    return compare


def _along_values(
    outcome: Outcome, not_before: int, player: str, text: str, slope: Callable[[Floats], float], **bounds: float | None
) -> Evidence:
    """A statistic of one player's means in all panels of a study; `bounds` as `measured` takes them."""
    reads = [Read(panel.name, player) for panel in outcome.panels]
    [one] = measured(text, reads, slope, more_than=bounds.get("more_than"), less_than=bounds.get("less_than"))(
        outcome, not_before
    )
    return one


def trend(player: str, *, rises: bool, record: str = "regret") -> Comparison:
    """How something changes with the logarithm of the studied parameter: counts as they are, others by their own log.

    The effect is the slope: for regret the power of the parameter that it follows.
    """

    def slope(outcome: Outcome, not_before: int) -> Evidence:
        x = np.log(studied_values(outcome))
        weights = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
        counts = record == "failures"

        def of(means: Floats) -> float:
            return float(weights @ (means if counts else np.log(means))) if counts or (means > 0).all() else math.nan

        [one] = measured(
            f"slope of the {'share of' if counts else 'log of'} {record} of {player} in the log of "
            f"{outcome.experiment.parameter}",
            [Read(panel.name, player, record=record) for panel in outcome.panels],
            of,
            more_than=0.0 if rises else None,
            less_than=None if rises else 0.0,
        )(outcome, not_before)
        return one

    def compare(outcome: Outcome, not_before: int) -> list[Evidence]:
        names = [panel.name for panel in outcome.panels]
        return [compared(f"{record} of {player} by the parameter", names, lambda: slope(outcome, not_before))]

    return compare


def straight(player: str, *, bend: float) -> Comparison:
    """That regret rises with the studied parameter, in a straight line.

    The bend is how far a parabola through the means is from its chord in the middle, as a share of its rise.
    """

    def line(outcome: Outcome, not_before: int, *, bent: bool) -> Evidence:
        x = studied_values(outcome)
        width = float(x.max() - x.min())
        fit = np.linalg.pinv(np.vander((x - x.min()) / width, 3))  # coefficients of z², z and 1, z from 0 to 1

        def rise(means: Floats) -> float:
            square, slope, _ = fit @ means
            return float((square + slope) / means.mean())

        def curved(means: Floats) -> float:
            square, slope, _ = fit @ means
            return float(-0.25 * square / (square + slope)) if square + slope else math.nan

        name = outcome.experiment.parameter
        if bent:
            text = f"bend of regret in {name}"
            return _along_values(outcome, not_before, player, text, curved, more_than=-bend, less_than=bend)
        return _along_values(
            outcome, not_before, player, f"rise of regret over all {name}, in means", rise, more_than=0
        )

    def compare(outcome: Outcome, not_before: int) -> list[Evidence]:
        names = [panel.name for panel in outcome.panels]
        return [
            compared("rise of regret", names, lambda: line(outcome, not_before, bent=False)),
            compared("bend of regret", names, lambda: line(outcome, not_before, bent=True)),
        ]

    return compare


def steps_by(player: str, *, at_least: float, at_most: float) -> Comparison:
    """That regret grows by about the same factor from each panel to the next."""

    def compare(outcome: Outcome, not_before: int) -> list[Evidence]:
        names = [panel.name for panel in outcome.panels]
        return [
            evidence
            for first, second in pairwise(names)
            for evidence in measured(
                f"regret of {player} at {second} over that at {first}",
                [Read(first, player), Read(second, player)],
                lambda m: log_ratio(m[1], m[0]),
                more_than=at_least,
                less_than=at_most,
                ratio=True,
            )(outcome, not_before)
        ]

    return compare
