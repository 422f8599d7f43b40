"""The list that looks best, position by position, without looking at every item each time.

The score of an item is `phi'w + bonus sqrt(phi' C phi)`, with phi = [omega, z], w the weights and C the inverse of the
precision. The value phi'w is kept for all items; the root, the width, is only computed where an upper bound of the
score exceeds the best score found so far:

- At the first position, the width may be an old one: C only shrinks as observations come in, so the width that was
  worked out when an item was last looked at bounds today's.
- Further down, omega_j has shrunk by some delta_j. The square of the width changes by
  `-2 delta_j (C phi)_j + delta_j^2 C_jj`, and (C phi)_j is at least `C_jj omega_j - |C_j'| |phi'|` with the j-th entry
  left out of both vectors; it is also at least `-sqrt(C_jj)` times the width, which is a norm. Only the topics of what
  was put on the list shrink.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rankloop.kernels import compiled, draw_index, inlined, rare
from rankloop.kernels.arrays import Floats, Ints, Items, Stream
from rankloop.policies.features.catalogue import Catalogue

ROUNDING = 1e-9
"""What rounding may take from a bound, and more."""

LOST_DIGITS = 1e-14
"""Of a square: what rounding may take where almost nothing is left of it, and more."""

LARGEST = 1.7e308

BATCH = 64
"""Items that are looked at together, so that the compiler may take several at a time."""


class Desk(NamedTuple):
    """Room for what is worked out while a list is made; none of it needs to be kept."""

    upper: Floats
    """What the score of each item is at most."""
    value: Floats
    width: Floats
    """What the uncertainty of each item is at most, as far as the topics remain."""
    square: Floats
    """z' C z of the items looked at for this list."""
    cross: Floats
    """The entry of C z for each topic of those items."""
    stamp: Ints
    remaining: Floats
    """The part of each topic that the list does not cover yet."""
    whole: Floats
    """What remains of the topics before anything is shown: all."""
    weights: Floats
    phi: Floats
    along: Floats
    last: Ints
    batch: Ints
    """Items that are looked at together; what follows has a column for each of them."""
    features: Floats
    squares: Floats
    inner: Floats
    scores: Floats


def new_desk(n_items: int, n_covered: int, n_topics: int, n_features: int, n_positions: int) -> Desk:
    """Room for a catalogue of that size, whose items cover `n_covered` topics in all."""
    return Desk(
        upper=np.zeros(n_items),
        value=np.zeros(n_items),
        width=np.zeros(n_items),
        square=np.zeros(n_items),
        cross=np.zeros(n_covered),
        stamp=np.full(n_items + 1, -1, np.int64),
        remaining=np.zeros(n_topics),
        whole=np.ones(n_topics),
        weights=np.zeros(n_features),
        phi=np.zeros(n_features),
        along=np.zeros(n_features),
        last=np.zeros(n_positions, np.int64),
        batch=np.zeros(2 * BATCH, np.int64),
        features=np.zeros((n_features, 2 * BATCH)),
        squares=np.zeros(2 * BATCH),
        inner=np.zeros(2 * BATCH),
        scores=np.zeros(2 * BATCH),
    )


@inlined
def fill_greedily(
    rng: Stream, items: Items, catalogue: Catalogue, covariance: Floats, widths: Floats, desk: Desk, bonus: float,
    literal: bool,
) -> None:  # fmt: skip
    """Write the list into `items`.

    `desk.weights` are the weights to rank with; `widths` holds for each item a bound of its uncertainty at the first
    position. The list made before is a guess that lets the bounds bite from the first item on. `literal` is for
    topics below 0 in catalogues without relevance features.
    """
    upper, remaining, batch, scores = desk.upper, desk.remaining, desk.batch, desk.scores
    # The last entry of `stamp` counts lists, so that what was worked out for an earlier one is known to be stale.
    desk.stamp[len(upper)] += 1
    _bound_all(catalogue, widths, desk, bonus)
    for k in range(len(items)):
        best = -np.inf
        threshold = LARGEST
        chosen = -1
        ties = 0
        n = 0
        for begin in range(-BATCH, len(upper), BATCH):
            if begin < 0:  # before all others, those of the list made before: their scores set the threshold
                for i in range(min(len(desk.last), BATCH)):
                    batch[n] = desk.last[i]
                    n += int(upper[batch[n]] > -np.inf)
            else:
                end = min(begin + BATCH, len(upper))
                any_reach = 0  # mostly none does, and that is quickly seen
                for a in range(begin, end):
                    any_reach |= int(upper[a] >= threshold)
                if any_reach:
                    for a in range(begin, end):
                        batch[n] = a
                        n += int(upper[a] >= threshold)
                if n < BATCH and end < len(upper):
                    continue
            _score(n, catalogue, covariance, widths, desk, bonus, k == 0)
            if begin < 0:
                for b in range(n):
                    best = max(best, scores[b])
            else:
                for b in range(n):
                    upper[batch[b]] = scores[b]
                    if scores[b] > best:
                        best, chosen, ties = scores[b], batch[b], 1
                    elif scores[b] == best:
                        chosen = batch[b]
                        ties += 1
            threshold = reach(best)
            n = 0
        if ties > 1:
            chosen = pick(draw_index(rng, ties), best, upper)
        items[k] = chosen if chosen >= 0 else any_left(upper)
        chosen = items[k]
        upper[chosen] = -np.inf
        for p in range(catalogue.starts[chosen], catalogue.starts[chosen + 1]):
            j = catalogue.topics[p]
            lost = remaining[j] * covered_by(catalogue.coverage[p], literal)
            _cover(j, lost, catalogue, covariance, desk, bonus)
    for k in range(len(desk.last)):  # what a short list leaves over goes to its last item: repeats must come last
        desk.last[k] = items[min(k, len(items) - 1)]


