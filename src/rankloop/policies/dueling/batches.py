"""Batches of arms, from which arms are eliminated and which join each other, as compiled code works on them.

Arms are dealt to slots at random, and all else speaks of slots: those of a batch are neighbours at first and for the
most part later, so that its statistics lie close together in memory.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rankloop.kernels import inlined, rare
from rankloop.kernels.arrays import Ints

N_BATCHES, N_ALIVE, STAGE, TURN, OBSERVED = range(5)

# What `rival` says of a slot besides its one opponent since the last visit to their batch:
NOBODY = -1
SEVERAL = -2
GONE = -3


class Batches(NamedTuple):
    """Batch b is `order[start[b] : start[b] + size[b]]`."""

    arm_of: Ints
    slot_of: Ints
    order: Ints
    start: Ints
    size: Ints
    rival: Ints
    counts: Ints
    alpha: float
    bonus_start: float
    smallest: float  # 0.5 M
    largest: float  # 1.5 M


@inlined
def next_batch(batches: Batches, wins: Ints) -> int:
    """Begin a step: enter the next stage if due, purge the batch whose turn it is, and return its index."""
    counts = batches.counts
    counts[TURN] += 1
    if counts[N_ALIVE] << counts[STAGE] <= len(batches.rival):
        pair_batches(batches)
        counts[STAGE] += 1
    b = counts[TURN] % counts[N_BATCHES]
    purge(batches, wins, b)
    if batches.size[b] == 1 and counts[N_BATCHES] > 1:
        return join_next(batches, b)
    return b


@inlined
def bonus(batches: Batches) -> float:
    """alpha log(t + C), of which the confidence bounds are made."""
    return batches.alpha * math.log(batches.counts[OBSERVED] + 1.0 + batches.bonus_start)


@inlined
def purge(batches: Batches, wins: Ints, b: int) -> None:
    """Remove the arms of a batch that another of its arms beats beyond doubt.

    The bounds widen with time, so only a pair that has duelled since the last visit can have become decided.
    """
    order, rival = batches.order, batches.rival
    start = batches.start[b]
    k = start
    while k < start + batches.size[b]:
        slot = order[k]
        beaten = False
        if rival[slot] != NOBODY:
            level = bonus(batches)
            for other in range(start, start + batches.size[b]):
                if rival[slot] == order[other] or rival[slot] == SEVERAL:
                    beaten = beaten or loses(wins, slot, order[other], level)
            rival[slot] = NOBODY
        if beaten:
            rival[slot] = GONE
            batches.size[b] -= 1
            batches.counts[N_ALIVE] -= 1
            for later in range(k, start + batches.size[b]):
                order[later] = order[later + 1]
        else:
            k += 1


@inlined
def loses(wins: Ints, slot: int, rival: int, level: float) -> bool:
    """Whether even the optimistic estimate says that the slot loses to the rival more often than not."""
    duels = wins[slot, rival] + wins[rival, slot]
    return duels > 0 and wins[slot, rival] / duels + math.sqrt(level / duels) < 0.5


@inlined
def note_rivalry(batches: Batches, one: int, other: int) -> None:
    """Remember that the pair's bounds are to be looked at on the next visit to its batch."""
    rival = batches.rival
    batches.counts[OBSERVED] += 1
    if rival[one] != GONE and rival[other] != GONE:
        rival[one] = other if rival[one] == NOBODY or rival[one] == other else SEVERAL
        rival[other] = one if rival[other] == NOBODY or rival[other] == one else SEVERAL


@rare
def join_next(batches: Batches, b: int) -> int:
    """Join a batch with the one after it (the last with the first); return the index of the union."""
    n_batches = batches.counts[N_BATCHES]
    following = (b + 1) % n_batches
    kept, gone = min(b, following), max(b, following)
    union = np.empty(n_batches, np.int64)
    for i in range(n_batches):
        union[i] = kept if i == gone else i - 1 if i > gone else i
    rearrange(batches, union)
    return kept


