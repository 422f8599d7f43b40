"""The divide and conquer that MergeDTS and MergeRUCB share: batches, elimination, stages.

Arms are dealt to slots at random, and all else speaks of slots: those of a batch are neighbours at first and for the
most part later, so that its statistics lie close together in memory. An arm leaves when another arm of its batch beats
it beyond doubt. A batch left with one arm joins the next, and whenever half of the arms are gone, small batches join
large ones.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankloop.kernels import Stream, compiled, inlined
from rankloop.policies.base import new_stream, shuffled
from rankloop.policies.checks import check_positive, check_whole
from rankloop.policies.dueling.base import DuelingPolicy, check_n_arms
from rankloop.theory import merge_constant

DEFAULT_EPSILON = 0.01

N_BATCHES, N_ALIVE, STAGE, TURN, OBSERVED = range(5)

# What `rival` says of a slot besides its one opponent since the last visit to their batch:
NOBODY = -1
SEVERAL = -2
GONE = -3


class Batches(NamedTuple):
    """Batch b is `order[start[b] : start[b] + size[b]]`."""

    arm_of: npt.NDArray[np.int64]
    slot_of: npt.NDArray[np.int64]
    order: npt.NDArray[np.int64]
    start: npt.NDArray[np.int64]
    size: npt.NDArray[np.int64]
    rival: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    alpha: float
    bonus_start: float
    largest_union: float


class _MergePolicy(DuelingPolicy):
    """What is public of a policy that eliminates arms batch by batch."""

    def __init__(
        self, n_arms: int, alpha: float, batch_size: int, c: float | None, epsilon: float | None, seed: int | None
    ) -> None:
        self.n_arms = check_n_arms(n_arms)
        self.alpha = check_positive("alpha", alpha)
        self.batch_size = check_whole("batch_size", batch_size, 2)
        if c is not None and epsilon is not None:
            raise ValueError(f"epsilon = {epsilon!r} needs c=None: c is either computed from epsilon or given")
        self.c = None if c is None else check_positive("c", c)
        self.epsilon = epsilon
        if self.c is not None:
            bonus_start = self.c
        else:
            bonus_start = merge_constant(alpha, n_arms, DEFAULT_EPSILON if epsilon is None else epsilon)
        self._rng: Stream = new_stream(seed)
        arm_of = shuffled(self._rng, self.n_arms)
        start = np.arange(0, self.n_arms, self.batch_size)
        self._batches = Batches(
            arm_of=arm_of,
            slot_of=np.argsort(arm_of),
            order=np.arange(self.n_arms),
            start=start,
            size=np.minimum(self.batch_size, self.n_arms - start),
            rival=np.full(self.n_arms, NOBODY),
            counts=np.array([len(start), self.n_arms, 1, 0, 0]),
            alpha=self.alpha,
            bonus_start=bonus_start,
            largest_union=1.5 * self.batch_size,
        )

    @property
    def batches(self) -> list[list[int]]:
        """The surviving arms, batch by batch."""
        return [self._batches.arm_of[slots].tolist() for slots in self._slots()]

    def _slots(self) -> list[npt.NDArray[np.int64]]:
        order, start, size, counts = self._batches.order, self._batches.start, self._batches.size, self._batches.counts
        return [order[start[b] : start[b] + size[b]] for b in range(counts[N_BATCHES])]

    @property
    def survivors(self) -> list[int]:
        """All arms not eliminated, in ascending order."""
        return sorted(arm for batch in self.batches for arm in batch)

    @property
    def best(self) -> int:
        """The survivor that leads against the largest share of its batch so far, then by the largest margin."""
        wins = self.state.wins

        def standing(slot: int, batch: npt.NDArray[np.int64]) -> tuple[float, int]:
            lead = wins[slot, batch] - wins[batch, slot]
            return float(np.sign(lead).sum()) / len(batch), int(lead.sum())

        standings = {slot: standing(slot, batch) for batch in self._slots() for slot in batch.tolist()}
        return int(self._batches.arm_of[max(standings, key=lambda slot: standings[slot])])

    @property
    def winner(self) -> int | None:
        """The last arm left, once all others are eliminated."""
        survivors = self.survivors
        return survivors[0] if len(survivors) == 1 else None

    def eliminated(self, arm: int) -> bool:
        """Whether the arm has lost to another beyond doubt."""
        self._check_arm("arm", arm)
        return bool(self._batches.rival[self._batches.slot_of[arm]] == GONE)


@inlined
def next_batch(batches: Any, wins: Any) -> int:
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
def bonus(batches: Any) -> float:
    """alpha log(t + C), of which the confidence bounds are made."""
    return batches.alpha * math.log(batches.counts[OBSERVED] + 1.0 + batches.bonus_start)


@inlined
def purge(batches: Any, wins: Any, b: int) -> None:
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
def loses(wins: Any, slot: int, rival: int, level: float) -> bool:
    """Whether even the optimistic estimate says that the slot loses to the rival more often than not."""
    duels = wins[slot, rival] + wins[rival, slot]
    return duels > 0 and wins[slot, rival] / duels + math.sqrt(level / duels) < 0.5


@inlined
def note_rivalry(batches: Any, one: int, other: int) -> None:
    """Remember that the pair's bounds are to be looked at on the next visit to its batch."""
    rival = batches.rival
    batches.counts[OBSERVED] += 1
    if rival[one] != GONE and rival[other] != GONE:
        rival[one] = other if rival[one] == NOBODY or rival[one] == other else SEVERAL
        rival[other] = one if rival[other] == NOBODY or rival[other] == one else SEVERAL


@compiled
def join_next(batches: Any, b: int) -> int:
    """Join a batch with the one after it (the last with the first); return the index of the union."""
    n_batches = batches.counts[N_BATCHES]
    following = (b + 1) % n_batches
    kept, gone = min(b, following), max(b, following)
    union = np.empty(n_batches, np.int64)
    for i in range(n_batches):
        union[i] = kept if i == gone else i - 1 if i > gone else i
    rearrange(batches, union)
    return kept


@compiled
def pair_batches(batches: Any) -> None:
    """Join the smallest batch with the largest, the next smallest with the next largest, and so on.

    Unions that would be too large are not made.
    """
    size = batches.size
    n_batches = batches.counts[N_BATCHES]
    by_size = np.empty(n_batches, np.int64)
    for i in range(n_batches):  # insertion sort: NumPy's takes seconds to compile
        k = i
        while k > 0 and size[by_size[k - 1]] > size[i]:
            by_size[k] = by_size[k - 1]
            k -= 1
        by_size[k] = i
    union = np.empty(n_batches, np.int64)
    n_unions = 0
    for i in range((n_batches + 1) // 2):
        small, large = by_size[i], by_size[n_batches - 1 - i]
        union[small] = n_unions
        if small != large and size[small] + size[large] > batches.largest_union:
            n_unions += 1
        union[large] = n_unions
        n_unions += 1
    rearrange(batches, union)


@compiled
def rearrange(batches: Any, union: Any) -> None:
    """Lay the batches out anew: batch i becomes part of batch union[i]."""
    n_batches = len(union)
    order, start, size = batches.order.copy(), batches.start.copy(), batches.size.copy()
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