@inlined
def covered_by(coverage: float, literal: bool) -> float:
    """The part of what remains of a topic that an item covers: nothing where its coverage is below 0, or less."""
    return coverage if literal else max(coverage, 0.0)


@inlined
def reach(best: float) -> float:
    """What a bound must reach for its item to be looked at; items that may not be shown have no finite bound."""
    return best - ROUNDING * (1.0 + abs(best)) if best > -np.inf else -LARGEST


@rare
def any_left(upper: Floats) -> int:
    """An item that may be shown, where no score is a number to compare."""
    a = 0
    while upper[a] == -np.inf:
        a += 1
    return a


@compiled
def pick(skip: int, best: float, upper: Floats) -> int:
    """One of the items that have the best score: bounds were replaced by scores where they reached it."""
    for a in range(len(upper)):
        if upper[a] == best:
            if skip == 0:
                return a
            skip -= 1
    return -1


@inlined
def _bound_all(catalogue: Catalogue, widths: Floats, desk: Desk, bonus: float) -> None:
    """Values and bounds at the first position."""
    value, upper = desk.value, desk.upper
    starts, items, coverage = catalogue.topic_starts, catalogue.topic_items, catalogue.topic_coverage
    n_topics = len(desk.remaining)
    for a in range(len(value)):
        value[a] = 0.0
    for i in range(len(catalogue.columns)):
        weight = desk.weights[n_topics + i]
        for a in range(len(value)):
            value[a] += weight * catalogue.columns[i, a]
    for j in range(n_topics):
        desk.remaining[j] = 1.0
        if not len(catalogue.table):
            _add_to_some(starts, items, coverage, j, value, desk.weights[j], 0.0)
    for a in range(len(value)):
        desk.width[a] = widths[a]
        upper[a] = value[a] + bonus * widths[a] if catalogue.eligible[a] else -np.inf
    if len(catalogue.table):
        for j in range(n_topics):
            _add_to_all(catalogue.table, j, upper, desk.weights[j], 0.0)


@inlined
def _cover(topic: int, lost: float, catalogue: Catalogue, covariance: Floats, desk: Desk, bonus: float) -> None:
    """Cover a part of a topic: bring values and bounds of its items up to date."""
    less = -lost * desk.weights[topic]
    more = abs(lost) * bonus * math.sqrt(max(covariance[topic, topic], 0.0))
    if len(catalogue.table):
        _add_to_all(catalogue.table, topic, desk.upper, less, more)
    elif bonus == 0.0 or not len(catalogue.columns):
        # There are no widths, or looking at an item costs no more than a better bound.
        starts, items, coverage = catalogue.topic_starts, catalogue.topic_items, catalogue.topic_coverage
        _add_to_some(starts, items, coverage, topic, desk.value, less, 0.0)
        _add_to_some(starts, items, coverage, topic, desk.upper, less, more)
    else:
        _cover_closely(topic, lost, catalogue, covariance, desk, bonus)
    desk.remaining[topic] -= lost


@inlined
def _add_to_all(coverage: Floats, topic: int, to: Floats, by_value: float, by_size: float) -> None:
    """Add multiples of the coverage of a topic, and of its size, to a number of each item."""
    for a in range(len(to)):
        value = coverage[topic, a]
        to[a] += by_value * value + by_size * abs(value)


@inlined
def _add_to_some(
    starts: Ints, items: Ints, coverage: Floats, topic: int, to: Floats, by_value: float, by_size: float
) -> None:
    """Do so where few items cover a topic: those from its start to the start of the next."""
    for p in range(starts[topic], starts[topic + 1]):
        value = coverage[p]
        to[items[p]] += by_value * value + by_size * abs(value)


@inlined
def _cover_closely(topic: int, lost: float, catalogue: Catalogue, covariance: Floats, desk: Desk, bonus: float) -> None:
    """Bring values and bounds up to date, the bounds by the square of the width: see the top of this file."""
    value, width, upper = desk.value, desk.width, desk.upper
    others = 0.0
    for i in range(len(covariance)):
        if i != topic:
            others += covariance[topic, i] * covariance[topic, i]
    others = math.sqrt(others)
    own = max(covariance[topic, topic], 0.0)
    root = math.sqrt(own)
    less = lost * desk.weights[topic]
    remaining = desk.remaining[topic]
    for p in range(catalogue.topic_starts[topic], catalogue.topic_starts[topic + 1]):
        a = catalogue.topic_items[p]
        covered = catalogue.topic_coverage[p]
        change = lost * covered
        steep = min(others * catalogue.topic_length[p] - own * covered * remaining, root * width[a])
        value[a] -= less * covered
        square = width[a] * width[a]
        left = max(square + change * (2.0 * steep + change * own), 0.0)
        width[a] = math.sqrt(left + LOST_DIGITS * square)
        upper[a] = value[a] + bonus * width[a] if upper[a] > -np.inf else -np.inf


