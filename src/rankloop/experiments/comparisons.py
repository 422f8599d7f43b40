"""What claims are tested by: comparisons of an experiment's results, each giving evidence for or against.

A comparison takes an outcome, and a step before which the long run cannot be judged, and returns evidence: one piece
for each case that it is about. What a case lacks (runs, steps, a panel) leaves that case undecided, with what it waits
for, and no other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np

from rankloop.arrays import Floats
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
    projected,
    result_of,
    sample,
)
from rankloop.experiments.statistics import (
    Evidence,
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


def panels_or_all(panels: Sequence[str] | None, outcome: Outcome) -> list[str]:
    """The panels that a comparison names, or all of the experiment where it names none."""
    return list(panels or [panel.name for panel in outcome.panels])


def in_each_panel(panels: Sequence[str] | None, make: Callable[[str], Iterable[Comparison]]) -> Comparison:
    """The comparisons that are made of each panel, as one."""

    def compare(outcome: Outcome, not_before: int) -> list[Evidence]:
        return [
            evidence
            for panel in panels_or_all(panels, outcome)
            for comparison in make(panel)
            for evidence in comparison(outcome, not_before)
        ]

    return compare


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
    return in_each_panel(
        panels,
        lambda panel: [
            measured(
                f"{panel}: {record} of {b} over that of {a}",
                [Read(panel, a, record=record), Read(panel, b, record=record)],
                lambda m: log_ratio(m[1], m[0]),
                more_than=times,
                less_than=at_most,
                ratio=True,
                at=at,
                grows_on=[1] if record == "regret" and at_most is None else [],
            )
            for b in than
        ],
    )


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
    return in_each_panel(
        panels,
        lambda panel: [
            measured(
                f"{panel}: {record} of {a} minus that of {b}",
                [Read(panel, player, record=record) for player in (a, b)],
                lambda m: float(m[0] - m[1]),
                more_than=more_than,
                less_than=less_than,
                at=at,
            )
        ],
    )


def exceeds(
    player: str, bound: float, *, record: str, panels: Sequence[str] | None = None, at: int | None = None
) -> Comparison:
    """That a player's mean is above a bound."""
    return in_each_panel(
        panels,
        lambda panel: [
            measured(
                f"{panel}: {record} of {player}",
                [Read(panel, player, record=record)],
                lambda m: float(m[0]),
                more_than=bound,
                at=at,
            )
        ],
    )


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
            for panel in panels_or_all(panels, outcome)
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
