"""Sparring against its definition, and the claims made for it."""

from __future__ import annotations

import random

import numpy as np
import pytest
from references import sparring
from scipy import stats

import rankloop as rl
from rankloop.kernels.posterior import log_normaliser, no_rates


def coin(problem: rl.PreferenceMatrix, seed: int):
    draw = random.Random(seed)
    return lambda i, j: draw.random() < problem.preferences[i, j]


@pytest.mark.parametrize("n_arms", [2, 7, 20])
def test_ucb1_matches_its_definition_step_by_step(n_arms: int) -> None:
    problem = rl.PreferenceMatrix.from_utilities(np.random.default_rng(0).permutation(np.linspace(0, 3, n_arms)))
    fast = rl.Sparring(n_arms, seed=9)
    slow = sparring.SparringUCB1(n_arms, seed=9)
    fast_beats, slow_beats = coin(problem, 1), coin(problem, 1)
    self_duels = 0
    for t in range(5000):
        duel = fast.duel()
        assert slow.step(slow_beats) == (duel.left, duel.right)
        if duel.left == duel.right:
            fast.update(duel, duel.left)
            self_duels += 1
        else:
            fast.update(duel, duel.left if fast_beats(duel.left, duel.right) else duel.right)
        if t == n_arms - 1:
            assert (fast.state.plays == 1).all(), "every arm first, on both sides"
    assert self_duels > 20
    assert fast.state.wins.tolist() == slow.wins


@pytest.mark.parametrize("warm_up", [0, 50, 3000])
def test_thompson_chooses_with_the_probabilities_of_plain_draws(warm_up: int) -> None:
    """At fixed counts, 12,000 choices against 60,000 plain ones: a chi-square test, false alarms once in 10,000."""
    n_arms = 6
    problem = rl.PreferenceMatrix.like_features(n_arms, seed=3)
    slow = sparring.SparringThompson(n_arms, runs=1, seed=1)
    for _ in range(warm_up):
        slow.step(problem.preferences)
    fast = rl.Sparring(n_arms, algorithm="thompson", seed=5)
    fast.state.rates.wins[:] = slow.S[:, 0]
    fast.state.rates.losses[:] = slow.F[:, 0]
    refresh(fast)
    slow.S, slow.F = (counts.repeat(60_000, axis=1) for counts in (slow.S, slow.F))
    table = np.zeros((2, n_arms * n_arms))
    np.add.at(table[0], np.ravel_multi_index(slow.choose(), (n_arms, n_arms)), 1)
    for _ in range(12_000):
        duel = fast.duel()
        table[1, duel.left * n_arms + duel.right] += 1
    table = table[:, table.sum(axis=0) >= 30]
    assert stats.chi2_contingency(table).pvalue > 1e-4


def refresh(policy: rl.Sparring) -> None:
    wins, losses, normaliser = policy.state.rates[:3]
    for place in np.ndindex(wins.shape):
        normaliser[place] = log_normaliser(wins[place], losses[place])
    policy.state.rates.hazard[:], policy.state.rates.search[:] = no_rates(*wins.shape)[3:]


def regret_of_ucb1(problem: rl.PreferenceMatrix, horizon: int) -> list[float]:
    found = []
    for seed in range(40):
        reference = sparring.SparringUCB1(problem.n_arms, seed)
        beats = coin(problem, seed)
        found.append(sum(problem.regret(*reference.step(beats)) for _ in range(horizon)))
    return found


def regret_of_thompson(problem: rl.PreferenceMatrix, horizon: int) -> np.ndarray:
    reference = sparring.SparringThompson(problem.n_arms, runs=40, seed=0)
    return sum(problem.losses[np.array(reference.step(problem.preferences))].mean(axis=0) for _ in range(horizon))


@pytest.mark.parametrize(("algorithm", "reference"), [("ucb1", regret_of_ucb1), ("thompson", regret_of_thompson)])
def test_has_the_regret_of_its_definition(algorithm: str, reference) -> None:
    """The means differ by less than four standard errors (false alarms: 1 in 15,000)."""
    n_arms, horizon = 8, 2000
    problem = rl.PreferenceMatrix.like_features(n_arms, seed=8)
    policy = rl.Sparring(n_arms, algorithm=algorithm)
    fast = rl.simulate(policy, problem, horizon=horizon, runs=200, checkpoints=[horizon], progress=False)
    slow = reference(problem, horizon)
    error = np.hypot(np.std(slow, ddof=1) / np.sqrt(len(slow)), fast.standard_error()[-1])
    assert abs(np.mean(slow) - fast.mean()[-1]) < 4 * error


@pytest.mark.parametrize("algorithm", ["ucb1", "thompson"])
def test_converges_where_rankers_have_a_worth(algorithm: str) -> None:
    """The claim of the paper, for utilities: far less regret than random duels, growing ever more slowly."""
    problem = rl.PreferenceMatrix.from_utilities(np.linspace(0, 1, 8), link="linear")
    steps = [10**4, 10**5]
    policy = rl.Sparring(8, algorithm=algorithm)
    result = rl.simulate(policy, problem, horizon=10**5, runs=20, seed=1, checkpoints=steps, progress=False)
    early, late = result.mean()
    assert early < 0.5 * 10**4 * problem.losses.mean()
    assert late < 5 * early


@pytest.mark.parametrize("algorithm", ["ucb1", "thompson"])
def test_a_duel_of_an_arm_with_itself_is_a_fair_coin(algorithm: str) -> None:
    """1,000 such duels: each side wins 400 to 600 of them (false alarms: 1 in 10^9)."""
    policy = rl.Sparring(3, algorithm=algorithm, seed=0)
    for _ in range(1000):
        policy.update(rl.Duel(1, 1), winner=1)
    wins = policy.state.wins if algorithm == "ucb1" else policy.state.rates.wins
    assert wins[:, 1].sum() == 1000
    assert 400 < wins[0, 1] < 600
    assert policy.best == 1


def test_refuses_an_unknown_algorithm() -> None:
    with pytest.raises(ValueError, match="algorithm must be ucb1 or thompson, not 'UCB'"):
        rl.Sparring(5, algorithm="UCB")
