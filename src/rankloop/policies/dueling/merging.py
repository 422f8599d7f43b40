"""The divide and conquer that MergeDTS and MergeRUCB share: batches, elimination, stages.

Arms are dealt to slots at random, and all else speaks of slots: those of a batch are neighbours at first and for the
most part later, so that its statistics lie close together in memory. An arm leaves when another arm of its batch beats
it beyond doubt. A batch left with one arm joins the next, and whenever half of the arms are gone, small batches join
large ones, so that each has from 0.5 M to 1.5 M arms where that is possible, M being the size of the first batches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, NamedTuple, Self

import numpy as np

from rankloop.checks import check_positive, check_whole
from rankloop.kernels import inlined, rare
from rankloop.kernels.arrays import Floats, Ints, Stream
from rankloop.policies.base import new_stream, shuffled
from rankloop.policies.checks import check_kept
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


class _MergePolicy(DuelingPolicy):
    """What is public of a policy that eliminates arms batch by batch."""

    _of_pairs: ClassVar[tuple[str, ...]] = ("wins",)
    """Fields of the state that have one entry for each pair of slots."""

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
            smallest=0.5 * self.batch_size,
            largest=1.5 * self.batch_size,
        )

    def relisted(self, kept: Sequence[int | None]) -> Self:
        """The policy over another set of arms, with all duels between those that stay.

        Survivors stay in their batches. Arms that join form batches of their own; where that makes too many, the
        smallest are joined. An arm that was eliminated stays so only where an arm that stays is proof of it: what was
        lost to one that leaves is open again.

        Parameters
        ----------
        kept
            Former number of each arm; None for an arm that joins.
        """
        numbers = check_kept(kept, self.n_arms)
        given = {**self.parameters, "n_arms": len(numbers)}
        policy = type(self)(**given)
        policy.identity = self.identity
        policy.state.rng[:] = self.state.rng
        policy._take_over(self, numbers)
        return policy

    def _take_over(self, before: Self, kept: Sequence[int | None]) -> None:
        old, new = before._batches, self._batches
        n = self.n_arms
        new.arm_of[:] = new.slot_of[:] = np.arange(n)
        stays = [arm for arm in range(n) if kept[arm] is not None]
        theirs = old.slot_of[np.array([kept[arm] for arm in stays], np.int64)]
        for name in self._of_pairs:
            getattr(self.state, name)[np.ix_(stays, stays)] = getattr(before.state, name)[np.ix_(theirs, theirs)]
        new.counts[[TURN, OBSERVED]] = old.counts[[TURN, OBSERVED]]
        number = {slot: arm for arm, slot in zip(stays, theirs.tolist(), strict=True)}
        groups = [[number[slot] for slot in slots.tolist() if slot in number] for slots in before._slots()]
        alive = {arm for group in groups for arm in group}
        back = [
            arm
            for arm, slot in zip(stays, theirs.tolist(), strict=True)
            if arm not in alive and not before._has_lost_to_one_of(slot, theirs)
        ]
        joining = [arm for arm in range(n) if kept[arm] is None] + back
        groups += [joining[i : i + self.batch_size] for i in range(0, len(joining), self.batch_size)]
        groups = sorted((group for group in groups if group), key=len)
        while len(groups) > len(new.start):  # there is room for as many batches as a new policy has
            groups = sorted([groups[0] + groups[1], *groups[2:]], key=len)
        order = [arm for group in groups for arm in group]
        new.rival[:] = GONE
        new.rival[order] = SEVERAL  # who was beaten meanwhile, or is by today's bounds, leaves on the next visit
        new.order[: len(order)] = order
        new.start[: len(groups)] = np.cumsum([0, *map(len, groups)])[:-1]
        new.size[: len(groups)] = list(map(len, groups))
        stage = 1
        while len(order) << stage <= n:
            stage += 1
        new.counts[[N_BATCHES, N_ALIVE, STAGE]] = len(groups), len(order), stage

    @property
    def n_decisions(self) -> int:
        """How many arms have been eliminated."""
        return self.n_arms - int(self._batches.counts[N_ALIVE])

    @property
    def lost(self) -> list[int]:
        """The arms that have been eliminated, in ascending order."""
        return np.sort(self._batches.arm_of[self._batches.rival == GONE]).tolist()

    def beaten_by(self, arm: int) -> int:
        """The arm against which another looks worst: for one that was eliminated, the proof of it."""
        self._check_arm("arm", arm)
        return int(self._batches.arm_of[np.nanargmin(self._optimistic(int(self._batches.slot_of[arm])))])

    def _optimistic(self, slot: int) -> Floats:
        """Upper bounds of how often a slot wins against each other one; those that it has never met have none."""
        wins = self.state.wins
        won, lost = wins[slot].astype(np.float64), wins[:, slot].astype(np.float64)
        duels = np.where(won + lost > 0, won + lost, np.nan)
        return np.asarray(won / duels + np.sqrt(bonus(self._batches) / duels))

    def _has_lost_to_one_of(self, slot: int, rivals: Ints) -> bool:
        """Whether one of these rivals is proof that a slot was eliminated with good reason.

        The rival against whom it looks worst is: bounds widen with time, so that those of today need not say so any
        more. So is any against whom it loses by the bounds of today.
        """
        optimistic = self._optimistic(slot)
        return bool(np.nanmin(optimistic[rivals], initial=1.0) <= max(0.5, np.nanmin(optimistic, initial=1.0)))

    @property
    def batches(self) -> list[list[int]]:
        """The surviving arms, batch by batch."""
        return [self._batches.arm_of[slots].tolist() for slots in self._slots()]

    def _slots(self) -> list[Ints]:
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

        def standing(slot: int, batch: Ints) -> tuple[float, int]:
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
