"""The list that looks best, position by position, without looking at every item each time.

The score of an item is `phi'w + bonus sqrt(phi' C phi)`, with phi = [omega, z], w the weights and C the inverse of the
precision. It is only computed where an upper bound of it exceeds the best score found so far:

- At the first position, the root may be an old one: C only shrinks as observations come in, so the uncertainty that
  was worked out when an item was last looked at there bounds today's.
- Further down, omega_j has shrunk by some delta_j, which changes the score by at most
  `-delta_j w_j + bonus delta_j sqrt(C_jj)`: the root is a norm. Only the topics of what was put on the list shrink.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankloop.kernels import below, compiled, inlined

Floats = npt.NDArray[np.float64]

ROUNDING = 1e-9
"""What rounding may take from a bound, and more."""

LARGEST = 1.7e308

MANY_TOPICS = 24
"""From how many topics on it pays to multiply by whole rows."""


class Desk(NamedTuple):
    """Room for what is worked out while a list is made; none of it needs to be kept."""

    upper: Floats
    mean: Floats
    square: Floats
    """z' C z of the items looked at for this list."""
    cross: Floats
    """The entry of C z for each topic of those items."""
    stamp: npt.NDArray[np.int64]
    remaining: Floats
    """The part of each topic that the list does not cover yet."""
    roots: Floats
    weights: Floats
    phi: Floats
    along: Floats
    last: npt.NDArray[np.int64]


def new_desk(n_items: int, n_covered: int, n_topics: int, n_features: int, n_positions: int) -> Desk:
    """Room for a catalogue of that size, whose items cover `n_covered` topics in all."""
    return Desk(
        upper=np.zeros(n_items),
        mean=np.zeros(n_items),
        square=np.zeros(n_items),
        cross=np.zeros(n_covered),
        stamp=np.full(n_items + 1, -1, np.int64),
        remaining=np.zeros(n_topics),
        roots=np.zeros(n_topics),
        weights=np.zeros(n_features),
        phi=np.zeros(n_features),
        along=np.zeros(n_features),
        last=np.zeros(n_positions, np.int64),
    )


@inlined
def fill_greedily(rng: Any, items: Any, catalogue: Any, covariance: Any, widths: Any, desk: Any, bonus: float) -> None:
    """Write the list into `items`.

    `desk.weights` are the weights to rank with; `widths` holds for each item a bound of its uncertainty at the first
    position. The list made before is a guess that lets the bounds bite from the first item on.
    """
    upper, remaining = desk.upper, desk.remaining
    # The last entry of `stamp` counts lists, so that what was worked out for an earlier one is known to be stale.
    now = desk.stamp[len(upper)] + 1
    desk.stamp[len(upper)] = now
    _bound_all(catalogue, covariance, widths, desk, bonus)
    for k in range(len(items)):
        best = -np.inf
        for i in range(len(desk.last)):
            a = desk.last[i]
            if upper[a] > -np.inf:
                best = max(best, _score(a, catalogue, covariance, widths, desk, bonus, now, k == 0))
        threshold = _below(best)
        chosen = -1
        ties = 0
        for a in range(len(upper)):
            if upper[a] >= threshold:
                score = _score(a, catalogue, covariance, widths, desk, bonus, now, k == 0)
                upper[a] = score
                if score > best:
                    best, chosen, ties = score, a, 1
                    threshold = _below(best)
                elif score == best:
                    chosen = a
                    ties += 1
        if ties > 1:
            chosen = _pick(below(rng, ties), best, threshold, catalogue, covariance, widths, desk, bonus, now, k == 0)
        items[k] = chosen if chosen >= 0 else _any_left(upper)
        chosen = items[k]
        upper[chosen] = -np.inf
        for p in range(catalogue.starts[chosen], catalogue.starts[chosen + 1]):
            j = catalogue.topics[p]
            lost = remaining[j] * max(catalogue.coverage[p], 0.0)  # what is below 0 covers nothing
            remaining[j] -= lost
            _shift_bounds(catalogue, upper, j, -lost * desk.weights[j], lost * bonus * desk.roots[j])
    for k in range(len(items)):
        desk.last[k] = items[k]


@inlined
def _below(best: float) -> float:
    """What a bound must reach for its item to be looked at; items that may not be shown have no finite bound."""
    return best - ROUNDING * (1.0 + abs(best)) if best > -np.inf else -LARGEST


@compiled
def _any_left(upper: Any) -> int:
    """An item that may be shown, where no score is a number to compare."""
    a = 0
    while upper[a] == -np.inf:
        a += 1
    return a


