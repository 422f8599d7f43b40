"""The compiled loops: one for duels and one for lists, whatever the policy and the environment."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rankloop.kernels import choose, entry, gains, inlined, learn, rare, regret, respond, settled
from rankloop.kernels.arrays import Clicks, Floats, Items, Notes, Stream

REGRET, VIOLATIONS, CLICKS, NDCG = range(4)


@entry
def run_duels(
    policy: Any, environment: Any, rng: Stream, n_steps: int, items: Items, notes: Notes, total: Floats
) -> int:
    """Play up to `n_steps` duels and add their regret to `total[0]`; return how many were played.

    They are fewer only if the policy has settled: it then repeats one duel for ever, and `total[1]` is the regret of
    each repetition. `items` and `notes` are room for those of one duel: to make arrays here takes long to compile.
    """
    for t in range(n_steps):
        choose(policy, items, notes)
        if settled(policy):
            total[1] = regret(environment, items)
            return t
        total[0] += regret(environment, items)
        learn(policy, items, notes, respond(environment, rng, items, items))
    return n_steps


@entry
def answer_duel(environment: Any, rng: Stream, items: Items) -> Any:
    """One user's answer to one duel: whether the left arm won."""
    return respond(environment, rng, items, items)


@entry
def run_lists(
    policy: Any,
    environment: Any,
    rng: Stream,
    n_steps: int,
    top: int,
    limit: float,
    items: Items,
    notes: Notes,
    clicks: Clicks,
    totals: Floats,
    room: Floats,
) -> None:
    """Show `n_steps` lists, add up their regret, violations and clicks in `totals`, and note the last one's NDCG there.

    A violation is a list with more than `limit` pairs in the wrong order; none are counted where that is infinite.
    `room` is for a number of each item, and of each that a list shows.
    """
    count_violations = limit < np.inf
    for t in range(n_steps):
        choose(policy, items, notes)
        totals[REGRET] += regret(environment, items)
        if count_violations:
            totals[VIOLATIONS] += inversions(gains(environment), items, room) > limit
        if t == n_steps - 1:
            totals[NDCG] = ndcg(gains(environment), items, top, room)
        respond(environment, rng, items, clicks)
        for k in range(len(items)):
            totals[CLICKS] += clicks[k]
        learn(policy, items, notes, clicks)


@entry
def answer_list(
    environment: Any, rng: Stream, top: int, limit: float, items: Items, clicks: Clicks, totals: Floats, room: Floats
) -> None:
    """One user's clicks on a list that a policy in Python has chosen, with the records of `run_lists`."""
    totals[REGRET] += regret(environment, items)
    if limit < np.inf:
        totals[VIOLATIONS] += inversions(gains(environment), items, room) > limit
    totals[NDCG] = ndcg(gains(environment), items, top, room)
    respond(environment, rng, items, clicks)
    for k in range(len(items)):
        totals[CLICKS] += clicks[k]


@entry
def count_inversions(environment: Any, items: Items, room: Floats) -> int:
    """How many pairs of a list stand in the wrong order, for a caller in Python."""
    return inversions(gains(environment), items, room)


@inlined
def inversions(attraction: Floats, items: Items, shown: Floats) -> int:
    """How many pairs of a list stand in the wrong order; `shown` is room for a number of each of its items.

    What is shown is gathered there first: comparisons of neighbouring numbers are then made several at a time.
    """
    for k in range(len(items)):
        shown[k] = attraction[items[k]]
    found = 0
    for k in range(1, len(items)):
        lower = shown[k]
        for j in range(k):
            found += int(lower > shown[j])
    return found


@rare
def ndcg(attraction: Floats, items: Items, top: int, taken: Floats) -> float:
    """Normalised discounted cumulative gain of the first `top` positions, the attraction being the gain.

    `taken` is room for a number of each item.
    """
    gained = 0.0
    ideal = 0.0
    for i in range(len(attraction)):
        taken[i] = 0.0
    for k in range(min(top, len(items))):
        best = -1
        for i in range(len(attraction)):
            if taken[i] == 0.0 and (best < 0 or attraction[i] > attraction[best]):
                best = i
        taken[best] = 1.0
        gained += attraction[items[k]] / math.log2(k + 2.0)
        ideal += attraction[best] / math.log2(k + 2.0)
    return gained / ideal if ideal > 0.0 else 1.0
