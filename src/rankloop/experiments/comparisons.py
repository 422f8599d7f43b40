"""What claims are tested by: comparisons of an experiment's results, each giving evidence for or against.

A comparison takes an outcome, and a step before which the long run cannot be judged, and returns evidence: one piece
for each case that it is about. What a case lacks (runs, steps, a panel) leaves that case undecided, with what it waits
for, and no other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from rankloop.experiments.declare import Outcome
from rankloop.experiments.readings import (
    SETTLING,
    TOLD_THE_HORIZON,
    Read,
    Undecidable,
    common_steps,
    last_step,
    n_problems,
    paired,
    panel_named,
    projected,
    result_of,
    sample,
    studied_values,
)
from rankloop.experiments.statistics import (
    Evidence,
    Floats,
    Published,
    Sample,
    counting,
    jackknife,
    matching,
    rarer,
    three_digits,
    within,
)

Comparison = Callable[[Outcome, int], list[Evidence]]

ENOUGH = 2.6
"""Number of standard errors between effect and bound that decides most comparisons."""


def log_ratio(over: float, under: float) -> float:
    """The logarithm of a ratio; not a number where there is none."""
    return math.log(over / under) if over > 0 and under > 0 else math.nan


def compared(
    text: str,
    panels: Sequence[str],
    make: Callable[[], Evidence],
) -> Evidence:
    """Make the evidence of a comparison; where results are missing, it decides nothing and says what is missing."""
    try:
        return make()
    except Undecidable as reason:
        return Evidence(text, math.nan, math.nan, 1.0, 1.0, tuple(panels), waits=str(reason))


def measured(
    text: str,
    reads: Sequence[Read],
    statistic: Callable[[Floats], float],
    *,
    more_than: float | None = None,
    less_than: float | None = None,
    ratio: bool = False,
    at: int | None = None,
    grows_on: Sequence[int] = (),
) -> Comparison:
    """That some statistic of the means of samples lies above one bound and below another.

    It is made at the step `at`, or else at the last that all players have. Where some were not run to `at`, it is shown
    for the last step that all have, and undecided. `grows_on` are the reads of which more can only speak for the claim,
    since regret never falls: what these have at an earlier step is enough for the comparison to hold, not to fail.
    """
    names = list(dict.fromkeys(read.panel for read in reads))

    def compare(outcome: Outcome, not_before: int) -> list[Evidence]:
        def make() -> Evidence:
            samples, step, early, bounded = samples_of(outcome, reads, at, not_before, grows_on)
            _positive(samples, text, ratio=ratio)
            when = f"{text}, after {step:,} steps" if reads[0].record != "seconds" and names else text
            one = within(when, statistic, samples, more_than=more_than, less_than=less_than, panels=names, ratio=ratio)
            one = one._replace(waits=_more_runs(outcome, reads, one, (more_than, less_than), ratio=ratio))
            if early:
                return one._replace(chance_above=1.0, chance_below=1.0, waits=early)
            return one._replace(chance_below=1.0, waits=bounded) if bounded else one

        return [compared(text, names, make)]

    return compare


def samples_of(
    outcome: Outcome, reads: Sequence[Read], at: int | None, not_before: int = 0, grows_on: Sequence[int] = ()
) -> tuple[list[Sample], int, str, str]:
    """The samples, the step they are of, what is waited for if that is too early, and if some are only lower bounds."""
    players = [(read.panel, read.player) for read in reads]
    curves = [result_of(outcome, *player) for player in players]
    if any(len(result.finished) == n_problems(result) > 1 for result in curves):  # no runs to tell an error from
        reads = [read._replace(sampled=True) for read in reads]
    early = bounded = ""
    if reads[0].record == "seconds":  # measured over whole runs, of whatever length
        short = [
            player
            for player, result in zip(players, curves, strict=True)
            if player[1] in SETTLING and result.steps[-1] < not_before
        ]
        if short:
            early = _later(outcome, short, not_before)
        step, steps = 0, [int(result.steps[-1]) for result in curves]
    else:
        wanted = not_before if at is None else at
        ends = [last_step(result, player[1]) for result, player in zip(curves, players, strict=True)]
        short = [player for player, end in zip(players, ends, strict=True) if end < wanted]
        can_wait = {players[k] for k in grows_on if players[k][1] not in TOLD_THE_HORIZON}
        others = [player for player in players if player not in short]
        if short and others and set(short) <= can_wait:
            step, bounded = common_steps(outcome, others)[-1] if at is None else at, _later(outcome, short, wanted)
            steps = [min(_step(read, step), int(result.steps[-1])) for read, result in zip(reads, curves, strict=True)]
        else:
            early = _later(outcome, short, wanted) if short else ""
            step = common_steps(outcome, players)[-1] if at is None or short else at
            steps = [_step(read, step) for read in reads]
    samples = paired([sample(outcome, read, when) for read, when in zip(reads, steps, strict=True)])
    return samples, step, early, bounded


def _step(read: Read, end: int) -> int:
    return read.at if isinstance(read.at, int) else round(read.at * end)


def _later(outcome: Outcome, players: Sequence[tuple[str, str]], step: int) -> str:
    who = ", ".join(dict.fromkeys(f"{player} in {panel}" for panel, player in players))
    return f"step {step:,} of {who} ({projected(outcome, players, step)})"


def _more_runs(
    outcome: Outcome, reads: Sequence[Read], one: Evidence, bounds: Iterable[float | None], *, ratio: bool
) -> str:
    """How many more runs would decide, were the effect what it seems."""
    effect, error = (
        (math.log(one.effect), one.error / one.effect) if ratio and one.effect > 0 else (one.effect, one.error)
    )
    away = min(
        (abs(effect - (math.log(bound) if ratio else bound)) for bound in bounds if bound is not None), default=0
    )
    times = (ENOUGH * error / away) ** 2 if away > 0 else math.inf
    if not math.isfinite(times) or times > 1000:
        return "an effect further from its bound: more than 1,000 times as many runs would not decide"
    curves = [(read.panel, read.player) for read in reads]
    times = max(times, 1.5)
    users = any(result_of(outcome, *player).setting.get("hybrid") for player in curves)
    what = "users" if users else "runs"
    return f"about {three_digits(times)} times as many {what} ({projected(outcome, curves, 0, times)})"


def _positive(samples: Iterable[Sample], what: str, *, ratio: bool) -> None:
    """Ratios need means above 0, of all columns but any one too."""
    for one in samples if ratio else ():
        if not (one.values >= 0).all() or np.count_nonzero(one.values) < 2:
            raise Undecidable(f"{what} has no ratio, since one is 0")


def _panels(panels: Sequence[str] | None, outcome: Outcome) -> list[str]:
    return list(panels or [panel.name for panel in outcome.panels])


def less(
    a: str,
    than: Sequence[str],
    *,
    panels: Sequence[str] | None = None,
    record: str = "regret",
    at: int | None = None,
    times: float = 1.0,
    at_most: float | None = None,
) -> Comparison:
    """That one player has less than others, `times` less: their ratio is above `times`, and below `at_most`."""

    def compare(outcome: Outcome, not_before: int) -> list[Evidence]:
        return [
            evidence
            for panel in _panels(panels, outcome)
            for b in than
            for evidence in measured(
                f"{panel}: {record} of {b} over that of {a}",
                [Read(panel, a, record=record), Read(panel, b, record=record)],
                lambda m: log_ratio(m[1], m[0]),
                more_than=times,
                less_than=at_most,
                ratio=True,
                at=at,
                grows_on=[1] if record == "regret" and at_most is None else [],
            )(outcome, not_before)
        ]

    return compare


def differs(
    a: str,
    b: str,
    *,
    panels: Sequence[str] | None = None,
    record: str,
    at: int | None = None,
    more_than: float | None = None,
    less_than: float | None = None,
) -> Comparison:
    """That a's mean minus b's lies above one bound and below another."""

    def compare(outcome: Outcome, not_before: int) -> list[Evidence]:
        return [
            evidence
            for panel in _panels(panels, outcome)
            for evidence in measured(
                f"{panel}: {record} of {a} minus that of {b}",
                [Read(panel, player, record=record) for player in (a, b)],
                lambda m: float(m[0] - m[1]),
                more_than=more_than,
                less_than=less_than,
                at=at,
            )(outcome, not_before)
        ]

    return compare


def exceeds(
    player: str, bound: float, *, record: str, panels: Sequence[str] | None = None, at: int | None = None
) -> Comparison:
    """That a player's mean is above a bound."""

    def compare(outcome: Outcome, not_before: int) -> list[Evidence]:
        return [
            evidence
            for panel in _panels(panels, outcome)
            for evidence in measured(
                f"{panel}: {record} of {player}",
                [Read(panel, player, record=record)],
                lambda m: float(m[0]),
                more_than=bound,
                at=at,
            )(outcome, not_before)
        ]

    return compare


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
            for panel in _panels(panels, outcome)
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

    def compare(outcome: Outcome, not_before: int) -> list[Evidence]:
        when = f"{since:.0%} of the steps" if isinstance(since, float) else f"step {since:,}"
        return [
            evidence
            for panel in panels
            for evidence in measured(
                f"{panel}: share of {player}'s regret after {when}",
                [Read(panel, player, at=since), Read(panel, player)],
                lambda m: float(1 - m[0] / m[1]) if m[1] > 0 else math.nan,
                more_than=more_than,
                less_than=less_than,
                at=at,
            )(outcome, not_before)
        ]

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


