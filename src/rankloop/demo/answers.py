"""What each problem's visits say: a table that answers the problem's question, with intervals, and its data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankloop.arrays import Floats
from rankloop.demo import home, trending
from rankloop.demo.searching import FREQUENT_SEARCHES, HOLDOUT, SEARCHES, Evaluating, Reranking, Searching
from rankloop.demo.traffic import Visit
from rankloop.examples.docs_search.measure import HEADINGS, Measured, landmarks, measure, rows_of
from rankloop.examples.docs_search.search import POSITIONS
from rankloop.wording import count

Z = 1.96
"""Half the width of a 95 % interval, in standard errors."""

Z_POWER = 1.2816
"""Standard errors by which a difference must lie beyond the interval's width to be seen 9 times in 10."""

LATE = 3
"""The last third of the visits is where a list that has been learned is judged."""

FIRST = 40
"""Visits before the first mean of all visits so far is drawn: earlier ones jump."""

NAMES = {
    "policy": "rankloop’s lists",
    "holdout": "production’s list",
    trending.FOLLOWS: "CascadeSWUCB, which forgets",
    trending.REMEMBERS: "CascadeKLUCB, which remembers",
    home.BOTH: "CascadeHybrid: relevance and topics",
    home.RELEVANCE_ONLY: "CascadeLinUCB: relevance",
}
"""What loops, and the arms of a loop, are called in tables and pictures."""


