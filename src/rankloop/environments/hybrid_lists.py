"""Searching for good lists under the hybrid cascade model, compiled.

The model is given as sparse arrays: `relevant` is what relevance adds to the attraction of each item; the topics of
item a stand from `begin[a]` to `begin[a + 1]` in `topic`, each with how much of it is covered and what that is worth.
"""

from __future__ import annotations

import numpy as np

from rankloop.kernels import entry, inlined
from rankloop.kernels.arrays import Floats, Ints


@inlined
def _score(relevant: Floats, begin: Ints, topic: Ints, worth: Floats, uncovered: Floats, item: int) -> float:
    score = relevant[item]
    for s in range(begin[item], begin[item + 1]):
        score += worth[s] * uncovered[topic[s]]
    return score


@entry
def find_greedy_list(
    relevant: Floats, begin: Ints, topic: Ints, coverage: Floats, worth: Floats, uncovered: Floats, left: Ints,
    ranking: Ints, rewards: Floats,
) -> None:  # fmt: skip
    """Write the greedy list that has room in `ranking`, and the reward after each of its items; `left` holds all items.

    To make arrays here would take longer to compile than all the rest.
    """
    n_items = len(left)
    unclicked = 1.0
    for k in range(len(rewards)):
        best = 0
        highest = -np.inf
        for i in range(n_items - k):
            score = _score(relevant, begin, topic, worth, uncovered, left[i])
            if score > highest or (score == highest and left[i] < left[best]):
                highest = score
                best = i
        item = left[best]
        left[best] = left[n_items - k - 1]
        for s in range(begin[item], begin[item + 1]):
            uncovered[topic[s]] *= 1.0 - coverage[s]
        ranking[k] = item
        unclicked *= 1.0 - min(max(highest, 0.0), 1.0)
        rewards[k] = 1.0 - unclicked


@entry
def find_best_list(
    relevant: Floats, begin: Ints, topic: Ints, coverage: Floats, worth: Floats, uncovered: Floats, n: int
) -> Ints:
    """The best of all lists of `n` items, the first of them in lexicographic order; `uncovered` has n + 1 rows."""
    n_items = len(relevant)
    ranking = np.full(n, -1)
    best = np.zeros(n, np.int64)
    unclicked = np.ones(n + 1)
    taken = np.zeros(n_items, np.bool_)
    least = np.inf
    k = 0
    while k >= 0:
        if ranking[k] >= 0:
            taken[ranking[k]] = False
        item = ranking[k] + 1
        while item < n_items and taken[item]:
            item += 1
        if item == n_items:
            ranking[k] = -1
            k -= 1
            continue
        ranking[k] = item
        score = _score(relevant, begin, topic, worth, uncovered[k], item)
        unclicked[k + 1] = unclicked[k] * (1.0 - min(max(score, 0.0), 1.0))
        if k == n - 1:
            if unclicked[n] < least:
                least = unclicked[n]
                for j in range(n):
                    best[j] = ranking[j]
            continue
        taken[item] = True
        for j in range(uncovered.shape[1]):
            uncovered[k + 1, j] = uncovered[k, j]
        for s in range(begin[item], begin[item + 1]):
            uncovered[k + 1, topic[s]] *= 1.0 - coverage[s]
        k += 1
    return best
