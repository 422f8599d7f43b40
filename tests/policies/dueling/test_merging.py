"""What MergeDTS and MergeRUCB share: batches, stages and elimination."""

from __future__ import annotations

import random

import numpy as np
import pytest
from references.merging import coin, regroup

import rankloop as rl
from rankloop.kernels import entry
from rankloop.policies.dueling.batches import N_BATCHES, Batches, pair_batches

pair = entry(pair_batches)


def regrouped(sizes: list[int], M: int) -> list[list[int]]:
    """The batches after a stage that ends with batches of these sizes, as lists of arms numbered in their order."""
    K = sum(sizes)
    batches = Batches(
        arm_of=np.arange(K),
        slot_of=np.arange(K),
        order=np.arange(K),
        start=np.cumsum([0, *sizes[:-1]]),
        size=np.array(sizes),
        rival=np.full(K, -1),
        counts=np.array([len(sizes), K, 1, 0, 0]),
        alpha=1.0,
        bonus_start=1.0,
        smallest=0.5 * M,
        largest=1.5 * M,
    )
    pair(batches)
    n_batches = batches.counts[N_BATCHES]
    return [
        batches.order[start : start + size].tolist()
        for start, size in zip(batches.start[:n_batches], batches.size[:n_batches], strict=True)
    ]


def possible(sizes: list[int], M: int) -> bool:
    """Whether some unions of whole batches, any number in each, all have from 0.5 M to 1.5 M arms."""

    def place(k: int, totals: list[int]) -> bool:
        if k == len(sizes):
            return min(totals, default=M) >= 0.5 * M
        if sizes[k] > 1.5 * M:  # grew too large before, and stays as it is
            return place(k + 1, totals)
        for g, total in enumerate(totals):
            if total + sizes[k] <= 1.5 * M and place(k + 1, [*totals[:g], total + sizes[k], *totals[g + 1 :]]):
                return True
        return place(k + 1, [*totals, sizes[k]])

    return place(0, [])


def random_stage(draw: random.Random, largest_batch: int) -> tuple[list[int], int]:
    """Sizes of batches, many of them too small or nearly full, and M."""
    M = draw.randint(2, largest_batch)
    small, full, any_size = (1, max(1, M // 2)), (M, 3 * M // 2 + 2), (1, 3 * M // 2)
    return [draw.randint(*draw.choice((small, full, any_size))) for _ in range(draw.randint(1, 7))], M


def test_a_stage_ends_with_batches_of_the_wanted_sizes() -> None:
    draw = random.Random(0)
    for _ in range(3000):
        check_stage(*random_stage(draw, largest_batch=draw.choice((6, 18, 40))))


def check_stage(sizes: list[int], M: int) -> None:
    batches = regrouped(sizes, M)
    of = np.repeat(np.arange(len(sizes)), sizes)
    assert sorted(arm for batch in batches for arm in batch) == list(range(sum(sizes)))
    for batch in batches:
        parts = {of[arm] for arm in batch}
        assert len(batch) == sum(sizes[b] for b in parts), "batches are joined whole"
        assert len(batch) <= 1.5 * M or len(parts) == 1
    too_small = sum(len(batch) < 0.5 * M for batch in batches)
    assert too_small <= 1
    if M <= 18:
        assert bool(too_small) != possible(sizes, M)
    joined = [[arm for b in sorted(group) for arm in np.flatnonzero(of == b)] for group in regroup(sizes, M)]
    assert batches == joined


@pytest.mark.parametrize(
    ("sizes", "after"),
    [
        ([9, 10, 11, 12], [21, 21]),
        ([2, 2, 16, 24], [20, 24]),
        ([6, 6, 18, 22], [12, 18, 22]),
        ([20, 2, 2, 2, 22], [24, 24]),
        ([14, 4, 7], [11, 14]),
        ([7, 20], [7, 20]),
        ([2, 2, 2], [6]),
        ([2, 26], [2, 26]),
    ],
    ids=str,
)
def test_examples_of_stages_with_batches_of_16(sizes: list[int], after: list[int]) -> None:
    assert sorted(map(len, regrouped(sizes, 16))) == after


@pytest.mark.parametrize("policy", [rl.MergeDTS, rl.MergeRUCB])
def test_a_single_arm_left_over_at_the_start_joins_a_batch(policy) -> None:
    bandit = policy(33, batch_size=16, seed=0)
    assert list(map(len, bandit.batches)) == [16, 16, 1]
    for _ in range(3):
        duel = bandit.duel()
        assert duel.left != duel.right
    assert sorted(map(len, bandit.batches)) == [16, 17]


@pytest.mark.parametrize("policy", [rl.MergeDTS, rl.MergeRUCB])
def test_survivors_shrink_to_the_winner(policy) -> None:
    problem = rl.PreferenceMatrix.from_utilities(np.linspace(0, 3, 40))
    bandit = policy(40, seed=1)
    beats = coin(problem, 1)
    before = 40
    for _ in range(40_000):
        duel = bandit.duel()
        bandit.update(duel, duel.left if beats(duel.left, duel.right) else duel.right)
        assert len(bandit.survivors) <= before
        before = len(bandit.survivors)
        assert sorted(arm for batch in bandit.batches for arm in batch) == bandit.survivors
        if bandit.winner is not None:
            break
    assert bandit.winner == bandit.best == 39
    assert bandit.duel() == rl.Duel(39, 39)


def test_a_cycle_never_empties_a_batch() -> None:
    """Late feedback can show at once that each of three arms loses to another: one must stay."""
    for policy in (rl.MergeDTS(3, alpha=0.1, c=1, seed=0), rl.MergeRUCB(3, alpha=0.1, c=1, seed=0)):
        for winner, loser in ((0, 1), (1, 2), (2, 0)):
            for _ in range(100):
                policy.update(rl.Duel(winner, loser), winner=winner)
        policy.duel()
        assert len(policy.survivors) >= 1
