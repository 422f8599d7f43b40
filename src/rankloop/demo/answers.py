"""What each problem's visits say: a table that answers the problem's question, with intervals, and its data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rankloop.demo import home, trending
from rankloop.demo.searching import HOLDOUT, Evaluating, Reranking, Searching
from rankloop.demo.traffic import Visit
from rankloop.examples.docs_search.measure import HEADINGS, Measured, measure, rows_of
from rankloop.examples.docs_search.search import POSITIONS
from rankloop.wording import count

Z = 1.96
"""Half the width of a 95 % interval, in standard errors."""

LATE = 1 / 3
"""Share of the visits, at the end, over which a list that has been learned is judged."""


@dataclass
class Answer:
    """One problem of the demo and what came of it."""

    kind: str
    title: str
    text: str
    """What the problem is about, and what a run of this length can show."""
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    found: str
    """What the table says, in a sentence or two."""
    facts: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    """What pictures are drawn of, and what programs may want to read."""


Numbers = npt.NDArray[np.float64]


def mean_and_interval(values: Numbers) -> str:
    """A mean with its 95 % interval, by the normal distribution."""
    if len(values) < 2:
        return f"{float(values.mean()):.3f}" if len(values) else "–"
    room = Z * float(values.std(ddof=1)) / math.sqrt(len(values))
    return f"{values.mean():.3f} ± {room:.3f}"


def difference(one: Numbers, other: Numbers) -> tuple[float, float]:
    """The mean difference of what the same visitors got twice, and half the width of its 95 % interval."""
    apart = one - other
    if len(apart) < 2:
        return (float(apart.mean()) if len(apart) else math.nan), math.inf
    return float(apart.mean()), Z * float(apart.std(ddof=1)) / math.sqrt(len(apart))


def told(gain: float, room: float, what: str) -> str:
    """A difference with its interval, and which way it points."""
    way = "more" if gain > room else "fewer" if gain < -room else "as many, as far as this can tell,"
    return f"{way} {what}: {gain:+.3f} (95 % interval {gain - room:+.3f} to {gain + room:+.3f})"


def evaluating(world: Evaluating, searching: Searching, visits: Sequence[Visit], status: Mapping[str, Any]) -> Answer:
    """Who is left of the rankers, and how good the one is that clicks chose."""
    site = searching.site
    measured = measure(site.corpus, site.rankers, searching.held_out, site.default)
    place = {row.ranker: k for k, row in enumerate(measured)}
    left, best = set(status["survivors"]), str(status["best"])
    mine: Measured = measured[place[best]]
    out = [row.ranker for row in measured if row.ranker not in left]
    better = "yes" if mine.gain_low > 0 else "no" if mine.gain_high < 0 else "these queries do not tell"
    found = (
        f"Clicks chose {best}: {place[best] + 1} of {len(measured)} by the held-out queries, with an MRR of "
        f"{mine.mrr:.3f} where the default has {measured[place[site.default]].mrr:.3f}. Better than the default? "
        f"{better.capitalize()}: {mine.gain:+.3f} (95 % interval {mine.gain_low:+.3f} to {mine.gain_high:+.3f}). "
        f"{len(left)} of {len(measured)} rankers are left"
    )
    if out:
        worst = sum(place[name] >= len(measured) / 2 for name in out)
        found += f"; of the {len(out)} that were eliminated, {worst} belong to the worse half"
    return Answer(
        "evaluate",
        world.title,
        f"""The search site has 64 rankers: weights of names, modules, signatures, summaries and bodies, stems or not,
        boosts. For every search MergeDTS says which two to run, their lists are interleaved, and clicks decide. MRR,
        the mean reciprocal rank, tells how good each ranker really is: it is measured on
        {count(len(searching.held_out), "query", "queries")} that nobody asked.

        What this can show: so many searches are enough to choose a ranker that is among the best and better than the
        default one, and to eliminate bad ones. Rankers of nearly the same quality stay in the race: to tell them apart
        takes a hundred times as many.""",
        HEADINGS,
        rows_of(measured, best, site.default),
        f"{found}.",
        {"searches": f"{len(visits):,}", "policy": "MergeDTS", "learned from": f"{status['learned']:,}"},
        {
            "rankers": [{**row._asdict(), "left": row.ranker in left} for row in measured],
            "chosen": best,
            "default": site.default,
        },
    )


def reranking(world: Reranking, visits: Sequence[Visit]) -> Answer:
    """Whether lists got better, and whether any was worse than is allowed."""
    before = {query: world.production(query) for query in {visit.key for visit in visits}}
    rank = {visit: 1 / visit.position if visit.position else 0.0 for visit in visits}
    late = [visit for visit in visits if visit.number >= (1 - LATE) * (visits[-1].number + 1)]
    rows = []
    for arm, name in (("holdout", "production’s list"), ("policy", "rankloop’s lists")):
        unsafe = sum(visit.position > before[visit.key] + POSITIONS / 2 for visit in visits if visit.arm == arm)
        ends = np.array([rank[visit] for visit in late if visit.arm == arm])
        places = np.array([float(visit.position) for visit in late if visit.arm == arm])
        shown = sum(visit.arm == arm for visit in visits)
        where = f"{places.mean():.1f}" if len(places) else "–"
        rows.append((name, f"{shown:,}", f"{unsafe:,}", mean_and_interval(ends), where))
    unsafe_shown = sum(visit.position > before[visit.key] + POSITIONS / 2 for visit in visits if visit.arm == "policy")
    served = [visit for visit in late if visit.arm == "policy"]
    production, ours = sum(1 / before[visit.key] for visit in served), sum(rank[visit] for visit in served)
    closer = (ours - production) / (len(served) - production) if production < len(served) else 1.0
    return Answer(
        "rerank",
        world.title,
        f"""{len(before)} queries are asked often. BubbleRank improves the default ranker's list for each, by exchanging
        neighbours only. {HOLDOUT:.0%} of the visitors always get production's list, for comparison. A list is unsafe if
        what people look for stands more than {POSITIONS // 2} places below production's place.

        What this can show: every list is checked, so that the number of unsafe ones is exact. Some
        {len(visits) // max(1, len(before)):,} searches for each query are enough for most exchanges of one place; what
        stands far down needs more.""",
        ("", "lists", "unsafe", f"MRR of the last {LATE:.0%}", "mean place"),
        rows,
        f"{unsafe_shown:,} of {sum(v.arm == 'policy' for v in visits):,} lists were unsafe. In the last third of the "
        f"searches the lists had come {closer:.0%} of the way from production's order to the best one.",
        {"searches": f"{len(visits):,}", "queries": f"{len(before)}", "policy": "BubbleRank"},
        {"curves": {name: curve([v for v in visits if v.arm == arm], rank) for arm, name in ARMS.items()}},
    )


ARMS = {"policy": "rankloop’s lists", "holdout": "production’s list"}


def following(world: trending.Trending, visits: Sequence[Visit]) -> Answer:
    """Clicks before and after tastes changed."""
    clicked = by_loop(visits)
    numbers = np.array(sorted({visit.number for visit in visits}))
    after = numbers >= world.changes[0]
    rows = []
    for loop, policy in ((trending.FOLLOWS, "CascadeSWUCB, which forgets"), (trending.REMEMBERS, "CascadeKLUCB")):
        rows.append((policy, *(mean_and_interval(clicked[loop][part]) for part in (~after, after))))
    gain, room = difference(clicked[trending.FOLLOWS][after], clicked[trending.REMEMBERS][after])
    return Answer(
        "follow",
        world.title,
        f"""Readers of two sections click the first of {trending.POSITIONS} stories that attracts them. Three of twelve
        stories are what everybody wants, until tastes change and it is three others, and then change again.
        CascadeSWUCB looks at the last lists only; CascadeKLUCB remembers everything. Both get the same readers.

        What this can show: before the first change a policy that never forgets is better, since nothing has to be
        unlearned. What counts is the share of lists with a click after it.""",
        ("policy", "clicks per list before the first change", "after it"),
        rows,
        f"After the first change the policy that forgets got {told(gain, room, 'clicks per list')}.",
        {"readers": f"{len(numbers):,}", "changes": f"{len(world.changes) - 1}"},
        {"changes": world.changes[:-1], "curves": curves(visits)},
    )


def diversifying(world: home.Home, visits: Sequence[Visit]) -> Answer:
    """Clicks and topics of lists by relevance and topics, and of lists by relevance only."""
    clicked = by_loop(visits)
    rows = []
    for loop, policy in (
        (home.BOTH, "CascadeHybrid: relevance and topics"),
        (home.RELEVANCE_ONLY, "CascadeLinUCB: relevance"),
    ):
        topics = np.array([float(visit.topics) for visit in visits if visit.loop == loop])
        rows.append((policy, mean_and_interval(clicked[loop]), mean_and_interval(topics)))
    gain, room = difference(clicked[home.BOTH], clicked[home.RELEVANCE_ONLY])
    return Answer(
        "diversify",
        world.title,
        f"""{len(home.READERS)} readers see {home.POSITIONS} of {home.N_ARTICLES} articles and click the first that
        attracts them: by its relevance, and by what it adds to the topics of the articles above it. CascadeHybrid
        learns both; CascadeLinUCB learns relevance, and is blind to topics. Both get the same readers.

        What this can show: with so many readers, a difference of 0.05 clicks per list is seen 9 times in 10.""",
        ("policy", "clicks per list", "topics per list"),
        rows,
        f"With topics there were {told(gain, room, 'clicks per list')}.",
        {"readers’ visits": f"{len(visits) // 2:,}", "articles": f"{home.N_ARTICLES}", "topics": f"{len(home.TOPICS)}"},
        {"curves": curves(visits)},
    )


def by_loop(visits: Sequence[Visit]) -> dict[str, Numbers]:
    """Whether there was a click, for each visit of each loop, in the order in which visitors came."""
    found: dict[str, list[float]] = {}
    for visit in visits:
        found.setdefault(visit.loop, []).append(float(visit.clicked > 0))
    return {loop: np.array(values) for loop, values in found.items()}


def curves(visits: Sequence[Visit]) -> dict[str, list[tuple[float, float]]]:
    """The share of visits with a click over time, for each loop."""
    clicked = {visit: float(visit.clicked > 0) for visit in visits}
    loops = dict.fromkeys(visit.loop for visit in visits)
    return {loop: curve([visit for visit in visits if visit.loop == loop], clicked) for loop in loops}


def curve(visits: Sequence[Visit], value: Mapping[Visit, float], points: int = 60) -> list[tuple[float, float]]:
    """Means of neighbouring visits: where they stand, and the mean."""
    parts = np.array_split(np.arange(len(visits)), min(points, max(1, len(visits) // 20)))
    return [
        (float(np.mean([visits[k].number for k in part])), float(np.mean([value[visits[k]] for k in part])))
        for part in parts
        if len(part)
    ]
