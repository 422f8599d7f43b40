"""The compiled loop: two rankers compared on simulated users, one query after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankloop.click_models.users import clicks_on, stops_after
from rankloop.interleaving import begin, draw, judge, prepare
from rankloop.kernels import entry

COUNT, SUM, SQUARES = range(3)


@entry
def compare(
    draft: Any,
    rng: Any,
    order: Any,
    rank: Any,
    left: int,
    right: int,
    labels: Any,
    offsets: Any,
    deal: Any,
    click: Any,
    stop: Any,
    sampled: bool,
    tally: Any,
) -> None:
    """Compare two rankers deal[q] times on each query q, and add count, sum and squares of the scores to tally[q].

    A list is drawn only as far as its reader gets, which changes nothing: what nobody reads nobody clicks.
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
        total = 0.0
        squares = 0.0
        for _ in range(deal[query]):
            begin(draft, rng)
            n_clicked = 0
            for k in range(n_positions):
                item = draw(draft, rng, k)
                if item < 0:
                    break
                grade = labels[start + item]
                if clicks_on(rng, click, grade):
                    clicked[n_clicked] = k
                    n_clicked += 1
                    if stops_after(rng, stop, grade):
                        break
            score = judge(draft, clicked, n_clicked, sampled)
            total += score
            squares += score * score
        tally[query, COUNT] += deal[query]
        tally[query, SUM] += total
        tally[query, SQUARES] += squares
