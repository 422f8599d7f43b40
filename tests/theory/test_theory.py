"""Bounds against values worked out by hand, against each other, and against regret that was measured."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import rankloop as rl
from rankloop import theory
from rankloop.kernels import stream
from rankloop.simulation.loop import run_duels

THREE = [[0.5, 0.6, 0.51], [0.4, 0.5, 0.9], [0.49, 0.1, 0.5]]
"""The last arm nearly draws with the winner, and loses clearly to the second."""


# By hand


def test_merge_dts_bound_by_hand() -> None:
    # C(0.01) = 3 * 16 / 0.01 = 4800 at alpha = 1
    assert theory.merge_constant(1.0, 4, 0.01) == pytest.approx(4800)
    bound = theory.merge_dts_bound(10_000, n_arms=4, gap=0.25, alpha=1.0, epsilon=0.01)
    assert bound == pytest.approx(8 * 4 * 4 * math.log(14_800) / 0.0625)
    expected = theory.merge_dts_expected_bound(100, n_arms=4, gap=0.25, alpha=1.0)
    assert expected == pytest.approx(1 + 8 * 4 * 4 * math.log(100 + 4800) / 0.0625)


@pytest.mark.parametrize(("alpha", "gap", "epsilon"), [(1.0, 0.25, 0.01), (0.6, 0.05, 0.5), (3.0, 0.5, 1e-6)])
def test_lemma_2_1_is_where_twice_the_width_falls_to_the_gap(alpha: float, gap: float, epsilon: float) -> None:
    """The number of comparisons n with 2 sqrt(alpha ln(T + C) / n) = gap, found by halving an interval."""
    steps, arms = 5000, 7
    constant = ((4 * alpha - 1) * arms**2 / ((2 * alpha - 1) * epsilon)) ** (1 / (2 * alpha - 1))
    low, high = 1.0, 1e9
    for _ in range(200):
        n = (low + high) / 2
        low, high = (n, high) if 2 * math.sqrt(alpha * math.log(steps + constant) / n) > gap else (low, n)
    bound = theory.merge_comparisons_bound(steps, n_arms=arms, gap=gap, alpha=alpha, epsilon=epsilon)
    assert float(bound) == pytest.approx(low, rel=1e-9)
    regret = theory.merge_dts_bound(steps, n_arms=arms, gap=gap, alpha=alpha, batch_size=5, epsilon=epsilon)
    assert float(regret) == pytest.approx(2 * 5 * arms * low, rel=1e-9)


def test_dueling_lower_bound_takes_the_cheapest_opponent() -> None:
    def divergence(p: float) -> float:
        return p * math.log(2 * p) + (1 - p) * math.log(2 * (1 - p))

    second = 0.1 / 2 / divergence(0.4)
    third = (0.01 + 0.1) / 2 / divergence(0.1)
    assert third < 0.01 / 2 / divergence(0.49), "the winner is a dear opponent for it"
    assert theory.dueling_lower_bound(math.e, THREE) == pytest.approx(second + third)
    assert theory.dueling_lower_bound(1, THREE) == 0


def test_a_draw_between_losers_and_a_certain_win_are_fine() -> None:
    table = [[0.5, 1.0, 1.0], [0.0, 0.5, 0.5], [0.0, 0.5, 0.5]]
    assert theory.dueling_lower_bound(math.e, table) == pytest.approx(2 * 0.25 / math.log(2))
    assert theory.smallest_gap(table) == 0.5


def test_bubble_rank_bound_and_safety_by_hand() -> None:
    given: dict[str, Any] = {"n_items": 5, "initial_inversions": 3, "gap": 0.1, "chi_min": 0.25, "chi_max": 0.5}
    hardness = 180 * 5 * 2 * (4 + 6) / 0.1
    assert theory.bubble_rank_bound(100, **given) == pytest.approx(hardness * 4 * math.log(100) + 125)
    with_delta = theory.bubble_rank_bound(100, **given, delta=1e-6)
    assert with_delta == pytest.approx(hardness * math.log(1e6) + 1e-3 * 125 * 100**2)
    assert theory.safety_probability(100, n_items=5) == pytest.approx(0.75)
    assert theory.safety_probability(100, n_items=5, delta=1e-6) == 0
    assert theory.safety_probability(100, n_items=5, delta=1e-10) == pytest.approx(1 - 1e-5 * 25 * 100)


def test_what_makes_re_ranking_hard() -> None:
    attraction = [0.1, 0.6, 0.3]
    assert theory.initial_inversions([1, 2, 0], attraction) == 0
    assert theory.initial_inversions([0, 2, 1], attraction) == 3
    assert theory.smallest_difference(attraction) == pytest.approx(0.2)
    assert theory.examinations(attraction) == pytest.approx([1, 0.4, 0.4 * 0.7])
    assert theory.examinations(attraction, [0.5, 1, 0]) == pytest.approx([1, 0.7, 0.7 * 0.7])


def test_drift_bounds_by_hand() -> None:
    spread = math.log(1 + 4 * math.sqrt(1 - 1 / 1.2))
    swucb = 2 * 3 * 100 + 2 * math.log(100) ** 2 / spread + 2 * 2 * 25 * 5 + 26 * 8 * 0.6 * math.log(100) / 0.5
    found = theory.cascade_swucb_bound(2501, gaps=[np.inf, 0.5], breakpoints=3, window=100, epsilon=0.6)
    assert found == pytest.approx(swucb + 2 * 2 * 0.01 * 5)
    kept = 0.99**100
    ducb = 2 * 3 * 510 + 2 * 200 + 2 * 2 * 5 * 25 / (1 - kept) + 25 * 32 * 0.6 * math.log(100) / 0.5 / kept
    found = theory.cascade_ducb_bound(2500, gaps=[np.inf, 0.5], breakpoints=3, gamma=0.99, epsilon=0.6)
    assert found == pytest.approx(ducb)
    divergence = 0.2 * math.log(0.5) + 0.8 * math.log(0.8 / 0.6)
    lower = theory.drift_lower_bound(600, n_items=4, attraction=0.4, gap=0.2)
    assert lower == pytest.approx(4 * 0.2 * 0.6 * math.sqrt(400 / divergence))


def test_gaps_of_drifting_items() -> None:
    assert theory.drift_gaps([[0.9, 0.5, 0.1]], 2) == pytest.approx([np.inf, np.inf, 0.4])
    assert theory.drift_gaps([[0.9, 0.5, 0.1], [0.1, 0.9, 0.5]], 1) == pytest.approx([0.8, 0.4, 0.4])
    assert theory.drift_gaps([[0.9, 0.5, 0.5]], 2) == pytest.approx([np.inf, np.inf, 0.4]), "a tie costs nothing"


def test_hybrid_by_hand() -> None:
    information = 4 * math.log(1 + 1000 * 2 / 4)
    gamma = math.sqrt(information + 2 * math.log(1000)) + 0.5
    assert theory.hybrid_gamma(1000, n_features=4, n_positions=2, norm=0.5) == pytest.approx(gamma)
    bound = theory.hybrid_bound(1000, n_features=4, n_positions=2, norm=0.5)
    assert bound == pytest.approx(2 * gamma * math.sqrt(2 * 1000 * 2 * information) + 1)
    assert theory.hybrid_bound(1000, n_features=4, n_positions=2, gamma=2 * gamma) > bound
    assert theory.hybrid_eta(5, 1.0) == pytest.approx((1 - 1 / math.e) / 5)
    assert theory.hybrid_eta(5, 0.1) == pytest.approx((1 - 1 / math.e) * 0.8)


# Shapes and limits

BOUNDS: dict[str, Any] = {
    "merge_comparisons": lambda t: theory.merge_comparisons_bound(t, n_arms=20, gap=0.1, epsilon=0.01),
    "merge_dts": lambda t: theory.merge_dts_bound(t, n_arms=20, gap=0.1, epsilon=0.01),
    "merge_dts_expected": lambda t: theory.merge_dts_expected_bound(t, n_arms=20, gap=0.1),
    "merge_dts_to_horizon": lambda t: theory.merge_dts_expected_bound(t, n_arms=20, gap=0.1, horizon=10**9),
    "dueling_lower": lambda t: theory.dueling_lower_bound(t, THREE),
    "bubble_rank": lambda t: theory.bubble_rank_bound(t, n_items=5, initial_inversions=2, gap=0.1, chi_min=0.5),
    "safety": lambda t: theory.safety_probability(t, n_items=2),
    "ducb": lambda t: theory.cascade_ducb_bound(t, gaps=[0.1, 0.2], breakpoints=1, gamma=0.999, epsilon=0.7),
    "swucb": lambda t: theory.cascade_swucb_bound(t, gaps=[0.1, 0.2], breakpoints=1, window=99, epsilon=0.7),
    "drift_lower": lambda t: theory.drift_lower_bound(t, n_items=6, attraction=0.3, gap=0.1),
    "gamma": lambda t: theory.hybrid_gamma(t, n_features=6, n_positions=3),
    "hybrid": lambda t: theory.hybrid_bound(t, n_features=6, n_positions=3),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_take_arrays_of_steps_and_grow(name: str) -> None:
    bound = BOUNDS[name]
    steps = np.array([[10, 100, 1000], [10**4, 10**5, 10**6]])
    values = bound(steps)
    assert values.shape == steps.shape
    assert values.ravel() == pytest.approx([float(bound(t)) for t in steps.ravel().tolist()])
    assert (np.diff(values.ravel()) > 0).all()


@pytest.mark.parametrize("name", BOUNDS)
@pytest.mark.parametrize("steps", [0, -5, math.nan, math.inf, [10, 0], "many"])
def test_bounds_refuse_steps_that_are_none(name: str, steps: Any) -> None:
    with pytest.raises(ValueError, match=r"(steps|horizon) must be numbers"):
        BOUNDS[name](steps)


def test_parameters_for_horizon_and_breakpoints() -> None:
    assert theory.best_discount(10**6) == 1 - 1 / 4000
    assert theory.best_window(10**6) == math.ceil(2 * math.sqrt(10**6 * math.log(10**6)))
    horizons = [10**k for k in range(1, 19)]
    assert (np.diff([theory.best_discount(n) for n in horizons]) >= 0).all()
    assert 0.99 < theory.best_discount(10**300) < 1, "the nearest number below 1"
    assert theory.best_discount(10**6, 100) < theory.best_discount(10**6)
    assert theory.best_window(10**6, 100) == math.ceil(theory.best_window(10**6) / 10)
    assert theory.best_window(1) == 1
    assert rl.CascadeDUCB(5, 2, horizon=10**6, breakpoints=3).discount == theory.best_discount(10**6, 3)
    assert rl.CascadeSWUCB(5, 2, horizon=10**6, breakpoints=3).memory == theory.best_window(10**6, 3)


def test_with_the_best_parameters_drift_bounds_grow_like_a_square_root() -> None:
    def ratio(n: int) -> tuple[float, float]:
        given: dict[str, Any] = {"gaps": [0.2] * 10, "breakpoints": 5, "epsilon": 0.6}
        ducb = float(theory.cascade_ducb_bound(n, gamma=theory.best_discount(n, 5), **given))
        swucb = float(theory.cascade_swucb_bound(n, window=theory.best_window(n, 5), **given))
        return ducb / (math.sqrt(5 * n) * math.log(n)), swucb / math.sqrt(5 * n * math.log(n))

    early, late = ratio(10**8), ratio(10**12)
    assert late == pytest.approx(early, rel=0.25)


def test_drift_bounds_grow_without_limit_as_epsilon_falls_to_a_half() -> None:
    # As the theorem prints it, CascadeDUCB's would fall there.
    def bounds(epsilon: float) -> tuple[float, float]:
        given: dict[str, Any] = {"gaps": [0.2] * 10, "breakpoints": 5, "epsilon": epsilon}
        ducb = theory.cascade_ducb_bound(10**6, gamma=0.999, **given)
        return float(ducb), float(theory.cascade_swucb_bound(10**6, window=1000, **given))

    assert np.all(np.array(bounds(0.5 + 1e-12)) > 100 * np.array(bounds(0.6)))


def test_a_constant_too_large_for_a_number_still_has_a_bound() -> None:
    with pytest.raises(ValueError, match=r"too large for a number at alpha = 0\.501"):
        theory.merge_constant(0.501, 136, 1e-8)
    bound = theory.merge_dts_bound(10**8, n_arms=136, gap=0.1, alpha=0.501, epsilon=1e-8)
    log_constant = math.log(1.004 * 136**2 / (0.002 * 1e-8)) / 0.002
    assert bound == pytest.approx(8 * 0.501 * 4 * 136 * log_constant / 0.01)


# Against what is measured. Each bound here is low enough that a policy which never learns would break it.

CHECKPOINTS = [10**2, 10**3, 10**4, 10**5]


def test_merge_dts_stays_below_its_bound_and_above_the_lower_one() -> None:
    margins = np.array([0.0, 0.4, 0.45, 0.48])
    table = 0.5 + np.sign(margins[None, :] - margins[:, None]) * np.maximum(margins[None, :], margins[:, None])
    problem = rl.PreferenceMatrix(table)
    gap, horizon = theory.smallest_gap(table), CHECKPOINTS[-1]
    assert gap == pytest.approx(0.4)
    policy = rl.MergeDTS(4, alpha=1.01, batch_size=4, c=None, epsilon=1 / horizon)
    measured = rl.simulate(policy, problem, horizon=horizon, runs=20, seed=0, checkpoints=CHECKPOINTS).regret.mean(0)
    bound = theory.merge_dts_expected_bound(CHECKPOINTS, n_arms=4, gap=gap, horizon=horizon)
    assert (measured <= bound).all()
    assert problem.losses.mean() * horizon > bound[-1], "random duels"
    assert measured[-1] >= theory.dueling_lower_bound(horizon, table)


@pytest.mark.parametrize("cls", [rl.MergeDTS, rl.MergeRUCB])
def test_two_rankers_are_compared_no_more_often_than_lemma_2_1_says(cls: type[Any]) -> None:
    """Four rankers in one batch, 50 runs of 3,000 duels.

    A run in which any pair is compared more often, beyond the one duel with which it is decided, has a probability of
    at most epsilon = 0.05; more than 8 such runs would have one of less than 0.2 %. And the bound is not idle: where
    estimates are at their means, a pair is decided after a quarter of it.
    """
    horizon, epsilon, runs = 3000, 0.05, 50
    smaller_wins = rl.PreferenceMatrix(0.5 + 0.2 * (np.tri(4).T - np.tri(4)))
    bound = float(theory.merge_comparisons_bound(horizon, n_arms=4, gap=0.2, alpha=0.75, epsilon=epsilon))
    most = []
    for seed in range(runs):
        policy = cls(4, alpha=0.75, batch_size=4, c=None, epsilon=epsilon, seed=seed)
        room = np.zeros(2, np.int64), np.zeros(2), np.zeros(2)
        run_duels(policy.state, smaller_wins.state, stream(seed, 1), horizon, *room)
        wins = policy.state.wins
        most.append(int((wins + wins.T).max()))
    assert sum(count > bound + 1 for count in most) <= 8
    assert bound / 8 < np.mean(most) < bound / 2


def test_rmed1_comes_close_to_the_lower_bound() -> None:
    problem = rl.PreferenceMatrix([[0.5, 0.7, 0.7], [0.3, 0.5, 0.6], [0.3, 0.4, 0.5]])
    measured = rl.simulate(rl.RMED1(3), problem, horizon=10**5, runs=50, seed=0).regret[:, -1].mean()
    lower = float(theory.dueling_lower_bound(10**5, problem.preferences))
    assert 0.5 * lower < measured < 5 * lower


def test_bubble_rank_stays_below_its_bound() -> None:
    attraction, examination, initial = [0.9, 0.1], [1.0, 0.5], [1, 0]
    users = rl.PositionBasedModel(attraction, examination)
    steps = [10**3, 10**4, 10**5, 10**6]
    policy = rl.BubbleRank(initial, horizon=10**6)
    measured = rl.simulate(policy, users, horizon=10**6, runs=4, seed=0, checkpoints=steps).regret.mean(0)
    bound = theory.bubble_rank_bound(
        steps,
        n_items=2,
        initial_inversions=theory.initial_inversions(initial, attraction),
        gap=theory.smallest_difference(attraction),
        chi_min=0.5,
        delta=10**-24,
    )
    assert (measured <= bound).all()
    assert users.regret(initial) * 10**6 > bound[-1], "production's list"


@pytest.mark.parametrize(("name", "horizon"), [("swucb", 10**5), ("ducb", 3 * 10**6)])
def test_followers_of_change_stay_below_their_bounds(name: str, horizon: int) -> None:
    attractions = [[0.9, 0.1], [0.1, 0.9]]
    users = rl.DriftingCascade(attractions, horizon // 2)
    policy = (rl.CascadeSWUCB if name == "swucb" else rl.CascadeDUCB)(2, 1, horizon=horizon, breakpoints=1, epsilon=0.6)
    steps = [horizon // 100, horizon // 2, horizon // 2 + 1000, horizon]
    measured = rl.simulate(policy, users, horizon=horizon, runs=2, seed=0, checkpoints=steps).regret.mean(0)
    given: dict[str, Any] = {"gaps": theory.drift_gaps(attractions, 1), "breakpoints": 1, "epsilon": 0.6}
    bound = (
        theory.cascade_swucb_bound(steps, window=theory.best_window(horizon), **given)
        if name == "swucb"
        else theory.cascade_ducb_bound(steps, gamma=theory.best_discount(horizon), **given)
    )
    assert (measured <= bound).all()
    assert 0.8 * horizon / 2 > bound[-1], "a policy that never notices the change"


def test_linear_bandits_stay_below_the_bound_of_cascade_hybrid() -> None:
    """One position, so that a plain linear bandit is CascadeHybrid, and the best list the greedy one."""
    horizon, random = 3000, np.random.default_rng(0)
    features = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [0.8, 0.6]])
    weights = np.array([0.1, 0.9])
    gamma = float(theory.hybrid_gamma(horizon, n_features=2, n_positions=1))
    matrix, answers, lost = np.eye(2), np.zeros(2), np.zeros(horizon)
    for t in range(horizon):
        inverse = np.linalg.inv(matrix)
        widths = np.sqrt(np.einsum("ij,jk,ik->i", features, inverse, features))
        shown = features[np.argmax(features @ inverse @ answers + gamma * widths)]
        lost[t] = (features @ weights).max() - shown @ weights
        matrix += np.outer(shown, shown)
        answers += shown * (random.random() < shown @ weights)
    steps = np.arange(1, horizon + 1)
    assert (np.cumsum(lost) <= theory.hybrid_bound(steps, n_features=2, n_positions=1, gamma=gamma)).all()


# Advice


def test_advice_on_rankers_solves_its_equations_and_predicts() -> None:
    n, gap = 8, 0.2
    advice = theory.advise_rankers(1000, n_rankers=n, gap=gap)
    tuned, proven = advice.plans
    assert tuned.about == pytest.approx((n - 1) * 0.8**6 * math.log(tuned.about + 4e6) / gap**2)
    assert tuned.at_most is None
    bound = theory.merge_dts_bound(proven.at_most, n_arms=n, gap=gap, epsilon=0.01)  # type: ignore[arg-type]
    assert proven.at_most == pytest.approx(float(bound))
    assert advice.days(tuned.about) == pytest.approx(tuned.about / 1000)

    table = np.full((n, n), 0.5) + gap * (np.triu(np.ones((n, n)), 1) - np.tril(np.ones((n, n)), -1))
    for plan in advice.plans:
        taken = []
        for seed in range(5):
            policy, random = rl.MergeDTS(n, **plan.parameters, seed=seed), np.random.default_rng(seed)
            duels = 0
            while policy.winner is None:
                duel = policy.duel()
                policy.update(duel, duel.left if random.random() < table[duel.left, duel.right] else duel.right)
                duels += 1
            taken.append(duels)
            assert policy.winner == 0
        assert 0.5 < np.mean(taken) / plan.about < 2
        assert plan.at_most is None or max(taken) < plan.at_most


def test_advice_on_re_ranking_predicts() -> None:
    attraction, examination = np.array([0.5, 0.3]), 0.8
    plan = theory.advise_reranking(
        100, n_items=2, gap=0.2, attraction=0.5, examination=examination, wrong_pairs=1
    ).plans[0]
    assert plan.at_most is not None
    taken = []
    for seed in range(5):
        policy, random = rl.BubbleRank([1, 0], **plan.parameters, seed=seed), np.random.default_rng(seed)
        lists = 0
        while policy.base == [1, 0]:
            ranking = policy.rank()
            policy.update(ranking, clicks=(random.random(2) < examination * attraction[list(ranking)]).tolist())
            lists += 1
        taken.append(lists)
    assert 0.5 < np.mean(taken) / plan.about < 2
    assert max(taken) < plan.at_most


def test_more_wrong_pairs_take_longer_up_to_a_full_sort() -> None:
    def about(wrong: int | None) -> float:
        given: dict[str, Any] = {"n_items": 10, "gap": 0.1, "attraction": 0.5, "examination": 0.5}
        return theory.advise_reranking(100, **given, wrong_pairs=wrong).plans[0].about

    assert about(0) < about(3) < about(8) == about(45) == about(None)


def test_advice_on_drift() -> None:
    advice = theory.advise_drift(1000, n_items=10, n_positions=3, gap=0.3, days=100, changes=9)
    swucb, ducb = advice.plans
    assert swucb.parameters == {"window": theory.best_window(100_000, 9), "epsilon": 0.5}
    assert swucb.at_most == swucb.parameters["window"]
    assert ducb.parameters["gamma"] == theory.best_discount(100_000, 9)
    looks = 2 * math.log(716) / 0.09
    assert swucb.about == pytest.approx(716 / looks + looks)
    hopeless = theory.advise_drift(1000, n_items=10, n_positions=3, gap=0.01, days=100, changes=9)
    assert hopeless.plans[0].about == hopeless.plans[0].at_most


def test_advice_on_diversity() -> None:
    advice = theory.advise_diversity(1000, n_features=30, n_positions=10, gap=0.1, looks=4)
    practical, proven = advice.plans
    assert practical.about == pytest.approx(4 * 30 / 0.01 / 4)
    assert proven.at_most is not None
    average = theory.hybrid_bound([proven.at_most, 0.999 * proven.at_most], n_features=30, n_positions=10)
    assert average[0] / proven.at_most <= 0.1 < average[1] / (0.999 * proven.at_most)
    assert proven.parameters["gamma"] == pytest.approx(
        float(theory.hybrid_gamma(proven.at_most, n_features=30, n_positions=10)), abs=0.01
    )


def test_advice_reads_well() -> None:
    text = str(theory.advise_rankers(100_000, n_rankers=136, gap=0.05))
    assert text.startswith("Which of 136 rankers is best, at 100,000 comparisons per day?\n\nMergeDTS: alpha=0.262144")
    assert "  about     2.2 days (215,938 comparisons)\n" in text
    assert "  at most   305 days (30,520,697 comparisons)\n" in text
    assert "\n\nAssumptions and limits\n  - " in text
    assert max(map(len, text.splitlines())) <= 80
    assert "less than 0.1 days (188 lists)" in str(
        theory.advise_drift(10_000, n_items=10, n_positions=3, gap=0.3, days=100, changes=9)
    )


# Refusals

GOOD: dict[str, dict[str, Any]] = {
    "merge_comparisons_bound": {"steps": 10, "n_arms": 4, "gap": 0.1, "epsilon": 0.1},
    "merge_dts_bound": {"steps": 10, "n_arms": 4, "gap": 0.1, "epsilon": 0.1},
    "merge_dts_expected_bound": {"steps": 10, "n_arms": 4, "gap": 0.1},
    "dueling_lower_bound": {"steps": 10, "preferences": THREE},
    "smallest_gap": {"preferences": THREE},
    "bubble_rank_bound": {"steps": 10, "n_items": 3, "initial_inversions": 1, "gap": 0.1, "chi_min": 0.5},
    "safety_probability": {"steps": 10, "n_items": 3},
    "initial_inversions": {"initial": [0, 1], "attraction": [0.5, 0.2]},
    "smallest_difference": {"attraction": [0.5, 0.2]},
    "examinations": {"attraction": [0.5, 0.2]},
    "best_discount": {"horizon": 10},
    "best_window": {"horizon": 10},
    "cascade_ducb_bound": {"steps": 10, "gaps": [0.1], "breakpoints": 1, "gamma": 0.9, "epsilon": 0.6},
    "cascade_swucb_bound": {"steps": 10, "gaps": [0.1], "breakpoints": 1, "window": 9, "epsilon": 0.6},
    "drift_lower_bound": {"steps": 10, "n_items": 4, "attraction": 0.5, "gap": 0.1},
    "drift_gaps": {"attractions": [[0.5, 0.2]], "n_positions": 1},
    "hybrid_gamma": {"horizon": 10, "n_features": 3, "n_positions": 2},
    "hybrid_eta": {"n_positions": 2, "largest_attraction": 0.5},
    "hybrid_bound": {"steps": 10, "n_features": 3, "n_positions": 2},
    "advise_rankers": {"traffic": 10, "n_rankers": 4, "gap": 0.1},
    "advise_reranking": {"traffic": 10, "n_items": 4, "gap": 0.1, "attraction": 0.5, "examination": 0.5},
    "advise_drift": {"traffic": 10, "n_items": 4, "n_positions": 2, "gap": 0.1, "days": 9, "changes": 2},
    "advise_diversity": {"traffic": 10, "n_features": 4, "n_positions": 2, "gap": 0.1},
}

BAD: list[tuple[str, dict[str, Any], str]] = [
    ("merge_comparisons_bound", {"alpha": 0.5}, "alpha above 1/2, not alpha = 0.5"),
    ("merge_comparisons_bound", {"gap": 0}, "gap must be more than 0 and at most 0.5, not be 0"),
    ("merge_comparisons_bound", {"epsilon": 0}, "epsilon must lie between 0 and 1, not be 0"),
    ("merge_comparisons_bound", {"n_arms": 1.5}, "n_arms must be a whole number of at least 2, not 1.5"),
    ("merge_dts_bound", {"alpha": 0.5}, "alpha above 1/2, not alpha = 0.5"),
    ("merge_dts_bound", {"alpha": math.nan}, "alpha above 1/2, not alpha = nan"),
    ("merge_dts_bound", {"batch_size": 3}, "at least 4 rankers, not batch_size = 3"),
    ("merge_dts_bound", {"gap": 0.6}, "gap must be more than 0 and at most 0.5, not be 0.6"),
    ("merge_dts_bound", {"gap": [0.1, 0.2]}, "gap must"),
    ("merge_dts_bound", {"epsilon": 1}, "epsilon must lie between 0 and 1, not be 1"),
    ("merge_dts_bound", {"n_arms": 1}, "n_arms must be a whole number of at least 2, not 1"),
    ("merge_dts_expected_bound", {"horizon": 9}, "up to the horizon 9, not after 10 steps"),
    ("dueling_lower_bound", {"preferences": [[0.5, 0.6], [0.6, 0.5]]}, "must add up to 1, not to 1.2"),
    ("dueling_lower_bound", {"preferences": [[0.5, 0.6, 0.4]]}, r"square .* not of shape \(1, 3\)"),
    ("dueling_lower_bound", {"preferences": [[0.5, 0.5], [0.5, 0.5]]}, "no arm of the matrix beats every other"),
    (
        "dueling_lower_bound",
        {"preferences": [[0.5, 1.5], [-0.5, 0.5]]},
        r"preferences\[0, 1\] = 1.5 is not a probability",
    ),
    ("smallest_gap", {"preferences": [[0.5, 0.5], [0.5, 0.5]]}, "there is no gap"),
    ("bubble_rank_bound", {"initial_inversions": 4}, "more than all pairs of 3 items"),
    ("bubble_rank_bound", {"chi_max": 0.4}, "chi_min must be more than 0 and at most 0.4, not be 0.5"),
    ("bubble_rank_bound", {"gap": 0}, "gap must be more than 0"),
    ("bubble_rank_bound", {"delta": 1}, "delta must lie between 0 and 1, not be 1"),
    ("safety_probability", {"delta": 0}, "delta must lie between 0 and 1, not be 0"),
    ("initial_inversions", {"initial": [0, 0]}, r"an order of the items 0 to 1, not \[0, 0\]"),
    ("smallest_difference", {"attraction": [0.5, 0.5]}, "equally attractive"),
    ("smallest_difference", {"attraction": [0.5]}, "one item alone"),
    ("examinations", {"abandonment": [0.5]}, "each of 2 positions, not 1"),
    ("best_discount", {"horizon": 0.5}, "horizon must be a number of at least 1, not 0.5"),
    ("best_window", {"breakpoints": 11}, "at most the horizon 10, not 11"),
    ("best_window", {"breakpoints": 0}, "more than 0"),
    ("cascade_ducb_bound", {"gamma": 0.5}, "gamma must lie between 0.5 and 1, not be 0.5"),
    ("cascade_ducb_bound", {"epsilon": 0.5}, "epsilon must lie between 0.5 and 1, not be 0.5"),
    ("cascade_ducb_bound", {"gaps": [0.1, 0]}, "gaps must be one positive number for each item"),
    ("cascade_swucb_bound", {"epsilon": 1}, "epsilon must lie between 0.5 and 1, not be 1"),
    ("cascade_swucb_bound", {"window": 1}, "window must be a whole number of at least 2, not 1"),
    ("cascade_swucb_bound", {"breakpoints": -1}, "breakpoints must be numbers of at least 0, not -1"),
    ("drift_lower_bound", {"n_items": 5}, "n_items must be even"),
    ("drift_lower_bound", {"gap": 0.6}, "gap must be more than 0 and at most 0.5, not be 0.6"),
    ("drift_gaps", {"n_positions": 3}, "more than the 2 items"),
    ("drift_gaps", {"attractions": [0.5]}, "attractions must be a table"),
    ("hybrid_gamma", {"norm": 1.5}, "norm must be more than 0 and at most 1, not be 1.5"),
    ("hybrid_eta", {"largest_attraction": 0}, "largest_attraction must be more than 0"),
    ("hybrid_bound", {"gamma": 1}, "gamma of at least 4.*, not 1"),
    ("advise_rankers", {"traffic": 0}, "traffic must be a positive number, not 0"),
    ("advise_rankers", {"gap": "small"}, "gap must be more than 0 and at most 0.5, not be 'small'"),
    ("advise_reranking", {"gap": 0.6}, "gap must be more than 0 and at most 0.5, not be 0.6"),
    ("advise_reranking", {"wrong_pairs": 7}, "more than all 6 pairs of 4 items"),
    ("advise_drift", {"n_positions": 4}, "less than the 4 items, not 4"),
    ("advise_drift", {"changes": 91}, "at most the horizon 90, not 91"),
    ("advise_diversity", {"looks": 3}, "looks must be a number from 1 to 2, not 3"),
]


@pytest.mark.parametrize("name", GOOD)
def test_what_is_good_is_taken(name: str) -> None:
    assert getattr(theory, name)(**GOOD[name]) is not None


@pytest.mark.parametrize(("name", "change", "complaint"), BAD)
def test_bad_input_is_refused(name: str, change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        getattr(theory, name)(**{**GOOD[name], **change})