@compiled
def _score(
    n: int, catalogue: Catalogue, covariance: Floats, widths: Floats, desk: Desk, bonus: float, first: bool
) -> None:
    """Write the scores of the first `n` items of the batch."""
    batch, scores = desk.batch, desk.scores
    for b in range(n):
        scores[b] = desk.value[batch[b]]
    if len(catalogue.table):
        _add_topics(n, batch, catalogue.table, catalogue.columns, desk.remaining, desk.weights, desk.features, scores)
    if bonus == 0.0:
        return
    if len(catalogue.table):
        _square(n, 0, desk.features, desk.squares, desk.inner, covariance)
    else:
        _square_in_parts(n, catalogue, covariance, widths, desk)
    for b in range(n):
        uncertainty = math.sqrt(max(desk.squares[b], 0.0))
        scores[b] += bonus * uncertainty
        desk.width[batch[b]] = uncertainty
        if first:
            widths[batch[b]] = uncertainty


@inlined
def _add_topics(
    n: int, batch: Ints, table: Floats, columns: Floats, remaining: Floats, weights: Floats, features: Floats,
    scores: Floats,
) -> None:  # fmt: skip
    """Write the features of a batch of items that cover many topics each, and add the value of the topics."""
    n_topics = len(remaining)
    for j in range(n_topics):
        for b in range(n):
            features[j, b] = table[j, batch[b]] * remaining[j]
        for b in range(n):
            scores[b] += features[j, b] * weights[j]
    for i in range(len(columns)):
        for b in range(n):
            features[n_topics + i, b] = columns[i, batch[b]]


@inlined
def _square_in_parts(n: int, catalogue: Catalogue, covariance: Floats, widths: Floats, desk: Desk) -> None:
    """phi' C phi of a batch of items that cover few topics each: z' C z and C z are worked out once a list."""
    batch, features, squares, cross = desk.batch, desk.features, desk.squares, desk.cross
    remaining, stamp = desk.remaining, desk.stamp
    n_topics = len(remaining)
    starts, topics, coverage = catalogue.starts, catalogue.topics, catalogue.coverage
    now = stamp[len(stamp) - 1]
    new = 0
    for b in range(n):
        a = batch[b]
        if stamp[a] != now:
            for i in range(len(catalogue.columns)):
                features[n_topics + i, new] = catalogue.relevance[a, i]
            new += 1
    _square(new, n_topics, features, squares, desk.inner, covariance)
    new = 0
    for b in range(n):
        a = batch[b]
        if stamp[a] != now:
            stamp[a] = now
            desk.square[a] = squares[new]
            new += 1
            for p in range(starts[a], starts[a + 1]):
                inner = 0.0
                for i in range(len(catalogue.columns)):
                    inner += catalogue.relevance[a, i] * covariance[topics[p], n_topics + i]
                cross[p] = inner
            square = _with_topics(
                desk.square[a], starts[a], starts[a + 1], topics, coverage, desk.whole, cross, covariance, desk.phi
            )
            widths[a] = math.sqrt(max(square, 0.0))
    for b in range(n):
        a = batch[b]
        squares[b] = _with_topics(
            desk.square[a], starts[a], starts[a + 1], topics, coverage, remaining, cross, covariance, desk.phi
        )


@inlined
def _with_topics(
    square: float, begin: int, end: int, topics: Ints, coverage: Floats, remaining: Floats, cross: Floats,
    covariance: Floats, gains: Floats,
) -> float:  # fmt: skip
    """phi' C phi of an item whose z' C z is `square`, as far as its topics, from `begin` to `end`, remain."""
    for p in range(begin, end):
        j = topics[p]
        gain = coverage[p] * remaining[j]
        gains[p - begin] = gain
        inner = cross[p] + 0.5 * gain * covariance[j, j]
        for q in range(begin, p):
            inner += gains[q - begin] * covariance[j, topics[q]]
        square += 2.0 * gain * inner
    return square


@inlined
def _square(n: int, first: int, features: Floats, squares: Floats, inner: Floats, covariance: Floats) -> None:
    """x' C x of the first `n` columns of `features`, from the row `first` on."""
    for b in range(n):
        squares[b] = 0.0
    for i in range(first, len(features)):
        entry = covariance[i, i]
        for b in range(n):
            inner[b] = 0.5 * features[i, b] * entry
        for j in range(first, i):
            entry = covariance[i, j]
            for b in range(n):
                inner[b] += features[j, b] * entry
        for b in range(n):
            squares[b] += 2.0 * features[i, b] * inner[b]