@rare
def pair_batches(batches: Batches) -> None:
    """Join the smallest batch with the largest, the next smallest with the next largest, and so on.

    A union of more than 1.5 M arms is not made. If this leaves a batch of fewer than 0.5 M, the batches that were so
    small before are joined first, by `join_small`, and then all are paired.
    """
    n_batches = batches.counts[N_BATCHES]
    union = np.arange(n_batches)
    total = np.asarray(batches.size)[:n_batches].copy()
    pair(union, total, batches.largest)
    for u in range(n_batches):
        if 0 < total[u] < batches.smallest:
            for i in range(n_batches):
                union[i] = i
                total[i] = batches.size[i]
            join_small(union, total, batches.smallest, batches.largest)
            pair(union, total, batches.largest)
            break
    rearrange(batches, union)


@rare
def pair(union: Ints, total: Ints, largest: float) -> None:
    """Pair the unions so far, total[u] being the arms of union u, and number what comes out anew."""
    old = total.copy()
    by_size = ascending(old)
    first = 0
    while old[by_size[first]] == 0:
        first += 1
    last = len(old) - 1
    number = np.zeros(len(old), np.int64)
    total[:] = 0
    n_unions = 0
    while first <= last:
        small, large = by_size[first], by_size[last]
        number[small] = n_unions
        if first != last and old[small] + old[large] > largest:
            n_unions += 1
        number[large] = n_unions
        n_unions += 1
        first += 1
        last -= 1
    for u in range(len(old)):
        total[number[u]] += old[u]
        union[u] = number[union[u]]


@rare
def join_small(union: Ints, total: Ints, smallest: float, largest: float) -> None:
    """Join batches of fewer than `smallest` = 0.5 M arms, so that none is left where that is possible.

    If they have 0.5 M together, they join each other: fewer than M, or 1.5 M with a rest that cannot stand alone. If
    they have not, each must join a larger batch. The largest goes first, and each joins the largest batch with room
    for it; those for which there is none become one batch, which stays too small. Some other distribution might have
    had room for all, but not where M is 18 or less; to find it is as hard as packing bins.
    """
    by_size = ascending(total)
    n_small = 0
    rest = 0
    while n_small < len(total) and total[by_size[n_small]] < smallest:
        rest += total[by_size[n_small]]
        n_small += 1
    among_themselves = rest >= smallest
    gathered = -1  # a batch made of small ones only
    for k in range(n_small - 1, -1, -1):
        b = by_size[k]
        host = -1
        if among_themselves:
            if gathered >= 0 and (total[gathered] < smallest or rest < smallest):
                host = gathered
        else:
            for i in range(len(total)):
                stands = total[i] >= smallest or i == gathered
                if stands and total[i] + total[b] <= largest and (host < 0 or total[i] > total[host]):
                    host = i
        rest -= total[b]
        if host < 0:
            gathered = b
        else:
            union[b] = host
            total[host] += total[b]
            total[b] = 0


@rare
def ascending(values: Ints) -> Ints:
    """The indices of the values from the smallest up: an insertion sort, since NumPy's takes seconds to compile."""
    order = np.empty(len(values), np.int64)
    for i in range(len(values)):
        k = i
        while k > 0 and values[order[k - 1]] > values[i]:
            order[k] = order[k - 1]
            k -= 1
        order[k] = i
    return order


@rare
def rearrange(batches: Batches, union: Ints) -> None:
    """Lay the batches out anew: batch i becomes part of batch union[i]."""
    n_batches = len(union)
    order, start = np.asarray(batches.order).copy(), np.asarray(batches.start).copy()
    size = np.asarray(batches.size).copy()
    end = 0
    u = 0
    while end < batches.counts[N_ALIVE]:
        batches.start[u] = end
        for i in range(n_batches):
            if union[i] == u:
                for k in range(start[i], start[i] + size[i]):
                    batches.order[end] = order[k]
                    end += 1
        batches.size[u] = end - batches.start[u]
        u += 1
    batches.counts[N_BATCHES] = u
