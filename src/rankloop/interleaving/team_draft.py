"""Team draft: two captains pick in turn, and each click counts for the team that picked the item."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankloop.interleaving.base import Interleaver, Preference, blank
from rankloop.interleaving.drafts import (
    NO_TEAM,
    OVER,
    STAMP,
    TAKEN,
    begin,
    draw,
    place,
    prepare,
    score_clicks,
    top_item,
)
from rankloop.interleaving.lists import Lists
from rankloop.kernels import compiled, draw_index, step
from rankloop.kernels.arrays import Floats, Ints, Ints32, Stream


class TeamDraftDraft(NamedTuple):
    """`picked[r]` says whether ranker r has had its pick in this round; `shortest` is how long the shortest list is."""

    order: Ints32
    rank: Ints32
    sizes: Ints
    shown: Ints
    counters: Ints
    top: Ints
    notes: Floats
    picked: Ints
    shortest: Ints


@step(prepare, TeamDraftDraft)
def _prepare(draft: TeamDraftDraft) -> None:
    shortest = draft.sizes[0]
    for ranker in range(len(draft.sizes)):
        shortest = min(shortest, draft.sizes[ranker])
    draft.shortest[0] = shortest


@step(begin, TeamDraftDraft)
def _begin(draft: TeamDraftDraft, rng: Stream) -> None:
    draft.counters[STAMP] += 1
    draft.counters[OVER] = 0
    draft.counters[TAKEN] = 0
    for ranker in range(len(draft.sizes)):
        draft.top[ranker] = 0
        draft.picked[ranker] = 0


@compiled
def _fewest_left(order: Ints32, shown: Ints, stamp: int, sizes: Ints, enough: int) -> int:
    """The fewest items that any ranker has left, counted no further than is enough."""
    fewest = enough
    for ranker in range(len(sizes)):
        left = 0
        for at in range(sizes[ranker]):
            left += int(shown[order[ranker, at]] != stamp)
            if left == fewest:
                break
        fewest = left
    return fewest


@step(place, TeamDraftDraft)
def _place(draft: TeamDraftDraft, k: int, item: int, team: int) -> None:
    n_rankers = len(draft.sizes)
    if draft.counters[TAKEN] == 0 and draft.shortest[0] - k < n_rankers:
        # A list may run out during this round, for one order of picking and not for another: only its first pick,
        # for which all are in the same place, can earn anything.
        left = _fewest_left(draft.order, draft.shown, draft.counters[STAMP], draft.sizes, n_rankers)
        draft.counters[OVER] = int(left < n_rankers)
        if left == 0:
            team = NO_TEAM
    draft.shown[item] = draft.counters[STAMP]
    for ranker in range(n_rankers):
        draft.notes[k, ranker] = 0.0
    if team < 0:
        draft.counters[OVER] = 1
        return
    draft.notes[k, team] = 1.0
    draft.picked[team] = 1
    draft.counters[TAKEN] += 1
    if draft.counters[TAKEN] == n_rankers:
        draft.counters[TAKEN] = 0
        for ranker in range(n_rankers):
            draft.picked[ranker] = 0


@step(draw, TeamDraftDraft)
def _draw(draft: TeamDraftDraft, rng: Stream, k: int) -> int:
    n_rankers = len(draft.sizes)
    if draft.counters[OVER] == 0:
        skip = draw_index(rng, n_rankers - draft.counters[TAKEN])
        team = 0
        for ranker in range(n_rankers):
            if draft.picked[ranker] == 0:
                if skip == 0:
                    team = ranker
                    break
                skip -= 1
        item = top_item(draft, team)
        if item >= 0:
            place(draft, k, item, team)
            return item
    start = draw_index(rng, n_rankers)  # one list has run out: the rest is shown, but earns nobody credit
    for turn in range(n_rankers):
        item = top_item(draft, (start + turn) % n_rankers)
        if item >= 0:
            place(draft, k, item, NO_TEAM)
            return item
    return -1


@step(score_clicks, TeamDraftDraft)
def _score_clicks(draft: TeamDraftDraft, clicked: Ints, n_clicked: int, sampled: bool) -> float:
    lead = 0.0
    for m in range(n_clicked):
        lead += draft.notes[clicked[m], 0] - draft.notes[clicked[m], 1]
    return 0.5 * (1 + (lead > 0) - (lead < 0))


class TeamDraft(Interleaver):
    """Team draft interleaving: in each round both rankers, in random order, add their best item not shown yet.

    The simplest sound choice for live use: every list is close to what a ranker would show, and a click counts for the
    ranker that placed the item. Under clicks that do not look at the items, both rankers earn the same. It can miss
    differences: where the rankers order the same items almost alike, each is equally often credited with both.

    Once one list may have nothing new to offer, further items earn nobody credit.

    Examples
    --------
    >>> page = TeamDraft().interleave([["a", "b", "c"], ["b", "c", "a"]], length=3, seed=2)
    >>> page.items, page.notes
    (('a', 'b', 'c'), ((1.0, 0.0), (0.0, 1.0), (1.0, 0.0)))

    References
    ----------
    Radlinski, Kurup, Joachims (2008). How does clickthrough data reflect retrieval quality? CIKM.
    """

    name = "team-draft"

    def draft(self, lists: Lists, n_positions: int) -> TeamDraftDraft:
        """The state that compiled code draws a list of up to `n_positions` items with."""
        return TeamDraftDraft(
            **blank(lists, n_positions), picked=np.zeros(len(lists.sizes), np.int64), shortest=np.zeros(1, np.int64)
        )

    @classmethod
    def preference(cls, notes: Floats, clicked: Ints, left: int, right: int) -> Preference:
        """The ranker with more clicks on the items it placed wins."""
        credit = cls.credit(notes, clicked)
        return Preference.of_lead(credit[left] - credit[right])