@dataclass
class DemoAnswer:
    """One problem of the demo and what came of it."""

    kind: str
    title: str
    text: str
    """What the problem is about."""
    able: str
    """What a run of this length can show."""
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    found: str
    """What the table says, in a sentence or two."""
    facts: Mapping[str, str] = field(default_factory=dict)
    all_rows: Sequence[Sequence[str]] = ()
    """The whole of a table of which `rows` are some."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """What pictures are drawn of, and what programs may want to read."""


def half_width(values: Floats) -> float:
    """Half the width of the 95 % interval of a mean, by the normal distribution.

    >>> round(half_width(np.array([0.0, 0.0, 1.0, 1.0])), 3)  # 1.96 * 0.57735 / 2
    0.566
    """
    return Z * float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.inf


def mean_and_interval(values: Floats) -> str:
    """A mean with its 95 % interval.

    >>> mean_and_interval(np.array([0.0, 0.0, 1.0, 1.0])), mean_and_interval(np.array([1.0]))
    ('0.500 ± 0.566', '1.000')
    """
    if not len(values):
        return "–"
    mean = f"{float(values.mean()):.3f}"
    return f"{mean} ± {half_width(values):.3f}" if len(values) > 1 else mean


def paired_difference(one: Floats, other: Floats) -> tuple[float, float]:
    """The mean difference of what the same visitors got twice, and half the width of its 95 % interval."""
    apart = one - other
    return (float(apart.mean()) if len(apart) else math.nan), half_width(apart)


def difference_in_words(one: str, other: str, gain: float, room: float, more: str, less: str) -> str:
    """A difference with its interval in words: which of two got more, or that this cannot be told.

    >>> print(difference_in_words("A", "B", 0.124, 0.031, "more clicks per list", "fewer clicks per list"))
    A got 0.124 more clicks per list than B (95 % interval 0.093 to 0.155).
    >>> print(difference_in_words("A", "B", -0.124, 0.031, "more clicks per list", "fewer clicks per list"))
    A got 0.124 fewer clicks per list than B (95 % interval 0.093 to 0.155).
    >>> print(difference_in_words("A", "B", 0.003, 0.031, "more clicks per list", "fewer clicks per list"))
    The difference between A and B could be chance (95 % interval -0.028 to +0.034).
    """
    if not math.isfinite(room):
        return f"There were too few visitors to compare {one} with {other}."
    if abs(gain) <= room:
        interval = f"{gain - room:+.3f} to {gain + room:+.3f}"
        return f"The difference between {one} and {other} could be chance (95 % interval {interval})."
    low, high = abs(gain) - room, abs(gain) + room
    what = more if gain > 0 else less
    return f"{one} got {abs(gain):.3f} {what} than {other} (95 % interval {low:.3f} to {high:.3f})."


def visible(room: float, what: str, visitors: str) -> str:
    """How large a difference is seen with so many visitors.

    >>> visible(0.0392, "clicks per list", "1,200 readers")  # a standard error of 0.02
    'With 1,200 readers, a difference of 0.065 clicks per list is seen 9 times in 10.'
    """
    if not math.isfinite(room):
        return f"With {visitors}, nothing: an interval needs at least two."
    least = room * (Z + Z_POWER) / Z
    return f"With {visitors}, a difference of {least:.2g} {what} is seen 9 times in 10."


def evaluating(
    world: Evaluating, searching: Searching, visits: Sequence[Visit], status: Mapping[str, Any]
) -> DemoAnswer:
    """Who is left of the rankers, and how good the one is that clicks chose."""
    site = searching.site
    measured = measure(site.corpus, site.rankers, searching.held_out, site.default)
    left, best = set(status["survivors"]), str(status["best"] or site.default)
    rows = rows_of(measured, best, site.default)
    n = len(visits)
    if n >= SEARCHES:
        able = f"""In 9 of 10 races of {SEARCHES:,} searches, clicks choose a ranker that is better than the default.
        Distinguishing rankers of nearly the same quality takes many more searches, so these stay in the race."""
    else:
        able = f"""{count(n, "search", "searches")} show little: choosing a ranker that is better than the default
        takes about {SEARCHES:,}."""
    return DemoAnswer(
        "evaluate",
        world.title,
        f"""The search site has {len(measured)} rankers, which differ in the weights of names, modules, signatures,
        summaries and bodies, in stemming and in boosts. For every search MergeDTS chooses two of them, their lists are
        interleaved, and clicks decide which one wins. The true quality of a ranker is its MRR, the mean reciprocal rank
        of the document that is looked for, on {count(len(searching.held_out), "query", "queries")} that nobody
        asked.""",
        able,
        HEADINGS,
        [rows[k] for k in landmarks(measured, best, site.default)],
        choice_in_words(measured, best, site.default, left),
        {"searches": f"{n:,}", "policy": "MergeDTS", "learned from": f"{status['learned']:,}"},
        rows,
        {
            "rankers": [{**row._asdict(), "left": row.ranker in left} for row in measured],
            "chosen": best,
            "default": site.default,
        },
    )


def choice_in_words(measured: Sequence[Measured], best: str, default: str, left: set[str]) -> str:
    """How good the ranker is that clicks chose, and which of the others are still in the race."""
    place = {row.ranker: k for k, row in enumerate(measured)}
    mine, usual = measured[place[best]], measured[place[default]]
    where = f"number {place[best] + 1} of {len(measured)} by MRR"
    interval = f"95 % interval {mine.gain_low:+.3f} to {mine.gain_high:+.3f}"
    if best == default:
        found = f"Clicks favour the default ranker, “{best}”, {where}."
    elif mine.gain_low <= 0 <= mine.gain_high:
        found = (
            f"Clicks chose “{best}”, {where}. The difference between its MRR, {mine.mrr:.3f}, and that of the default, "
            f"{usual.mrr:.3f}, could be chance ({interval})."
        )
    else:
        way = "better" if mine.gain > 0 else "worse"
        found = (
            f"Clicks chose “{best}”, {where}. It is {way} than the default: its MRR is {mine.mrr:.3f}, where the "
            f"default has {usual.mrr:.3f}, a difference of {mine.gain:+.3f} ({interval})."
        )
    out = [place[row.ranker] for row in measured if row.ranker not in left]
    if not out:
        return f"{found} All {len(measured)} rankers are still in the race."
    worse = sum(2 * k >= len(measured) for k in out)
    return (
        f"{found} {len(left)} of {len(measured)} rankers are still in the race; {len(out)} were eliminated, {worse} of "
        "them from the worse half."
    )


def unsafe(visits: Sequence[Visit], production: Mapping[str, int]) -> int:
    """Number of lists with what people look for more than half a page below production's place."""
    return sum(visit.position > production[visit.key] + POSITIONS / 2 for visit in visits)


