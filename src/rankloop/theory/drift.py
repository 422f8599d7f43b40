"""What the theory of changing preferences says: parameters and bounds of chapter 4, in the cascade model.

The bounds need epsilon strictly between 1/2 and 1. The experiments of the thesis, and the policies here unless told
otherwise, take 1/2 itself, where the proofs divide by zero: the bounds do not cover it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from rankloop.arrays import Floats, check_probabilities
from rankloop.checks import check_between, check_number, check_whole
from rankloop.theory.checks import check_counts, check_steps
from rankloop.theory.divergence import bernoulli_divergence

ROUNDING = 1e-9
"""Tolerance for rounding: 10,000 lists at gamma = 0.99 are 100 memories, and must not be rounded up to 101."""


def best_discount(horizon: float, breakpoints: float = 1) -> float:
    """gamma of CascadeDUCB for a horizon and a number of breakpoints: 1 - sqrt(breakpoints / horizon) / 4.

    >>> best_discount(10_000, 4)
    0.995
    """
    horizon, breakpoints = _check_schedule(horizon, breakpoints)
    return min(1 - math.sqrt(breakpoints / horizon) / 4, math.nextafter(1, 0))


def best_window(horizon: float, breakpoints: float = 1) -> int:
    """tau of CascadeSWUCB for a horizon and a number of breakpoints: 2 sqrt(horizon ln horizon / breakpoints).

    >>> best_window(10_000, 4)
    304
    """
    horizon, breakpoints = _check_schedule(horizon, breakpoints)
    return max(1, math.ceil(2 * math.sqrt(horizon * math.log(horizon) / breakpoints)))


def cascade_ducb_bound(
    steps: npt.ArrayLike, *, gaps: npt.ArrayLike, breakpoints: npt.ArrayLike, gamma: float, epsilon: float
) -> Floats:
    """An upper bound on the expected regret of CascadeDUCB, after each of the numbers of lists.

    With L items, Y breakpoints, h = 1/(1 - gamma), and e = ln(1 + 4 sqrt(1 - 1/(2 epsilon))):
    L Y ceil(ln((1 - gamma) epsilon) / ln gamma) + 2 L h + 2 L ceil(ln h / e) (n/h) / (1 - gamma^h)
    + sum over items of ceil(n/h) 32 epsilon ln h / (gap gamma^h).

    This is what the proof in chapter 4 adds up to. The theorem itself prints e as a factor where the proof divides by
    it, which would make the bound vanish as epsilon falls to 1/2, and leaves out 2 L h. In turn the proof's last line
    multiplies by gamma^h where the lemma that it uses divides, as the theorem does.

    Parameters
    ----------
    steps
        Number of lists n: one number or many.
    gaps
        Delta_{a,K} of every item, as `drift_gaps` finds them; infinite for items that are always among the best.
    breakpoints
        Number of changes of preferences, up to the last step or up to each step.
    gamma, epsilon
        The parameters of CascadeDUCB; gamma must lie between 1/2 and 1.

    Examples
    --------
    >>> float(cascade_ducb_bound(10_000, gaps=[np.inf, 0.5], breakpoints=1, gamma=0.99, epsilon=0.6).round(1))
    52887.0
    """
    given = check_steps(steps)
    changes = check_counts("breakpoints", breakpoints)
    found = _check_gaps(gaps)
    gamma = check_between("gamma", gamma, 0.5, 1)
    spread = _spread(epsilon)
    memory = 1 / (1 - gamma)
    kept = gamma**memory
    biased = changes * math.ceil(math.log((1 - gamma) * epsilon) / math.log(gamma))
    outside = 2 * memory + 2 * math.ceil(math.log(memory) / spread) * given / memory / (1 - kept)
    inside = (32 * epsilon * math.log(memory) / kept / found).sum() * np.ceil(given / memory - ROUNDING)
    return len(found) * (biased + outside) + inside


def cascade_swucb_bound(
    steps: npt.ArrayLike, *, gaps: npt.ArrayLike, breakpoints: npt.ArrayLike, window: int, epsilon: float
) -> Floats:
    """An upper bound on the expected regret of CascadeSWUCB, after each of the numbers of lists.

    With L items, Y breakpoints, and e = ln(1 + 4 sqrt(1 - 1/(2 epsilon))):
    L Y tau + L ln(tau)^2 / e + 2 L (n/tau) ceil(ln tau / e) + sum over items of ceil(n/tau) 8 epsilon ln(tau) / gap,
    as the theorem in chapter 4 states it.

    Parameters
    ----------
    steps, gaps, breakpoints
        As in `cascade_ducb_bound`.
    window
        Window tau of CascadeSWUCB, at least 2.
    epsilon
        Parameter of CascadeSWUCB.

    Examples
    --------
    >>> float(cascade_swucb_bound(10_000, gaps=[np.inf, 0.5], breakpoints=1, window=100, epsilon=0.6).round(1))
    6664.8
    """
    given = check_steps(steps)
    changes = check_counts("breakpoints", breakpoints)
    found = _check_gaps(gaps)
    window = check_whole("window", window, 2)
    spread, log_window = _spread(epsilon), math.log(window)
    biased = changes * window
    outside = log_window**2 / spread + 2 * given / window * math.ceil(log_window / spread)
    inside = (8 * epsilon * log_window / found).sum() * np.ceil(given / window)
    return len(found) * (biased + outside) + inside


def drift_lower_bound(steps: npt.ArrayLike, *, n_items: int, attraction: float, gap: float) -> Floats:
    """A lower bound on the regret of any policy on the hard problem of chapter 4, as the number of lists grows.

    L gap (1 - p)^(K-1) sqrt(2 n / (3 d(p - gap, p))). In that problem K = L/2 of L items are attractive with
    probability p and the others with p - gap, and two breakpoints stand where they hurt most. It says what order of
    regret cannot be avoided, the square root of n, and nothing about other problems or few lists.

    Parameters
    ----------
    steps
        Number of lists n: one number or many.
    n_items
        Number of items L, which is even.
    attraction
        The attraction p.
    gap
        Gap between good and bad items, at most p.

    Examples
    --------
    >>> float(drift_lower_bound(10_000, n_items=4, attraction=0.5, gap=0.25).round(1))
    112.9
    """
    given = check_steps(steps)
    if check_whole("n_items", n_items, 2) % 2:
        raise ValueError(f"n_items must be even, since half of the items are shown, not {n_items}")
    attraction = check_between("attraction", attraction, 0, 1)
    gap = check_between("gap", gap, 0, attraction, closed=True)
    divergence = bernoulli_divergence(attraction - gap, attraction)
    return n_items * gap * (1 - attraction) ** (n_items // 2 - 1) * np.sqrt(2 * given / (3 * divergence))


def drift_gaps(attractions: npt.ArrayLike, n_positions: int) -> Floats:
    """Delta_{a,K} of every item: how much less attractive it is than the worst better item among the K best.

    The smallest such difference of all epochs in which the item is not among the best; infinite if it always is. An
    item as attractive as the K-th best costs nothing in its place, so it is compared with those that are better.

    Parameters
    ----------
    attractions
        Attraction of each item, one row for each epoch.
    n_positions
        Number of items shown, K.

    Examples
    --------
    >>> drift_gaps([[0.9, 0.5, 0.1], [0.9, 0.1, 0.4]], 2).round(3).tolist()
    [inf, 0.3, 0.4]
    """
    rows = check_probabilities("attractions", attractions, ndim=2)
    if check_whole("n_positions", n_positions, 1) > rows.shape[1]:
        raise ValueError(f"n_positions = {n_positions} is more than the {rows.shape[1]} items")
    order = np.argsort(-rows, axis=1, kind="stable")
    best = np.take_along_axis(rows, order[:, :n_positions], axis=1)
    differences = best[:, :, None] - rows[:, None, :]
    smallest = np.where(differences > 0, differences, np.inf).min(1)
    np.put_along_axis(smallest, order[:, :n_positions], np.inf, axis=1)
    return smallest.min(0)


def _check_schedule(horizon: float, breakpoints: float) -> tuple[float, float]:
    check_number("horizon", horizon, 1)
    if not 0 < breakpoints <= horizon:
        raise ValueError(f"breakpoints must be more than 0 and at most the horizon {horizon:g}, not {breakpoints!r}")
    return horizon, breakpoints


def _check_gaps(gaps: npt.ArrayLike) -> Floats:
    found: Any = np.asarray(gaps, np.float64)
    if found.ndim != 1 or found.size == 0 or not (found > 0).all():
        raise ValueError(f"gaps must be one positive number for each item, not {gaps!r}")
    return found


def _spread(epsilon: float) -> float:
    check_between("epsilon", epsilon, 0.5, 1)
    return math.log1p(4 * math.sqrt(1 - 1 / (2 * epsilon)))
