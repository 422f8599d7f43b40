"""The divide and conquer that MergeDTS and MergeRUCB share: batches, elimination, stages.

An arm leaves when another arm of its batch beats it beyond doubt. A batch left with one arm joins the next, and
whenever half of the arms are gone, small batches join large ones, so that each has from 0.5 M to 1.5 M arms where that
is possible, M being the size of the first batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np

from rankloop.checks import check_positive, check_whole
from rankloop.kernels.arrays import Floats, Ints, Stream
from rankloop.policies.base import new_stream, shuffled
from rankloop.policies.checks import check_kept
from rankloop.policies.dueling.base import DuelingPolicy, check_n_arms
from rankloop.policies.dueling.batches import (
    GONE,
    N_ALIVE,
    N_BATCHES,
    NOBODY,
    OBSERVED,
    SEVERAL,
    STAGE,
    TURN,
    Batches,
    bonus,
)
from rankloop.theory import merge_constant

DEFAULT_EPSILON = 0.01


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
