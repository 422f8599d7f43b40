"""Probabilistic interleave: every list is possible, and credit is shared over all ways to have made it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankloop.checks import check_number
from rankloop.interleaving.base import Interleaver, Preference, blank
from rankloop.interleaving.drafts import (
    OVER,
    STAMP,
    begin,
    draw,
    lead_distribution,
    lead_of,
    place,
    prepare,
    score_clicks,
)
from rankloop.interleaving.lists import Lists
from rankloop.kernels import compiled, draw_index, inlined, step, uniform
from rankloop.kernels.arrays import Floats, Ints, Ints32, Stream

EXPONENT = 3.0
CANCELLED = 1e-4
"""Subtracting has cost four of sixteen digits once this little of a sum is left: then it is summed anew."""


class ProbabilisticDraft(NamedTuple):
    """`weights[k]` of rank k; `left[r]` the weight of ranker r's items not shown, `exact[r]` when last summed."""

    order: Ints32
    rank: Ints32
    sizes: Ints
    shown: Ints
    counters: Ints
    top: Ints
    notes: Floats
    teams: Ints
    weights: Floats
    totals: Floats
    left: Floats
    exact: Floats
    work: Floats


@step(prepare, ProbabilisticDraft)
def _prepare(draft: ProbabilisticDraft) -> None:
    for ranker in range(len(draft.sizes)):
        total = 0.0
        for at in range(draft.sizes[ranker]):
            total += draft.weights[at]
        draft.totals[ranker] = total


@step(begin, ProbabilisticDraft)
def _begin(draft: ProbabilisticDraft, rng: Stream) -> None:
    draft.counters[STAMP] += 1
    draft.counters[OVER] = 0
    for ranker in range(len(draft.sizes)):
        draft.top[ranker] = 0
        draft.left[ranker] = draft.totals[ranker]
        draft.exact[ranker] = draft.totals[ranker]


@compiled
def _sum_again(order: Ints32, shown: Ints, stamp: int, weights: Floats, ranker: int, size: int) -> float:
    total = 0.0
    for at in range(size):
        if shown[order[ranker, at]] != stamp:
            total += weights[at]
    return total


@step(place, ProbabilisticDraft)
def _place(draft: ProbabilisticDraft, k: int, item: int, team: int) -> None:
    n_rankers = len(draft.sizes)
    stamp = draft.counters[STAMP]
    draft.shown[item] = stamp
    draft.teams[k] = team
    over = draft.counters[OVER] == 1
    total = 0.0
    for ranker in range(n_rankers):
        at = draft.rank[ranker, item]
        chance = 0.0
        if at < draft.sizes[ranker]:
            weight = draft.weights[at]
            chance = weight / draft.left[ranker]
            left = draft.left[ranker] - weight
            if left < CANCELLED * draft.exact[ranker]:
                left = _sum_again(draft.order, draft.shown, stamp, draft.weights, ranker, draft.sizes[ranker])
                draft.exact[ranker] = left
                if left <= 0.0:
                    draft.counters[OVER] = 1  # from here on one ranker has nothing to offer, and nobody earns credit
            draft.left[ranker] = left
        draft.notes[k, ranker] = chance
        total += chance
    scale = 0.0 if over or total == 0.0 else 1.0 / total
    for ranker in range(n_rankers):
        draft.notes[k, ranker] *= scale


@inlined
def _draw_from(draft: ProbabilisticDraft, rng: Stream, ranker: int) -> int:
    """An item of one ranker that is not shown, by weight: from the top down, where nearly all the weight is."""
    order, shown, weights = draft.order, draft.shown, draft.weights
    stamp = draft.counters[STAMP]
    size = draft.sizes[ranker]
    at = draft.top[ranker]
    while at < size and shown[order[ranker, at]] == stamp:
        at += 1
    draft.top[ranker] = at
    target = uniform(rng) * draft.left[ranker]
    last = -1
    while at < size:
        item = order[ranker, at]
        if shown[item] != stamp:
            last = item
            target -= weights[at]
            if target < 0.0:
                break
        at += 1
    return last