def never(player: str, record: str, *, panels: Sequence[str] | None = None) -> Comparison:
    """That something has not happened in a single run: one is enough to refute it."""

    def counted(outcome: Outcome, not_before: int, panel: str) -> Evidence:
        samples, step, early, _ = samples_of(outcome, [Read(panel, player, record=record)], None, not_before)
        effect, error, _ = jackknife(lambda m: float(m[0]), samples)
        happened = bool(samples[0].values.any())
        chances = (1.0, 0.0) if happened else (1.0, 1.0) if early else (0.0, 1.0)
        text = f"{panel}: {record} of {player} per run, after {step:,} steps"
        return Evidence(text, effect, error, *chances, (panel,), "none", early)

    def compare(outcome: Outcome, not_before: int) -> list[Evidence]:
        return [
            compared(
                f"{panel}: {record} of {player}",
                [panel],
                partial(counted, outcome, not_before, panel),
            )
            for panel in _panels(panels, outcome)
        ]

    return compare


def happens(
    player: str, *, panel: str, less_than: float | None = None, more_than: float | None = None, record: str = "failures"
) -> Comparison:
    """That something happens in a smaller, or a larger, share of runs than the bound."""
    bound = less_than if more_than is None else more_than
    if bound is None:
        raise ValueError("happens needs less_than or more_than")

    text = f"{panel}: {record} of {player}"

    def share(values: Floats) -> Evidence:
        one = rarer(text, values, bound, panels=[panel], often=more_than is not None)
        return one._replace(waits="more runs, since the share is too near the bound")

    return _of_runs(text, Read(panel, player, record=record), share)


