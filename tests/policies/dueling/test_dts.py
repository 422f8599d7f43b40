"""DTS against the pseudo-code, the bookkeeping that makes it fast, and the claims made for it."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from references import bounds, dts
from scipy import stats

import rankloop as rl
from rankloop.kernels import draw_below_given_half, entry, stream
from rankloop.policies.dueling.dts import sample_tournament


def coin(problem: rl.PreferenceMatrix, seed: int):
    draw = random.Random(seed)
    return lambda i, j: draw.random() < problem.preferences[i, j]


def with_counts(policy: rl.DTS, w: list[list[int]]) -> rl.DTS:
    for i, row in enumerate(w):
        for j, wins in enumerate(row):
            for _ in range(wins):
                policy.update(rl.Duel(i, j), winner=i)
    return policy


# Early states, in which all arms or most are candidates, middle ones, with some or a pair of them, and a late one.
@pytest.mark.parametrize(("duels_per_pair", "n_candidates"), [(0, 16), (0.5, 12), (4, 6), (90, 2), (200, 1)])
def test_chooses_with_the_pseudo_codes_probabilities(duels_per_pair: float, n_candidates: int) -> None:
    """At fixed counts, choices of each form: a chi-square test, false alarms once in 10,000."""
    n_arms = 16
    alpha = 0.1
    problem = rl.PreferenceMatrix.from_utilities([*np.linspace(0, 1.5, n_arms - 1), 2.0])
    draw = np.random.default_rng(7)
    w = np.zeros((n_arms, n_arms), int)
    for i in range(n_arms):
        for j in range(i + 1, n_arms):
            n = draw.poisson(duels_per_pair)
            w[i, j] = draw.binomial(n, problem.preferences[i, j])
            w[j, i] = n - w[i, j]
    slow = dts.DTS(n_arms, alpha, runs=10_000, seed=1)
    slow.start_from(w)
    player = with_counts(rl.DTS(n_arms, alpha=alpha, seed=2), w.tolist())
    assert slow.candidates()[0].sum() == n_candidates
    table = np.zeros((2, n_arms * n_arms))
    np.add.at(table[0], np.ravel_multi_index(slow.choose(), (n_arms, n_arms)), 1)
    for _ in range(10_000):
        duel = player.duel()
        table[1, duel.left * n_arms + duel.right] += 1
    rare = table.sum(axis=0) < 30
    table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
    table = table[:, table.sum(axis=0) > 0]
    assert table.shape[1] == 1 or stats.chi2_contingency(table).pvalue > 1e-4


@pytest.mark.parametrize("n_arms", [2, 5])
def test_chooses_so_with_few_arms_too(n_arms: int) -> None:
    problem = rl.PreferenceMatrix.from_utilities(np.linspace(0, 1, n_arms))
    slow = dts.DTS(n_arms, 0.6, runs=10_000, seed=1)
    for _ in range(12):
        slow.step(problem.preferences)
    slow.start_from(slow.w[0])
    fast = with_counts(rl.DTS(n_arms, alpha=0.6, seed=5), slow.w[0].tolist())
    table = np.zeros((2, n_arms * n_arms))
    np.add.at(table[0], np.ravel_multi_index(slow.choose(), (n_arms, n_arms)), 1)
    for _ in range(10_000):
        duel = fast.duel()
        table[1, duel.left * n_arms + duel.right] += 1
    table = table[:, table.sum(axis=0) >= 10]
    assert stats.chi2_contingency(table).pvalue > 1e-4


def test_never_duels_an_arm_that_surely_beats_the_first() -> None:
    """In a circle each arm has one such opponent; against the other it would lose, so that it duels itself at times."""
    w = [[0, 9, 1], [1, 0, 9], [9, 1, 0]]
    fast = with_counts(rl.DTS(3, alpha=0.1, seed=1), w)
    slow = dts.DTS(3, 0.1, runs=1, seed=1)
    slow.start_from(w)
    assert slow.candidates().all()
    allowed = {(c, d) for c in range(3) for d in range(3) if slow.bounds()[1][0, d, c] <= 0.5}
    assert len(allowed) == 6
    assert {tuple(fast.duel()) for _ in range(20_000)} == allowed


def test_has_the_pseudo_codes_regret() -> None:
    """The means of many runs differ by less than four standard errors (false alarms: 1 in 15,000)."""
    n_arms, horizon = 6, 1000
    problem = rl.PreferenceMatrix.from_utilities(np.linspace(0, 2, n_arms))
    fast = rl.simulate(rl.DTS(n_arms), problem, horizon=horizon, runs=400, checkpoints=[horizon], progress=False)
    reference = dts.DTS(n_arms, 0.8**7, runs=40, seed=0)
    slow = sum(problem.losses[np.array(reference.step(problem.preferences))].mean(axis=0) for _ in range(horizon))
    error = np.hypot(np.std(slow, ddof=1) / np.sqrt(len(slow)), fast.standard_error()[-1])
    assert abs(np.mean(slow) - fast.mean()[-1]) < 4 * error


@pytest.mark.parametrize(("problem", "regret", "error"), [("cycle", 462, 4), ("cycle2", 445, 55)])
def test_has_the_regret_of_independent_references(problem: str, regret: float, error: float) -> None:
    """Within four standard errors of 20 runs of theirs and 40 of ours."""
    matrix = getattr(rl.PreferenceMatrix, problem)()
    result = rl.simulate(rl.DTS(20), matrix, horizon=100_000, runs=40, checkpoints=[100_000], progress=False)
    assert abs(result.mean()[-1] - regret) < 4 * np.hypot(error, result.standard_error()[-1])


@pytest.mark.parametrize("policy", [rl.DTS, rl.RUCB])
@pytest.mark.parametrize("delay", [0, 40])
def test_counts_of_defeats_stay_exact(policy, delay: int) -> None:
    """At random moments the counts equal those from all bounds computed anew, with feedback at once or late."""
    n_arms, alpha = 12, 0.1
    problem = rl.PreferenceMatrix.like_features(n_arms, seed=2)
    bandit = policy(n_arms, alpha=alpha, seed=1)
    reference = bounds.Bounds(n_arms, alpha)
    draw = random.Random(3)
    beats = coin(problem, 4)
    waiting: list[rl.Duel] = []
    before = [0] * n_arms
    lapsed = 0
    for _ in range(6000):
        waiting.append(bandit.duel())
        if len(waiting) <= delay:
            continue
        left, right = waiting.pop(draw.randrange(len(waiting)))
        winner, loser = (left, right) if beats(left, right) else (right, left)
        bandit.update(rl.Duel(left, right), winner)
        reference.learn(winner, loser)
        if draw.random() < 0.1:
            counts = [sum(reference.u(i, j) < 0.5 for j in range(n_arms)) for i in range(n_arms)]
            assert bandit.state.defeats.beaten_by.tolist() == counts
            assert bandit.state.defeats.observed[0] + 1 == reference.t
            lapsed += sum(now < earlier for now, earlier in zip(counts, before, strict=True))
            before = counts
    assert lapsed > 20, "defeats must lapse for this to test anything"


def test_defeats_lapse_by_time_alone() -> None:
    policy = rl.DTS(4, alpha=0.5, seed=0)
    for _ in range(8):
        policy.update(rl.Duel(0, 1), winner=0)
    assert policy.state.defeats.beaten_by.tolist() == [0, 1, 0, 0]
    lapse = int(np.exp(8 * 8 / (4 * 0.5 * 8)))  # the last t at which 8 : 0 is beyond doubt
    while policy.state.defeats.observed[0] + 1 < lapse:
        policy.update(rl.Duel(2, 2), winner=2)
    assert policy.state.defeats.beaten_by.tolist() == [0, 1, 0, 0]
    policy.update(rl.Duel(2, 2), winner=2)
    assert policy.state.defeats.beaten_by.tolist() == [0, 0, 0, 0]


def test_draws_that_sixteen_bits_leave_open_are_exact() -> None:
    """An arm that loses to each other with probability 2^-17: half of the draws that 16 bits leave open.

    10,000 tournaments of 400 arms: 30.4 losses are expected; false alarms once in 10,000.
    """
    n_arms, n_tournaments = 400, 10_000
    state = rl.DTS(n_arms, seed=3).state
    state.above[0, 1:] = 1 - 2.0**-17
    state.odds[0, 1:] = 65535
    losses = 0
    tournament = entry(sample_tournament)
    for _ in range(n_tournaments):
        tournament(state.rng, state.above, state.odds, state.lanes, state.words, state.score)
        losses += n_arms - int(state.score[0])
    assert stats.binomtest(losses, n_tournaments * (n_arms - 1), 2.0**-17).pvalue > 1e-4


@pytest.mark.parametrize(("a", "b"), [(1, 0), (0, 3), (5, 5), (9, 4), (60, 40), (700, 640)])
@pytest.mark.parametrize("limit", [0.5, 0.47, 0.3])
def test_lowest_draws_have_the_posteriors_distribution(a: int, b: int, limit: float) -> None:
    """min(draw, limit), drawn in two stages as DTS does: a chi-square test on five cells, false alarms 1 in 10,000."""
    posterior = stats.beta(a + 1, b + 1)
    chance = posterior.cdf(0.5)
    mass = stats.binom(a + b + 1, 0.5).pmf(a)
    logs = math.log(2 * limit), math.log(2 * (1 - limit))
    rng = stream(1)
    draw = entry(draw_below_given_half)
    q = np.random.default_rng(2).random(40_000)
    draws = np.array([draw(rng, a, b, limit, *logs, mass, x, chance) for x in q[q < chance]])
    assert ((draws > 0) & (draws <= limit)).all()
    edges = posterior.ppf(posterior.cdf(limit) * np.array([0, 0.25, 0.5, 0.75, 1]))
    observed = np.histogram(draws[draws < limit], edges)[0]
    observed = np.array([*observed, len(q) - observed.sum()])
    below = posterior.cdf(limit)
    expected = len(q) * np.array([below / 4] * 4 + [1 - below])
    if below * len(q) < 40:
        assert stats.binomtest(int(observed[:4].sum()), len(q), below).pvalue > 1e-4
    else:
        assert stats.chisquare(observed, expected).pvalue > 1e-4


def test_beats_rucb_where_rankers_are_near_duplicates() -> None:
    """The claim of its authors, on 32 rankers that look like features: at most half of RUCB's regret."""
    problem = rl.PreferenceMatrix.like_features(32, seed=1)
    horizon = 100_000
    regret = {
        policy.__name__: rl.simulate(
            policy(32), problem, horizon=horizon, runs=10, checkpoints=[horizon], progress=False
        ).mean()[-1]
        for policy in (rl.DTS, rl.RUCB)
    }
    assert regret["DTS"] < 0.5 * regret["RUCB"]


