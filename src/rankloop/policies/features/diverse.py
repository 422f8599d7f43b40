"""The list whose items look attractive and differ in their features, position by position.

With X the features of the items chosen so far, the worth of a list is the sum of its items' scores, `x'w + bonus
sqrt(x' C x)`, plus `diversity` times its entropy, `1/2 log det(I + X X' / variance)`. One more item x adds
`1/2 log(1 + x' V x / variance)` to the entropy, where V is the inverse of `I + X'X / variance`. That is the less the
more items there are, so what was worked out for an item further up bounds what it is worth further down, and only items
whose bound reaches the best score found so far are looked at.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rankloop.kernels import draw_index, inlined
from rankloop.kernels.arrays import Floats, Items, Stream
from rankloop.policies.features.catalogue import Catalogue
from rankloop.policies.features.greedy import Desk, any_left, pick, reach


class Room(NamedTuple):
    """Room for what is worked out of entropies while a list is made."""

    alone: Floats
    """The entropy of each item alone; it is the same for all lists."""
    inverse: Floats
    """V: the inverse of I + X'X / variance, for the features X of the items chosen so far."""
    along: Floats


def new_room(features: Floats, variance: float) -> Room:
    """Room for items with these features, one row each."""
    n_features = features.shape[1]
    return Room(
        alone=0.5 * np.log1p((features**2).sum(axis=1) / variance),
        inverse=np.eye(n_features),
        along=np.zeros(n_features),
    )


@inlined
def fill_diversely(
    rng: Stream, items: Items, catalogue: Catalogue, covariance: Floats, widths: Floats, desk: Desk, bonus: float,
    room: Room, diversity: float, variance: float,
) -> None:  # fmt: skip
    """Write the list into `items`, for a catalogue without topics; see `fill_greedily` for the arguments."""
    upper, inverse, along, relevance = desk.upper, room.inverse, room.along, catalogue.relevance
    desk.stamp[len(upper)] += 1
    _bound_all(catalogue, widths, desk, bonus, room.alone, diversity)
    for i in range(len(inverse)):
        for j in range(len(inverse)):
            inverse[i, j] = 1.0 if i == j else 0.0
    for k in range(len(items)):
        best = -np.inf
        for i in range(len(desk.last)):  # the list made before is a guess that lets the bounds bite at once
            a = desk.last[i]
            if upper[a] > -np.inf:
                best = max(best, _score(a, relevance, covariance, widths, desk, bonus, inverse, diversity, variance))
        threshold = reach(best)
        chosen = -1
        ties = 0
        for a in range(len(upper)):
            if upper[a] >= threshold:
                score = _score(a, relevance, covariance, widths, desk, bonus, inverse, diversity, variance)
                upper[a] = score
                if score > best:
                    best, chosen, ties = score, a, 1
                    threshold = reach(best)
                elif score == best:
                    chosen = a
                    ties += 1
        if ties > 1:
            chosen = pick(draw_index(rng, ties), best, upper)
        items[k] = chosen if chosen >= 0 else any_left(upper)
        upper[items[k]] = -np.inf
        _include(relevance, items[k], inverse, along, variance)
    for k in range(len(items)):
        desk.last[k] = items[k]


@inlined
def _bound_all(catalogue: Catalogue, widths: Floats, desk: Desk, bonus: float, alone: Floats, diversity: float) -> None:
    """Values and bounds at the first position."""
    value, upper = desk.value, desk.upper
    for a in range(len(value)):
        value[a] = 0.0
    for i in range(len(catalogue.columns)):
        for a in range(len(value)):
            value[a] += desk.weights[i] * catalogue.columns[i, a]
    for a in range(len(value)):
        upper[a] = value[a] + bonus * widths[a] + diversity * alone[a] if catalogue.eligible[a] else -np.inf


@inlined
def _score(
    a: int,
    relevance: Floats,
    covariance: Floats,
    widths: Floats,
    desk: Desk,
    bonus: float,
    inverse: Floats,
    diversity: float,
    variance: float,
) -> float:
    """What an item is worth after those chosen so far; its uncertainty is worked out once for each list."""
    stamp = desk.stamp
    if bonus > 0.0 and stamp[a] != stamp[len(stamp) - 1]:
        stamp[a] = stamp[len(stamp) - 1]
        desk.width[a] = widths[a] = math.sqrt(max(_square(relevance, a, covariance), 0.0))
    score: float = desk.value[a] + 0.5 * diversity * math.log1p(max(_square(relevance, a, inverse), 0.0) / variance)
    return score + bonus * desk.width[a] if bonus > 0.0 else score


@inlined
def _square(relevance: Floats, a: int, matrix: Floats) -> float:
    """x' M x of the features x of an item and a symmetric matrix."""
    square = 0.0
    for i in range(len(matrix)):
        inner = 0.5 * relevance[a, i] * matrix[i, i]
        for j in range(i):
            inner += relevance[a, j] * matrix[i, j]
        square += 2.0 * relevance[a, i] * inner
    return square


@inlined
def _include(relevance: Floats, a: int, inverse: Floats, along: Floats, variance: float) -> None:
    """Bring the inverse up to date with one more item."""
    divisor = variance
    for i in range(len(inverse)):
        along[i] = 0.0
        for j in range(len(inverse)):
            along[i] += inverse[i, j] * relevance[a, j]
        divisor += relevance[a, i] * along[i]
    for i in range(len(inverse)):
        for j in range(len(inverse)):
            inverse[i, j] -= along[i] * along[j] / divisor