def _of_runs(text: str, read: Read, share: Callable[[Floats], Evidence]) -> Comparison:
    """The comparison of the share of runs in which something happens, which waits until the runs are long enough."""

    def judged(outcome: Outcome, not_before: int) -> Evidence:
        [found], _, early, _ = samples_of(outcome, [read], None, not_before)
        one = share(found.values)
        return one._replace(chance_above=1.0, chance_below=1.0, waits=early) if early else one

    def compare(outcome: Outcome, not_before: int) -> list[Evidence]:
        return [compared(text, [read.panel], lambda: judged(outcome, not_before))]

    return compare


def happens_as_often(
    player: str,
    published: tuple[int, int],
    *,
    panel: str,
    margin: float,
    record: str = "failures",
    exactly: float | None = None,
) -> Comparison:
    """That something happens in as many runs as published: so many of so many, within the errors of both.

    `exactly` counts the runs whose record is that number at their end.
    """
    what = f"{record} of {player}" if exactly is None else f"{player} ends with {record} = {exactly:g}"
    text = f"{panel}: {what}"

    def share(values: Floats) -> Evidence:
        happened = values if exactly is None else values == exactly
        one = counting(text, int(happened.sum()), happened.size, published, margin, panels=[panel])
        return one._replace(waits="more runs")

    return _of_runs(text, Read(panel, player, record=record), share)


def matches(
    text: str,
    reads: Sequence[Read],
    published: Published,
    *,
    margin: float,
    statistic: Callable[[Floats], float] = lambda means: float(means[0]),
    at: int | None = None,
    queries: int = 0,
    ratio: bool = False,
) -> Comparison:
    """That a statistic of ours is a published number, within its error and ours; see `statistics.matching`.

    `queries` says of how many other queries the published number is the mean. Ours are then a sample too, and its error
    is taken to be what our spread from query to query makes of so many, where that is more than was published.
    """
    names = list(dict.fromkeys(read.panel for read in reads))

    def compare(outcome: Outcome, not_before: int) -> list[Evidence]:
        def make() -> Evidence:
            wanted = [read._replace(sampled=True) for read in reads] if queries else reads
            samples, _, early, _ = samples_of(outcome, wanted, at, not_before)
            _positive(samples, text, ratio=ratio)
            found = jackknife(statistic, samples)
            theirs = published
            if queries:
                spread = found.error * math.sqrt(samples[0].values.shape[1] / queries)
                theirs = published._replace(error=max(published.error, spread), text=published.text or str(published))
            one = matching(text, found, theirs, margin, panels=names, ratio=ratio)
            if early:
                return one._replace(chance_above=1.0, chance_below=1.0, waits=early)
            return one._replace(waits="more queries than there are here" if queries else "more runs")

        return [compared(text, names, make)]

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
