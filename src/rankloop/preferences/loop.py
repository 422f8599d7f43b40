"""The compiled loop: two rankers compared on simulated users, one query after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankloop.click_models.users import clicks_on, stops_after
from rankloop.interleaving import begin, draw, place, prepare, score_clicks
from rankloop.kernels import compiled, draw_index, entry
from rankloop.kernels.arrays import Array, Floats, Ints, Ints32, Stream

COUNT, SUM, SQUARES = range(3)

MARGINAL, SAMPLED, BINARY = range(3)
"""How a clicked list is scored."""
ROUNDING = 1e-9
"""A lead smaller than this is none."""


@compiled
def _shuffle_ties(
    rng: Stream, order: Ints32, rank: Ints32, tied_until: Array, left: int, right: int, start: int, n_items: int
) -> None:
    """Put documents that a ranker ties into random order, for both rankers."""
    for ranker in range(2):
        row = left if ranker == 0 else right
        at = 0
        while at < n_items:
            end = int(tied_until[row, start + at])
            for last in range(end - 1, at, -1):
                other = at + draw_index(rng, last - at + 1)
                item = order[ranker, last]
                order[ranker, last] = order[ranker, other]
                order[ranker, other] = item
                rank[ranker, item] = other
                rank[ranker, order[ranker, last]] = last
            at = end


@entry
def compare_rankers(
    draft: Any,
    credit: Any,
    rng: Stream,
    order: Array,
    rank: Array,
    tied_until: Array,
    left: int,
    right: int,
    labels: Array,
    offsets: Ints,
    deal: Ints,
    click: Floats,
    stop: Floats,
    rule: int,
    tally: Floats,
) -> None:
    """Compare two rankers deal[q] times on each query q, and add count, sum and squares of the scores to tally[q].

    A list is drawn only as far as its reader gets, which changes nothing: what nobody reads nobody clicks. Credit is
    that of the draft which drew the list, unless there is another, `credit`: ties are then broken anew for each list,
    and once more in that draft, which scores it. Numba drops what is for the other case.
    """
    n_positions = len(draft.notes)
    clicked = np.zeros(n_positions, np.int64)
    for query in range(len(deal)):
        if deal[query] == 0:
            continue
        start = offsets[query]
        n_items = offsets[query + 1] - start
        draft.sizes[0] = n_items
        draft.sizes[1] = n_items
        for at in range(n_items):
            draft.order[0, at] = order[left, start + at]
            draft.order[1, at] = order[right, start + at]
            draft.rank[0, at] = rank[left, start + at]
            draft.rank[1, at] = rank[right, start + at]
        prepare(draft)
        if credit is not None:
            for ranker in range(2):
                credit.sizes[ranker] = n_items
                for at in range(n_items):
                    credit.order[ranker, at] = draft.order[ranker, at]
                    credit.rank[ranker, at] = draft.rank[ranker, at]
            prepare(credit)
        total = 0.0
        squares = 0.0
        for _ in range(deal[query]):
            if credit is not None:
                _shuffle_ties(rng, draft.order, draft.rank, tied_until, left, right, start, n_items)
                _shuffle_ties(rng, credit.order, credit.rank, tied_until, left, right, start, n_items)
                begin(credit, rng)
            begin(draft, rng)
            n_clicked = 0
            for k in range(n_positions):
                item = draw(draft, rng, k)
                if item < 0:
                    break
                if credit is not None:
                    place(credit, k, item, 0)  # whoever drew it: expected credit does not ask
                grade = labels[start + item]
                if clicks_on(rng, click, grade):
                    clicked[n_clicked] = k
                    n_clicked += 1
                    if stops_after(rng, stop, grade):
                        break
            if credit is None:
                score = score_clicks(draft, clicked, n_clicked, rule == SAMPLED)
            else:
                score = score_clicks(credit, clicked, n_clicked, False)
            if rule == BINARY:
                score = 0.5 * (1 + (score > 0.5 + ROUNDING) - (score < 0.5 - ROUNDING))
            total += score
            squares += score * score
        tally[query, COUNT] += deal[query]
        tally[query, SUM] += total
        tally[query, SQUARES] += squares
