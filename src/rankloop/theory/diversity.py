"""What the theory of relevance and diversity says: the parameters and the bound of chapter 5."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from rankloop.arrays import Floats
from rankloop.checks import check_between, check_whole
from rankloop.theory.checks import check_steps


def hybrid_gamma(horizon: npt.ArrayLike, *, n_features: int, n_positions: int, norm: float = 1.0) -> Floats:
    """The least gamma of CascadeHybrid that the theorem of chapter 5 allows.

    sqrt(D ln(1 + n K / D) + 2 ln n) + norm, with D = m + d. The thesis runs its experiments with gamma = 1, far below.

    Parameters
    ----------
    horizon
        Number of lists n: one number or many.
    n_features
        Number of relevance features and topics together, D.
    n_positions
        Number of items shown, K.
    norm
        Norm of the user's preferences [theta, beta], at most 1.

    Examples
    --------
    >>> float(hybrid_gamma(50_000, n_features=30, n_positions=10).round(2))
    18.7
    """
    given = check_steps(horizon, name="horizon")
    norm = check_between("norm", norm, 0, 1, closed=True)
    return np.sqrt(_log_determinant(given, n_features, n_positions) + 2 * np.log(given)) + norm


def hybrid_eta(n_positions: int, largest_attraction: float) -> float:
    """The share of the best list's reward that the greedy list has at least: (1 - 1/e) max(1/K, 1 - (K-1)/2 alpha_max).

    >>> round(hybrid_eta(10, 0.1), 3)
    0.348
    """
    n_positions = check_whole("n_positions", n_positions, 1)
    largest = check_between("largest_attraction", largest_attraction, 0, 1, closed=True)
    return (1 - 1 / math.e) * max(1 / n_positions, 1 - (n_positions - 1) / 2 * largest)


def hybrid_bound(
    steps: npt.ArrayLike, *, n_features: int, n_positions: int, gamma: npt.ArrayLike | None = None, norm: float = 1.0
) -> Floats:
    """An upper bound on the eta-scaled expected regret of CascadeHybrid, after each of the numbers of lists.

    2 gamma sqrt(2 n K D ln(1 + n K / D)) + 1, of the theorem in chapter 5, with D = m + d features of norm at most 1.
    Scaled regret is counted against eta times the reward of the best list (`hybrid_eta`); simulations count it against
    the greedy list, which has at least that, so that theirs is larger and this bound does not cover it.

    Of the two logarithms that the thesis prints this is the theorem's. The proof has ln(K (1 + n/D)), which is larger:
    the determinant and trace inequality, to which it refers, gives the theorem's. One step of the proof is open: it
    bounds the K observations of one list by 2 ln det, a lemma for a ridge of at least K, where CascadeHybrid has 1. For
    K above 2 what can be shown with a ridge of 1 is sqrt(K / (2 ln(1 + K))) times as much, 1.44 for ten positions.

    Parameters
    ----------
    steps
        Number of lists n: one number or many.
    n_features, n_positions, norm
        As in `hybrid_gamma`.
    gamma
        Gamma of the policy, at least `hybrid_gamma`. If not given, the least that is allowed for each number of lists.

    Examples
    --------
    >>> float(hybrid_bound(50_000, n_features=30, n_positions=10).round())
    638682.0
    """
    given = check_steps(steps)
    least = hybrid_gamma(given, n_features=n_features, n_positions=n_positions, norm=norm)
    width = least if gamma is None else np.asarray(gamma, np.float64)
    if not (width >= least - 1e-9).all():
        raise ValueError(f"the bound needs gamma of at least {np.max(least):.4g} here, not {gamma!r}")
    information = _log_determinant(given, n_features, n_positions)
    return 2 * width * np.sqrt(2 * given * n_positions * information) + 1


def _log_determinant(steps: Floats, n_features: int, n_positions: int) -> Floats:
    """D ln(1 + n K / D): the most that ln det of the ridge's matrix can be."""
    n_features = check_whole("n_features", n_features, 1)
    return n_features * np.log1p(steps * check_whole("n_positions", n_positions, 1) / n_features)
