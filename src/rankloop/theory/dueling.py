"""What the theory of dueling bandits says: constants and bounds of chapter 2."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from rankloop.arrays import Floats, check_probabilities
from rankloop.checks import check_between, check_whole
from rankloop.theory.checks import check_steps
from rankloop.theory.divergence import bernoulli_divergence


def merge_constant(alpha: float, n_arms: int, epsilon: float) -> float:
    """C(epsilon) of MergeDTS and MergeRUCB: the winner then survives with probability 1 - epsilon.

    >>> round(merge_constant(alpha=1.01, n_arms=136, epsilon=0.01))
    4066005
    """
    if _log_merge_constant(alpha, n_arms, epsilon) > math.log(np.finfo(np.float64).max):
        raise ValueError(f"C(epsilon) is too large for a number at alpha = {alpha!r}: choose alpha further from 1/2")
    return float(_merge_base(alpha, n_arms, epsilon) ** (1 / (2 * alpha - 1)))


def merge_duels(steps: float, *, gap: float, alpha: float, c: float) -> float:
    """About how many duels MergeDTS or MergeRUCB need to eliminate a ranker that loses 1/2 + gap of them to another.

    alpha ln(T + C) / gap^2: then the width of the confidence bound has fallen to the gap.

    >>> round(merge_duels(10_000, gap=0.1, alpha=0.8**6, c=4_000_000), 1)
    398.6
    """
    return alpha * math.log(steps + c) / gap**2


def merge_comparisons_bound(
    steps: npt.ArrayLike, *, n_arms: int, gap: float, alpha: float = 1.01, epsilon: npt.ArrayLike
) -> Floats:
    """How often at most MergeDTS or MergeRUCB compare two rankers before their batch is merged with another.

    4 alpha ln(T + C(epsilon)) / gap^2, of lemma 2.1 in chapter 2: with probability 1 - epsilon, for any two rankers
    that can be told apart. Then twice the width of their confidence bounds, sqrt(alpha ln(T + C) / n) after n
    comparisons, has fallen to the gap, so that one of the two has been eliminated. How the two are chosen does not
    matter, but the rule by which rankers are eliminated does. The duel with which the number passes the bound is still
    played, so that a count can exceed it by less than one.

    Parameters
    ----------
    steps
        Number of steps T: one number or many.
    n_arms
        K, the number of all rankers, which C(epsilon) depends on.
    gap
        Delta_B,min: the smallest |p_ij - 1/2| of two rankers of the batch that is not zero.
    alpha
        The parameter of MergeDTS or MergeRUCB; above 1/2.
    epsilon
        The probability with which the bound may fail, between 0 and 1; the policy's c must be C(epsilon).

    Examples
    --------
    >>> float(merge_comparisons_bound(10_000, n_arms=4, gap=0.25, alpha=1.0, epsilon=0.01).round(1))
    614.6

    References
    ----------
    M. Zoghi, S. Whiteson, M. de Rijke. MergeRUCB: A Method for Large-Scale Online Ranker Evaluation. WSDM 2015,
    lemma 3.
    """
    given = check_steps(steps)
    n_arms = check_whole("n_arms", n_arms, 2)
    gap = check_between("gap", gap, 0, 0.5, closed=True)
    if not 0.5 < alpha < math.inf:
        raise ValueError(f"the bound of MergeDTS needs alpha above 1/2, not alpha = {alpha!r}")
    return 4 * alpha * np.logaddexp(np.log(given), _log_merge_constant(alpha, n_arms, epsilon)) / gap**2


def merge_dts_bound(
    steps: npt.ArrayLike, *, n_arms: int, gap: float, alpha: float = 1.01, batch_size: int = 4, epsilon: npt.ArrayLike
) -> Floats:
    """An upper bound on the regret of MergeDTS, with probability 1 - epsilon, after each of the numbers of steps.

    8 alpha M K ln(T + C(epsilon)) / gap^2, of the theorem in chapter 2: 2 M K times `merge_comparisons_bound`. It needs
    a Condorcet winner, alpha above 1/2, batches of at least 4, C = C(epsilon), pairs that differ by `gap` or more from
    1/2 unless both are uninformative (assumption 2.1), and at most a third of such rankers (assumption 2.2):
    `PreferenceMatrix.assumptions` says whether a matrix is so. The tuned parameters of the thesis, alpha = 0.8^6 among
    them, are not covered.

    Parameters
    ----------
    steps
        Number of steps T: one number or many. The theorem sets epsilon = 1/T for one T; with a fixed epsilon the
        bound holds at all steps at once.
    n_arms
        K, the number of rankers.
    gap
        Delta_min: the smallest |p_ij - 1/2| that is not zero.
    alpha, batch_size, epsilon
        The parameters of MergeDTS.

    Examples
    --------
    >>> float(merge_dts_bound(10_000, n_arms=4, gap=0.25, alpha=1.0, batch_size=4, epsilon=0.01).round(1))
    19665.7
    """
    if check_whole("batch_size", batch_size, 2) < 4:
        raise ValueError(f"the bound of MergeDTS needs batches of at least 4 rankers, not batch_size = {batch_size}")
    comparisons = merge_comparisons_bound(steps, n_arms=n_arms, gap=gap, alpha=alpha, epsilon=epsilon)
    return 2 * batch_size * n_arms * comparisons


def merge_dts_expected_bound(
    steps: npt.ArrayLike,
    *,
    n_arms: int,
    gap: float,
    alpha: float = 1.01,
    batch_size: int = 4,
    horizon: float | None = None,
) -> Floats:
    """An upper bound on the expected regret of MergeDTS: `merge_dts_bound` with epsilon = 1/horizon, plus 1.

    The 1 pays for the runs in which the winner is lost: they are one in `horizon` and cost at most 1 per step. So the
    bound holds up to the horizon that MergeDTS was told; without one, each number of steps is its own horizon.

    >>> float(merge_dts_expected_bound(100, n_arms=4, gap=0.25, alpha=1.0, horizon=100).round(1))
    17402.8
    """
    given = check_steps(steps, least=2)
    ends = given if horizon is None else check_steps(horizon, least=2, name="horizon")
    if (given > ends).any():
        raise ValueError(f"the bound holds up to the horizon {horizon!r}, not after {given.max():g} steps")
    return 1 + merge_dts_bound(given, n_arms=n_arms, gap=gap, alpha=alpha, batch_size=batch_size, epsilon=1 / ends)


def smallest_gap(preferences: npt.ArrayLike) -> float:
    """Delta_min of a preference matrix: the smallest |p_ij - 1/2| that is not zero.

    >>> round(smallest_gap([[0.5, 0.6, 0.9], [0.4, 0.5, 0.7], [0.1, 0.3, 0.5]]), 3)
    0.1
    """
    gaps = np.abs(_check_preferences(preferences) - 0.5)
    if not gaps.any():
        raise ValueError("no ranker beats another: there is no gap")
    return float(gaps[gaps > 0].min())


def dueling_lower_bound(steps: npt.ArrayLike, preferences: npt.ArrayLike) -> Floats:
    """A lower bound on the regret of any consistent policy, as the number of steps T grows: a multiple of ln T.

    Every arm i other than the Condorcet winner must be found out against some arm that beats it; the cheapest one, j,
    costs (gap_i + gap_j) / 2 per duel, of which ln T / d(p_ij, 1/2) are needed. gap_i is p_1i - 1/2 for the winner 1
    and d the divergence of Bernoulli distributions. The bound is asymptotic: a single curve may stay below it for long.

    Parameters
    ----------
    steps
        Number of steps T: one number or many.
    preferences
        p_ij, the probability that arm i beats arm j. There must be an arm that beats every other.

    Examples
    --------
    >>> float(dueling_lower_bound(1_000_000, [[0.5, 0.75], [0.25, 0.5]]).round(2))
    13.2

    References
    ----------
    J. Komiyama, J. Honda, H. Kashima, H. Nakagawa. Regret Lower Bound and Optimal Algorithm in Dueling Bandit Problem.
    COLT 2015, theorem 2.
    """
    given = check_steps(steps)
    table = _check_preferences(preferences)
    beats = table > 0.5
    winners = np.flatnonzero(beats.sum(1) == len(table) - 1)
    if not len(winners):
        raise ValueError("the lower bound needs a Condorcet winner, and no arm of the matrix beats every other")
    gaps = table[winners[0]] - 0.5
    with np.errstate(divide="ignore", invalid="ignore"):  # a pair that is a draw tells nothing
        costs = (gaps[:, None] + gaps[None, :]) / 2 / bernoulli_divergence(table, 0.5)
    cheapest = np.where(beats.T, costs, np.inf).min(1)
    return np.delete(cheapest, winners[0]).sum() * np.log(given)


def _merge_base(alpha: float, n_arms: int, epsilon: npt.ArrayLike) -> Floats:
    if not alpha > 0.5:
        raise ValueError(f"C(epsilon) is only defined for alpha above 1/2, not for alpha = {alpha!r}: give c itself")
    if not alpha < math.inf:
        raise ValueError(f"alpha must be a finite number, not {alpha!r}")
    failing = np.asarray(epsilon, np.float64)
    if not ((failing > 0) & (failing < 1)).all():
        raise ValueError(f"epsilon must lie between 0 and 1, not be {epsilon!r}")
    return (4 * alpha - 1) * n_arms**2 / ((2 * alpha - 1) * failing)


def _log_merge_constant(alpha: float, n_arms: int, epsilon: npt.ArrayLike) -> Floats:
    """ln C(epsilon), which stays a number when alpha is close to 1/2."""
    return np.log(_merge_base(alpha, n_arms, epsilon)) / (2 * alpha - 1)


def _check_preferences(preferences: npt.ArrayLike) -> Floats:
    table = check_probabilities("preferences", preferences, ndim=2)
    if table.shape[0] != table.shape[1] or len(table) < 2:
        raise ValueError(f"preferences must be a square table of at least 2 arms, not of shape {table.shape}")
    wrong = np.abs(table + table.T - 1)
    np.fill_diagonal(wrong, 0)
    if wrong.max() > 1e-6:
        i, j = np.unravel_index(wrong.argmax(), wrong.shape)
        raise ValueError(f"p[{i}, {j}] and p[{j}, {i}] must add up to 1, not to {table[i, j] + table[j, i]:g}")
    table = table.copy()
    np.fill_diagonal(table, 0.5)
    return table