def test_ends_on_copeland_winners_without_a_condorcet_winner() -> None:
    """Arms 0, 1, 2 beat each other in a circle and all others: Copeland winners, but no Condorcet winner."""
    preferences = np.full((8, 8), 0.5)
    for i in range(8):
        for j in range(i + 1, 8):
            preferences[i, j] = 0.75
    preferences[0, 2] = 0.25
    preferences = np.triu(preferences, 1) + np.tril(1 - preferences.T, -1) + 0.5 * np.eye(8)
    problem = rl.PreferenceMatrix(preferences)
    assert problem.condorcet_winner is None
    assert problem.copeland_winners == [0, 1, 2]
    horizon = 20_000
    result = rl.simulate(
        rl.DTS(8, alpha=0.6), problem, horizon=horizon, runs=30, checkpoints=[horizon // 2, horizon], progress=False
    )
    late = (result.regret[:, 1] - result.regret[:, 0]) / (horizon / 2)
    assert np.median(late) < 0.02 * problem.losses.mean(), "hardly any regret in the second half"


def test_best_and_winner_read_the_counts() -> None:
    policy = with_counts(rl.DTS(3, alpha=0.5, seed=0), [[0, 2, 0], [1, 0, 3], [0, 1, 0]])
    assert policy.best == 0  # leads 1, has not met 2; ahead of 1, which leads 2 and trails 0
    assert policy.winner is None
    before = policy.snapshot()["rng"]
    with_counts(policy, [[0, 60, 60], [0, 0, 0], [0, 0, 0]])
    assert policy.best == policy.winner == 0
    assert (policy.snapshot()["rng"] == before).all()


def test_refuses_bad_parameters() -> None:
    with pytest.raises(ValueError, match="alpha must be a positive number, not -1"):
        rl.DTS(5, alpha=-1)
    with pytest.raises(ValueError, match="has no opponent"):
        rl.DTS(1)