@compiled
def _next_with_items(left: Floats, ranker: int) -> int:
    for turn in range(1, len(left)):
        other = (ranker + turn) % len(left)
        if left[other] > 0.0:
            return other
    return -1


@step(draw, ProbabilisticDraft)
def _draw(draft: ProbabilisticDraft, rng: Stream, k: int) -> int:
    n_rankers = len(draft.sizes)
    team = draw_index(rng, n_rankers)
    if draft.left[team] <= 0.0:
        team = _next_with_items(draft.left, team)
        if team < 0:
            return -1
    item = _draw_from(draft, rng, team)
    place(draft, k, item, team)
    return item


@step(score_clicks, ProbabilisticDraft)
def _score_clicks(draft: ProbabilisticDraft, clicked: Ints, n_clicked: int, sampled: bool) -> float:
    if sampled:
        lead = 0
        for m in range(n_clicked):
            lead += 1 - 2 * draft.teams[clicked[m]]
        return 0.5 * (1 + (lead > 0) - (lead < 0))
    if n_clicked == 0:
        return 0.5
    if n_clicked == 1:
        return 0.5 + 0.5 * (draft.notes[clicked[0], 0] - draft.notes[clicked[0], 1])
    left, right, lead_chances = draft.work[0], draft.work[1], draft.work[2]
    for m in range(n_clicked):
        left[m] = draft.notes[clicked[m], 0]
        right[m] = draft.notes[clicked[m], 1]
    lead_distribution(left, right, n_clicked, lead_chances)
    score = 0.5 * lead_chances[n_clicked]
    for at in range(n_clicked + 1, 2 * n_clicked + 1):
        score += lead_chances[at]
    return score


class Probabilistic(Interleaver):
    """Probabilistic interleave: at each position a fair coin picks a ranker, which draws an item by 1 / rank³.

    Any item may come anywhere, so no list hides a difference between the rankers. Given the list, the rankers that may
    have placed the items of different positions are independent, each with a known probability. Credit is therefore
    exact over all assignments: `credit` is the expected number of clicks on a ranker's items and `preference` the
    probabilities of its having more than the other, with no sampling and no enumeration.

    Under clicks that do not look at the items, either ranker's expected credit is the same at every position. Once
    one list has nothing new to offer, further items earn nobody credit.

    Parameters
    ----------
    exponent
        Steepness with which the chance of being drawn falls with the rank.

    Examples
    --------
    >>> page = Probabilistic().interleave([["a", "b", "c"], ["a", "c", "d"]], length=3, seed=1)
    >>> page.items
    ('a', 'd', 'c')
    >>> page.credit([1, 0, 0])
    (0.5, 0.5)
    >>> round(page.preference([0, 1, 0]).loss, 6)
    1.0

    References
    ----------
    Hofmann, Whiteson, de Rijke (2011). A probabilistic method for inferring preferences from clicks. CIKM.
    """

    name = "probabilistic"

    def __init__(self, exponent: float = EXPONENT) -> None:
        self.exponent = check_number("exponent", exponent, 0, 100)

    def draft(self, lists: Lists, n_positions: int) -> ProbabilisticDraft:
        """The state that compiled code draws a list of up to `n_positions` items with."""
        n_rankers, n_items = lists.order.shape
        return ProbabilisticDraft(
            **blank(lists, n_positions),
            teams=np.zeros(n_positions, np.int64),
            weights=np.arange(1, n_items + 1, dtype=np.float64) ** -self.exponent,
            totals=np.zeros(n_rankers),
            left=np.zeros(n_rankers),
            exact=np.zeros(n_rankers),
            work=np.zeros((3, 2 * n_positions + 1)),
        )

    @classmethod
    def preference(cls, notes: Floats, clicked: Ints, left: int, right: int) -> Preference:
        """The probabilities of more, as many and fewer clicks on items that `left` placed."""
        if left == right:
            return Preference(0.0, 1.0, 0.0)
        lead = lead_of(np.ascontiguousarray(notes[clicked, left]), np.ascontiguousarray(notes[clicked, right]))
        n = len(clicked)
        return Preference(float(lead[n + 1 :].sum()), float(lead[n]), float(lead[:n].sum()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(exponent={self.exponent:g})"