def reranking(world: Reranking, visits: Sequence[Visit]) -> DemoAnswer:
    """Whether lists got better, and whether any was worse than is allowed."""
    before = {query: world.production(query) for query in {visit.key for visit in visits}}
    rank = {visit: 1 / visit.position if visit.position else 0.0 for visit in visits}
    late = [visit for visit in visits if visit.number >= len(visits) - len(visits) // LATE]
    of_arm = {arm: [visit for visit in visits if visit.arm == arm] for arm in ("holdout", "policy")}
    rows = []
    for arm, mine in of_arm.items():
        last = [visit for visit in late if visit.arm == arm]
        places = f"{np.mean([visit.position for visit in last]):.2f}" if last else "–"
        ranks = mean_and_interval(np.array([rank[visit] for visit in last]))
        rows.append((NAMES[arm], f"{len(mine):,}", f"{unsafe(mine, before):,}", places, ranks))
    served = [visit for visit in late if visit.arm == "policy"]
    gain, room = paired_difference(
        np.array([float(before[visit.key]) for visit in served]), np.array([float(visit.position) for visit in served])
    )
    able = f"{len(visits) / len(before):,.0f} searches for each query are"
    if len(visits) >= FREQUENT_SEARCHES:
        able += " enough to move what people look for up by a place or two; documents far down need more."
    else:
        able += f" few, since every exchange takes evidence: to see lists improve needs {FREQUENT_SEARCHES:,} in all."
    shown = of_arm["policy"]
    return DemoAnswer(
        "rerank",
        world.title,
        f"""{len(before)} queries are asked often. For each, BubbleRank improves the default ranker's list, which is
        production's list here, by exchanging neighbours only. To learn, it shows neighbours in both orders, which costs
        a little at first. {HOLDOUT:.0%} of the visitors always get production's list, for comparison. A list is unsafe
        if the document that people look for is more than {POSITIONS // 2} places below its place in production's
        list.""",
        f"Every list is checked, so the number of unsafe ones is exact. {able}",
        ("", "lists", "unsafe", "mean place, last third", "MRR, last third"),
        rows,
        f"{unsafe(shown, before):,} of {len(shown):,} lists were unsafe. {moved(gain, room)}",
        {"searches": f"{len(visits):,}", "queries": f"{len(before)}", "policy": "BubbleRank"},
        data={
            "curves": {NAMES["policy"]: smoothed_curve(shown, rank)},
            "production": float(np.mean([1 / at for at in before.values()])),
        },
    )


def moved(gain: float, room: float) -> str:
    """By how many places what people look for has moved up.

    >>> print(moved(1.25, 0.05))
    In the last third of the searches, what people look for was 1.25 places above production's place on average
    (95 % interval 1.20 to 1.30).
    >>> print(moved(-0.02, 0.05))
    In the last third of the searches, any move of what people look for could be chance
    (95 % interval -0.07 to +0.03 places).
    """
    begin = "In the last third of the searches,"
    if not math.isfinite(room):
        return "There were too few searches to see whether lists improve."
    if abs(gain) <= room:
        interval = f"{gain - room:+.2f} to {gain + room:+.2f}"
        return f"{begin} any move of what people look for could be chance (95 % interval {interval} places)."
    way = "above" if gain > 0 else "below"
    interval = f"{abs(gain) - room:.2f} to {abs(gain) + room:.2f}"
    return (
        f"{begin} what people look for was {abs(gain):.2f} places {way} production's place on average "
        f"(95 % interval {interval})."
    )


CLICKS = ("more clicks per list", "fewer clicks per list")


def following(world: trending.Trending, visits: Sequence[Visit]) -> DemoAnswer:
    """Clicks before and after tastes changed."""
    clicked = by_loop(visits)
    numbers = np.array(sorted({visit.number for visit in visits}))
    after = numbers >= world.changes[0]
    loops = (trending.FOLLOWS, trending.REMEMBERS)
    rows = [(NAMES[loop], *(mean_and_interval(clicked[loop][part]) for part in (~after, after))) for loop in loops]
    gain, room = paired_difference(*(clicked[loop][after] for loop in loops))
    return DemoAnswer(
        "follow",
        world.title,
        f"""Readers of two sections click the first of {trending.POSITIONS} stories that attracts them. At first
        everybody wants three of the twelve stories; then tastes change to three others, and later change again.
        CascadeSWUCB uses only the latest lists, so it must try stories again from time to time; CascadeKLUCB remembers
        everything. Both get the same readers. Before the first change nothing has to be unlearned, so what counts is
        the share of lists with a click after it.""",
        visible(room, "clicks per list", f"{count(int(after.sum()), 'reader')} after the first change"),
        ("policy", "clicks per list before the first change", "after it"),
        rows,
        "After the first change: "
        + difference_in_words("the policy that forgets", "the one that remembers", gain, room, *CLICKS),
        {"readers": f"{len(numbers):,}", "changes": f"{len(world.changes) - 1}"},
        data={"changes": world.changes[:-1], "curves": curves(visits)},
    )


def diversifying(world: home.Home, visits: Sequence[Visit]) -> DemoAnswer:
    """Clicks and topics of lists by relevance and topics, and of lists by relevance only."""
    clicked = by_loop(visits)
    loops = (home.BOTH, home.RELEVANCE_ONLY)
    topics = {loop: np.array([float(visit.topics) for visit in visits if visit.loop == loop]) for loop in loops}
    rows = [(NAMES[loop], mean_and_interval(clicked[loop]), mean_and_interval(topics[loop])) for loop in loops]
    gain, room = paired_difference(*(clicked[loop] for loop in loops))
    readers = len(clicked[home.BOTH])
    return DemoAnswer(
        "diversify",
        world.title,
        f"""{len(home.READERS)} readers see {home.POSITIONS} of {home.N_ARTICLES} articles and click the first that
        attracts them: by its relevance, and by what it adds to the topics of the articles above it. CascadeHybrid
        learns both; CascadeLinUCB learns relevance and ignores topics. Both get the same readers.""",
        visible(room, "clicks per list", f"{count(readers, 'visit')} of these readers"),
        ("policy", "clicks per list", "topics per list"),
        rows,
        difference_in_words("CascadeHybrid", "CascadeLinUCB", gain, room, *CLICKS),
        {"readers’ visits": f"{readers:,}", "articles": f"{home.N_ARTICLES}", "topics": f"{len(home.TOPICS)}"},
        data={"curves": curves_so_far(clicked)},
    )


def by_loop(visits: Sequence[Visit]) -> dict[str, Floats]:
    """Whether there was a click, for each visit of each loop, in the order in which visitors came."""
    found: dict[str, list[float]] = {}
    for visit in visits:
        found.setdefault(visit.loop, []).append(float(visit.clicked > 0))
    return {loop: np.array(values) for loop, values in found.items()}


def curves(visits: Sequence[Visit]) -> dict[str, list[tuple[float, float]]]:
    """The share of visits with a click over time, for each loop."""
    clicked = {visit: float(visit.clicked > 0) for visit in visits}
    loops = dict.fromkeys(visit.loop for visit in visits)
    return {NAMES[loop]: smoothed_curve([visit for visit in visits if visit.loop == loop], clicked) for loop in loops}


def curves_so_far(clicked: Mapping[str, Floats]) -> dict[str, list[tuple[float, float]]]:
    """The share of visits with a click until each moment, for each loop, once there are some."""
    found = {}
    for loop, values in clicked.items():
        means = np.cumsum(values) / np.arange(1, len(values) + 1)
        places = np.unique(np.linspace(min(FIRST, len(values) - 1), len(values) - 1, 200).astype(int))
        found[NAMES[loop]] = [(float(k + 1), float(means[k])) for k in places]
    return found


def smoothed_curve(
    visits: Sequence[Visit], value: Mapping[Visit, float], points: int = 40
) -> list[tuple[float, float]]:
    """Means of neighbouring visits: where they stand, and the mean."""
    parts = np.array_split(np.arange(len(visits)), min(points, max(1, len(visits) // 20)))
    return [
        (float(np.mean([visits[k].number for k in part])), float(np.mean([value[visits[k]] for k in part])))
        for part in parts
        if len(part)
    ]
