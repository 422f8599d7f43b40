"""MergeDTS and MergeRUCB against the pseudo-code, and the claims made for them."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from references import merging
from scipy import stats

import rankloop as rl
from rankloop.kernels import entry
from rankloop.policies.dueling.merging import N_BATCHES, Batches, pair_batches


def coin(problem: rl.PreferenceMatrix, seed: int):
    draw = random.Random(seed)
    return lambda i, j: draw.random() < problem.preferences[i, j]


@pytest.mark.parametrize(("n_arms", "batch_size"), [(7, 4), (30, 4), (50, 8), (50, 16)])
def test_merge_rucb_matches_the_pseudo_code_step_by_step(n_arms: int, batch_size: int) -> None:
    problem = rl.PreferenceMatrix.from_utilities(np.random.default_rng(n_arms).permutation(np.linspace(0, 4, n_arms)))
    alpha, c = 0.2, 100.0
    fast = rl.MergeRUCB(n_arms, alpha=alpha, batch_size=batch_size, c=c, seed=9)
    slow = merging.MergeRUCB(n_arms, alpha, batch_size, c, seed=9)
    fast_beats, slow_beats = coin(problem, 1), coin(problem, 1)
    stages = set()
    for _ in range(20_000):
        duel = fast.duel()
        assert slow.step(slow_beats) == (duel.left, duel.right)
        if duel.left != duel.right:
            fast.update(duel, duel.left if fast_beats(duel.left, duel.right) else duel.right)
        stages.add(slow.s)
    assert len(stages) > 2, "the run must go through several stages to test them"


@pytest.mark.parametrize("warm_up", [0, 300, 3000])
def test_merge_dts_chooses_with_the_pseudo_codes_probabilities(warm_up: int) -> None:
    """At fixed counts, 20,000 choices of each form: a chi-square test, false alarms once in 10,000."""
    n_arms = 8
    problem = rl.PreferenceMatrix.like_features(n_arms, seed=3)
    slow = merging.MergeDTS(n_arms, 20.0, 8, 4e6, seed=1)  # bounds so wide that all arms stay
    beats = coin(problem, 2)
    for _ in range(warm_up):
        slow.step(beats)
    batch = slow.B[0]
    assert len(slow.B) == 1
    assert len(batch) == n_arms
    fast = rl.MergeDTS(n_arms, alpha=20.0, seed=5)
    for i in range(n_arms):
        for j in range(n_arms):
            for _ in range(slow.w[i][j]):
                fast.update(rl.Duel(i, j), winner=i)
    fast.duel()
    assert sorted(fast.batches[0]) == sorted(batch)
    table = np.zeros((2, n_arms * n_arms))
    for _ in range(20_000):
        c, d = slow.choose(batch)
        table[0, c * n_arms + d] += 1
        duel = fast.duel()
        table[1, duel.left * n_arms + duel.right] += 1
    table = table[:, table.sum(axis=0) >= 10]
    assert stats.chi2_contingency(table).pvalue > 1e-4


def test_merge_dts_has_the_pseudo_codes_regret() -> None:
    """40 runs of each form; the means differ by less than four standard errors (false alarms: 1 in 15,000)."""
    n_arms, horizon = 12, 3000
    problem = rl.PreferenceMatrix.like_features(n_arms, seed=8)
    fast = rl.simulate(
        rl.MergeDTS(n_arms, alpha=0.3, batch_size=4, c=100), problem, horizon=horizon, runs=200, checkpoints=[horizon]
    )
    slow = []
    for seed in range(40):
        reference = merging.MergeDTS(n_arms, 0.3, 4, 100, seed=seed)
        beats = coin(problem, seed)
        slow.append(sum(problem.regret(*reference.step(beats)) for _ in range(horizon)))
    error = np.hypot(np.std(slow, ddof=1) / np.sqrt(len(slow)), fast.standard_error()[-1])
    assert abs(np.mean(slow) - fast.mean()[-1]) < 4 * error


regroup = entry(pair_batches)


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
    regroup(batches)
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


@st.composite
def stages(draw: st.DrawFn, largest_batch: int) -> tuple[list[int], int]:
    """Sizes of batches, many of them too small or nearly full, and M."""
    M = draw(st.integers(2, largest_batch))
    small, full = st.integers(1, max(1, M // 2)), st.integers(M, 3 * M // 2 + 2)
    return draw(st.lists(st.one_of(small, full, st.integers(1, 3 * M // 2)), min_size=1, max_size=7)), M


@settings(max_examples=2000, deadline=None, derandomize=True)
@given(stages(largest_batch=40))
def test_a_stage_ends_with_batches_of_the_wanted_sizes(stage: tuple[list[int], int]) -> None:
    sizes, M = stage
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
    joined = [[arm for b in sorted(group) for arm in np.flatnonzero(of == b)] for group in merging.regroup(sizes, M)]
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


def test_theory_is_one_keyword_away() -> None:
    policy = rl.MergeDTS(136, alpha=1.01, batch_size=4, c=None, epsilon=0.01)
    assert len(policy.batches) == 34
    with pytest.raises(ValueError, match="alpha above 1/2"):
        rl.MergeDTS(136, c=None, epsilon=0.01)
    with pytest.raises(ValueError, match="c=None"):
        rl.MergeDTS(136, epsilon=0.01)