@compiled
def _pick(
    skip: int,
    best: float,
    threshold: float,
    catalogue: Any,
    covariance: Any,
    widths: Any,
    desk: Any,
    bonus: float,
    now: int,
    first: bool,
) -> int:
    """One of the items that have the best score."""
    for a in range(len(desk.upper)):
        if desk.upper[a] >= threshold and _score(a, catalogue, covariance, widths, desk, bonus, now, first) == best:
            if skip == 0:
                return a
            skip -= 1
    return -1


@inlined
def _bound_all(catalogue: Any, covariance: Any, widths: Any, desk: Any, bonus: float) -> None:
    upper, mean, remaining, roots = desk.upper, desk.mean, desk.remaining, desk.roots
    n_topics = len(remaining)
    for a in range(len(mean)):
        mean[a] = 0.0
    for i in range(len(catalogue.columns)):
        weight = desk.weights[n_topics + i]
        for a in range(len(mean)):
            mean[a] += weight * catalogue.columns[i, a]
    for a in range(len(mean)):
        upper[a] = mean[a] + bonus * widths[a] if catalogue.eligible[a] else -np.inf
    for j in range(n_topics):
        remaining[j] = 1.0
        roots[j] = math.sqrt(max(covariance[j, j], 0.0))
        _shift_bounds(catalogue, upper, j, desk.weights[j], 0.0)


@inlined
def _shift_bounds(catalogue: Any, upper: Any, topic: int, by_value: float, by_size: float) -> None:
    """Add to the bounds of the items of a topic as the part of it that is still uncovered changes."""
    begin, end = catalogue.topic_starts[topic], catalogue.topic_starts[topic + 1]
    if end - begin == len(upper):  # all items, in order: a loop without an index
        for a in range(len(upper)):
            value = catalogue.topic_coverage[begin + a]
            upper[a] += by_value * value + by_size * abs(value)
    else:
        for p in range(begin, end):
            value = catalogue.topic_coverage[p]
            upper[catalogue.topic_items[p]] += by_value * value + by_size * abs(value)


@inlined
def _score(
    a: int, catalogue: Any, covariance: Any, widths: Any, desk: Any, bonus: float, now: int, first: bool
) -> float:
    score = desk.mean[a]
    for p in range(catalogue.starts[a], catalogue.starts[a + 1]):
        j = catalogue.topics[p]
        score += catalogue.coverage[p] * desk.remaining[j] * desk.weights[j]
    if bonus == 0.0:
        return score
    if desk.stamp[a] != now:
        desk.stamp[a] = now
        _look_at(a, catalogue, covariance, desk)
    uncertainty = _uncertainty(a, catalogue, covariance, desk)
    if first:
        widths[a] = uncertainty
    return score + bonus * uncertainty


@inlined
def _uncertainty(a: int, catalogue: Any, covariance: Any, desk: Any) -> float:
    """sqrt(phi' C phi) of an item that was looked at."""
    remaining = desk.remaining
    begin, end = catalogue.starts[a], catalogue.starts[a + 1]
    topics, coverage, cross = catalogue.topics, catalogue.coverage, desk.cross
    square = desk.square[a]
    gains = desk.phi
    if end - begin < MANY_TOPICS:
        for p in range(begin, end):
            j = topics[p]
            gain = coverage[p] * remaining[j]
            gains[p - begin] = gain
            inner = cross[p] + 0.5 * gain * covariance[j, j]
            for q in range(begin, p):
                inner += gains[q - begin] * covariance[j, topics[q]]
            square += 2.0 * gain * inner
    else:
        along = desk.along
        n_topics = len(remaining)
        for i in range(n_topics):
            along[i] = 0.0
        for p in range(begin, end):
            j = topics[p]
            gain = coverage[p] * remaining[j]
            for i in range(n_topics):
                along[i] += gain * covariance[j, i]
        for p in range(begin, end):
            j = topics[p]
            square += coverage[p] * remaining[j] * (2.0 * cross[p] + along[j])
    return math.sqrt(max(square, 0.0))


@inlined
def _look_at(a: int, catalogue: Any, covariance: Any, desk: Any) -> None:
    """Work out the parts of an item's uncertainty that do not change down the list."""
    n_topics = len(desk.remaining)
    n_relevance = len(catalogue.columns)
    square = 0.0
    for i in range(n_relevance):
        value = catalogue.relevance[a, i]
        inner = 0.5 * value * covariance[n_topics + i, n_topics + i]
        for j in range(i):
            inner += catalogue.relevance[a, j] * covariance[n_topics + i, n_topics + j]
        square += 2.0 * value * inner
    desk.square[a] = square
    for p in range(catalogue.starts[a], catalogue.starts[a + 1]):
        cross = 0.0
        for i in range(n_relevance):
            cross += catalogue.relevance[a, i] * covariance[catalogue.topics[p], n_topics + i]
        desk.cross[p] = cross
