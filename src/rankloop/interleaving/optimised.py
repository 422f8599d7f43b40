"""Optimised interleaving: lists that either ranker could stand behind, with probabilities that make credit fair.

A list is allowed if each of its items is the best one not shown yet of one of the rankers. What has been shown is
then the union of a prefix of each list, so the allowed lists are the paths through a small lattice: position k has at
most k + 1 states. One probability for each state, that of taking the first ranker's item, is a distribution over
all allowed lists.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankloop.interleaving.base import Floats, Interleaver, Outcome, blank
from rankloop.interleaving.drafts import OVER, STAMP, begin, draw, judge, place, prepare, top_item
from rankloop.interleaving.lists import Lists
from rankloop.kernels import compiled, step, uniform

TIE = 1e-12
STEEPEST = 1e6
HALVINGS = 60


class OptimisedDraft(NamedTuple):
    """State (k, i): k items are shown, the first ranker's top is at rank i, the second's at `second[k, i]`.

    `mass[k, i]` is the chance of being there, `take[k, i]` that of then taking the first ranker's item; `gains[r, d]`
    is what item d earns ranker r. Positions from `fair[0]` on cannot be made fair and earn nothing.
    """

    order: npt.NDArray[np.int32]
    rank: npt.NDArray[np.int32]
    sizes: npt.NDArray[np.int64]
    shown: npt.NDArray[np.int64]
    counters: npt.NDArray[np.int64]
    top: npt.NDArray[np.int64]
    notes: Floats
    mass: Floats
    second: npt.NDArray[np.int64]
    take: Floats
    fair: npt.NDArray[np.int64]


@compiled
def _gain(rank: int, size: int) -> float:
    return 1.0 / (rank + 1.0) if rank < size else 0.0


@compiled
def _chance(tilt: float, difference: float) -> float:
    exponent = tilt * difference
    if exponent > 700.0:
        return 0.0
    return 1.0 / (1.0 + math.exp(exponent))


@compiled
def _expected_lead(order: Any, rank: Any, sizes: Any, mass: Any, second: Any, k: int, tilt: float) -> float:
    """The expected lead of the first ranker from a click on position k, if items are preferred by `tilt`."""
    lead = 0.0
    for i in range(min(k, sizes[0]) + 1):
        if mass[k, i] == 0.0:
            continue
        j = second[k, i]
        one = order[0, i] if i < sizes[0] else order[1, j]
        other = order[1, j] if j < sizes[1] else one
        lead_one = _gain(rank[0, one], sizes[0]) - _gain(rank[1, one], sizes[1])
        lead_other = _gain(rank[0, other], sizes[0]) - _gain(rank[1, other], sizes[1])
        chance = _chance(tilt, lead_one - lead_other)
        lead += mass[k, i] * (chance * lead_one + (1.0 - chance) * lead_other)
    return lead


@compiled
def _fair_tilt(order: Any, rank: Any, sizes: Any, mass: Any, second: Any, k: int) -> float:
    """The tilt nearest to none at which position k favours nobody; NaN if there is none."""
    lead = _expected_lead(order, rank, sizes, mass, second, k, 0.0)
    if abs(lead) < TIE:
        return 0.0
    low, high = -STEEPEST, STEEPEST  # the lead falls as the tilt grows
    if _expected_lead(order, rank, sizes, mass, second, k, low) < -TIE:
        return math.nan
    if _expected_lead(order, rank, sizes, mass, second, k, high) > TIE:
        return math.nan
    near = 1.0 if lead > 0 else -1.0
    while abs(near) < STEEPEST and _expected_lead(order, rank, sizes, mass, second, k, near) * near > 0:
        near *= 4.0
    low, high = min(near, 0.0), max(near, 0.0)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if _expected_lead(order, rank, sizes, mass, second, k, middle) > 0:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


@compiled
def _move(order: Any, rank: Any, sizes: Any, i: int, j: int, item: int) -> tuple[int, int]:
    """Both tops once an item is shown beside the first i of one list and the first j of the other."""
    new_i, new_j = i, j
    while new_i < sizes[0] and (order[0, new_i] == item or rank[1, order[0, new_i]] < j):
        new_i += 1
    while new_j < sizes[1] and (order[1, new_j] == item or rank[0, order[1, new_j]] < i):
        new_j += 1
    return new_i, new_j


@compiled
def _lay_out(order: Any, rank: Any, sizes: Any, mass: Any, second: Any, take: Any) -> int:
    """Fill the lattice from the top; return the number of positions that are fair."""
    n_positions = len(take)
    for k in range(n_positions + 1):
        for i in range(mass.shape[1]):
            mass[k, i] = 0.0
    mass[0, 0] = 1.0
    second[0, 0] = 0
    fair = n_positions
    for k in range(n_positions):
        tilt = 0.0
        if k < fair:
            tilt = _fair_tilt(order, rank, sizes, mass, second, k)
            if math.isnan(tilt):
                fair = k
                tilt = 0.0
        for i in range(min(k, sizes[0]) + 1):
            if mass[k, i] == 0.0:
                continue
            j = second[k, i]
            if i >= sizes[0] and j >= sizes[1]:
                continue
            one = order[0, i] if i < sizes[0] else order[1, j]
            other = order[1, j] if j < sizes[1] else one
            lead_one = _gain(rank[0, one], sizes[0]) - _gain(rank[1, one], sizes[1])
            lead_other = _gain(rank[0, other], sizes[0]) - _gain(rank[1, other], sizes[1])
            chance = _chance(tilt, lead_one - lead_other)
            take[k, i] = chance
            next_i, next_j = _move(order, rank, sizes, i, j, one)
            mass[k + 1, next_i] += mass[k, i] * chance
            second[k + 1, next_i] = next_j
            next_i, next_j = _move(order, rank, sizes, i, j, other)
            mass[k + 1, next_i] += mass[k, i] * (1.0 - chance)
            second[k + 1, next_i] = next_j
    return fair


@step(prepare, OptimisedDraft)
def _prepare(draft: Any) -> None:
    draft.fair[0] = _lay_out(draft.order, draft.rank, draft.sizes, draft.mass, draft.second, draft.take)


@step(begin, OptimisedDraft)
def _begin(draft: Any, rng: Any) -> None:
    draft.counters[STAMP] += 1
    draft.counters[OVER] = 0
    draft.top[0] = 0
    draft.top[1] = 0


@step(place, OptimisedDraft)
def _place(draft: Any, k: int, item: int, team: int) -> None:
    draft.shown[item] = draft.counters[STAMP]
    earns = k < draft.fair[0] and draft.counters[OVER] == 0
    for ranker in range(2):
        at = draft.rank[ranker, item]
        draft.notes[k, ranker] = 1.0 / (at + 1.0) if earns and at < draft.sizes[ranker] else 0.0


@step(draw, OptimisedDraft)
def _draw(draft: Any, rng: Any, k: int) -> int:
    one = top_item(draft, 0)
    other = top_item(draft, 1)
    if one < 0 and other < 0:
        return -1
    i = draft.top[0]
    chance = 0.5
    if i <= k and draft.mass[k, i] > 0.0 and draft.second[k, i] == draft.top[1]:
        chance = draft.take[k, i]
    else:
        draft.counters[OVER] = 1  # the lists have changed since the first page: nothing is known to be fair
    item = one if other < 0 or (one >= 0 and uniform(rng) < chance) else other
    place(draft, k, item, 0)
    return item


@step(judge, OptimisedDraft)
def _judge(draft: Any, clicked: Any, n_clicked: int, sampled: bool) -> float:
    lead = 0.0
    for m in range(n_clicked):
        lead += draft.notes[clicked[m], 0] - draft.notes[clicked[m], 1]
    return 0.5 * (1 + (lead > TIE) - (lead < -TIE))


class Optimised(Interleaver):
    """Optimised interleaving: each item shown is some ranker's best left, and no position favours either ranker.

    A clicked item earns each ranker 1 / rank, so a click tells the more the more the rankers disagree about the item,
    and nothing where they agree: on similar rankers it needs fewer clicks than team draft. The probabilities of the
    allowed lists are chosen position by position so that a click that does not look at the item earns both rankers the
    same *in expectation*; among such choices the one nearest to fair coins is taken, so that every allowed list can
    occur. Radlinski and Craswell solve a linear programme over whole lists instead; here no list is ever
    enumerated, and pages of any length are laid out at once.

    Positions for which no such probabilities exist, as when one list is much shorter, earn nobody credit.

    Examples
    --------
    >>> page = Optimised().interleave([["a", "b", "c"], ["b", "c", "a"]], length=3, seed=3)
    >>> page.items
    ('b', 'c', 'a')
    >>> [round(credit, 3) for credit in page.credit([1, 0, 0])]
    [0.5, 1.0]

    References
    ----------
    Radlinski, Craswell (2013). Optimized interleaving for online retrieval evaluation. WSDM.
    """

    name = "optimised"

    def draft(self, lists: Lists, n_positions: int) -> OptimisedDraft:
        """The state that compiled code draws a list of up to `n_positions` items with."""
        shape = (n_positions + 1, n_positions + 2)
        return OptimisedDraft(
            **blank(lists, n_positions),
            mass=np.zeros(shape),
            second=np.zeros(shape, np.int64),
            take=np.zeros((n_positions, n_positions + 2)),
            fair=np.zeros(1, np.int64),
        )

    @classmethod
    def outcome(cls, notes: Floats, clicked: npt.NDArray[np.int64], left: int, right: int) -> Outcome:
        """Who earns more."""
        lead = float(notes[clicked, left].sum() - notes[clicked, right].sum())
        return Outcome.of_lead(0.0 if abs(lead) <= TIE else lead)
