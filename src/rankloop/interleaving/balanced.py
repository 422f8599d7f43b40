"""Balanced interleaving: the top of the list always holds nearly as many of either ranker's best."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankloop.interleaving.base import Interleaver, Preference, blank
from rankloop.interleaving.drafts import FIRST, STAMP, begin, draw, is_shown, place, prepare, score_clicks
from rankloop.interleaving.lists import Lists
from rankloop.kernels import draw_index, step
from rankloop.kernels.arrays import Floats, Ints, Ints32, Stream


class BalancedDraft(NamedTuple):
    """`notes` are ranks from 1; 0 where the item lies beyond the end of the shorter list."""

    order: Ints32
    rank: Ints32
    sizes: Ints
    shown: Ints
    counters: Ints
    top: Ints
    notes: Floats


@step(prepare, BalancedDraft)
def _prepare(draft: BalancedDraft) -> None:
    pass


@step(begin, BalancedDraft)
def _begin(draft: BalancedDraft, rng: Stream) -> None:
    draft.counters[STAMP] += 1
    draft.counters[FIRST] = draw_index(rng, 2)
    draft.top[0] = 0
    draft.top[1] = 0


@step(place, BalancedDraft)
def _place(draft: BalancedDraft, k: int, item: int, team: int) -> None:
    draft.shown[item] = draft.counters[STAMP]
    shorter = min(draft.sizes[0], draft.sizes[1])
    for ranker in range(2):
        at = draft.rank[ranker, item]
        draft.notes[k, ranker] = at + 1.0 if at < shorter else 0.0


@step(draw, BalancedDraft)
def _draw(draft: BalancedDraft, rng: Stream, k: int) -> int:
    top, sizes = draft.top, draft.sizes
    first = draft.counters[FIRST]
    while top[0] < sizes[0] or top[1] < sizes[1]:
        ranker = first if top[0] == top[1] else int(top[1] < top[0])
        if top[ranker] >= sizes[ranker]:
            ranker = 1 - ranker
        item = draft.order[ranker, top[ranker]]
        top[ranker] += 1
        if not is_shown(draft, item):
            place(draft, k, item, ranker)
            return item
    return -1


@step(score_clicks, BalancedDraft)
def _score_clicks(draft: BalancedDraft, clicked: Ints, n_clicked: int, sampled: bool) -> float:
    notes = draft.notes
    depth = 0.0
    for m in range(n_clicked - 1, -1, -1):
        one, other = notes[clicked[m], 0], notes[clicked[m], 1]
        depth = max(one, other) if min(one, other) == 0.0 else min(one, other)
        if depth > 0.0:
            break
    lead = 0
    for m in range(n_clicked):
        one, other = notes[clicked[m], 0], notes[clicked[m], 1]
        lead += int(0.0 < one <= depth) - int(0.0 < other <= depth)
    return 0.5 * (1 + (lead > 0) - (lead < 0))


class Balanced(Interleaver):
    """Balanced interleaving: the two lists are merged rank by rank, a coin decides which goes first.

    The two rankers are compared by how many clicks lie in their top k, where k is the depth to which both must be
    read to see the lowest click. Kept for comparison with older results: it is *not* unbiased. With the lists a b c
    and b c a, random clicks favour the second ranker; prefer team draft, probabilistic or optimised interleaving.

    Items beyond the end of the shorter list earn nobody credit.

    Examples
    --------
    >>> page = Balanced().interleave([["a", "b", "c"], ["b", "d", "a"]], length=4, seed=0)
    >>> page.items
    ('a', 'b', 'd', 'c')
    >>> page.credit([1, 0, 0, 0])
    (1.0, 0.0)

    References
    ----------
    Joachims (2003). Evaluating retrieval performance using clickthrough data. In: Text Mining.
    """

    name = "balanced"

    def draft(self, lists: Lists, n_positions: int) -> BalancedDraft:
        """The state that compiled code draws a list of up to `n_positions` items with."""
        return BalancedDraft(**blank(lists, n_positions))

    @classmethod
    def credit(cls, notes: Floats, clicked: Ints) -> Floats:
        """The clicks in each ranker's top k."""
        ranks = np.where(notes[clicked] == 0, np.inf, notes[clicked])
        depths = ranks.min(axis=1)
        counted = np.flatnonzero(np.isfinite(depths))
        depth = depths[counted[-1]] if len(counted) else 0.0
        total: Floats = (ranks <= depth).sum(axis=0).astype(np.float64)
        return total

    @classmethod
    def preference(cls, notes: Floats, clicked: Ints, left: int, right: int) -> Preference:
        """The ranker with more clicks in its top k wins."""
        credit = cls.credit(notes, clicked)
        return Preference.of_lead(credit[left] - credit[right])
