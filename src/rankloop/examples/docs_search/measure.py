"""How good each ranker really is: the mean reciprocal rank of what is looked for, over queries that nobody asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankloop.examples.docs_search.corpus import Corpus
from rankloop.examples.docs_search.rankers import Ranker
from rankloop.examples.docs_search.search import POSITIONS
from rankloop.examples.docs_search.users import Query

N_RESAMPLES = 2_000
LEVEL = 0.95
"""Share of intervals that hold the truth."""


class Measured(NamedTuple):
    """A ranker's mean reciprocal rank, its difference to the default's, and the interval of each."""

    ranker: str
    mrr: float
    low: float
    high: float
    gain: float
    gain_low: float
    gain_high: float


def reciprocal_ranks(corpus: Corpus, ranker: Ranker, queries: Sequence[Query]) -> npt.NDArray[np.float64]:
    """1 over the position of what each query is after, and 0 where it is not on the page."""
    found = []
    for query in queries:
        shown = ranker.order(corpus, query.text)[:POSITIONS]
        found.append(1 / (shown.index(query.target) + 1) if query.target in shown else 0.0)
    return np.array(found)


def measure(corpus: Corpus, rankers: Mapping[str, Ranker], queries: Sequence[Query], default: str) -> list[Measured]:
    """All rankers, the best first; intervals are by the bootstrap over queries, the same for all rankers."""
    ranks = {name: reciprocal_ranks(corpus, ranker, queries) for name, ranker in rankers.items()}
    draws = np.random.default_rng(0)
    n = len(queries)
    often = draws.multinomial(n, np.full(n, 1 / n), N_RESAMPLES) / n
    ends = [100 * (1 - LEVEL) / 2, 100 * (1 + LEVEL) / 2]

    def interval(values: npt.NDArray[np.float64]) -> tuple[float, float, float]:
        low, high = np.percentile(often @ values, ends)
        return float(values.mean()), float(low), float(high)

    rows = [Measured(name, *interval(each), *interval(each - ranks[default])) for name, each in ranks.items()]
    return sorted(rows, key=lambda row: -row.mrr)


HEADINGS = ("", "ranker", "MRR", "95 % interval", "against the default", "95 % interval")


def rows_of(measured: Sequence[Measured], found: str, default: str) -> list[tuple[str, ...]]:
    """The rows of a table of all rankers, the best first; the ranker that clicks found and the default are marked."""
    marks = {default: "default"} | {found: "found by clicks" if found != default else "default, found by clicks"}
    lines: list[tuple[str, ...]] = []
    for place, row in enumerate(measured, 1):
        named = f"{row.ranker} ({marks[row.ranker]})" if row.ranker in marks else row.ranker
        gain = f"{row.gain:+.3f}", f"{row.gain_low:+.3f} to {row.gain_high:+.3f}"
        mean = f"{row.mrr:.3f}", f"{row.low:.3f} to {row.high:.3f}"
        lines.append((f"{place} of {len(measured)}", named, *mean, *(("", "") if row.ranker == default else gain)))
    return lines


def landmarks(measured: Sequence[Measured], found: str, default: str) -> list[int]:
    """The rows of a short table: the ranker that clicks found, the default, the best, the middle and the worst."""
    place = {row.ranker: k for k, row in enumerate(measured)}
    return sorted({0, len(measured) // 2, len(measured) - 1, place[found], place[default]})
