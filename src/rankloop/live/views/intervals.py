"""Intervals for duels that may be looked at every day."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from rankloop.arrays import Flags, Floats

STEPS = 60
"""Halvings until an end is known to all digits."""


def preference_intervals(wins: npt.ArrayLike, losses: npt.ArrayLike, alpha: float = 0.05) -> tuple[Floats, Floats]:
    """Both ends of the Robbins interval for the probability of a win, for each pair of numbers of wins and losses.

    It keeps every q with ln B(w+1, l+1) - w ln q - l ln(1-q) < ln(1/alpha). However often one looks, the chance that it
    ever excludes the truth is at most alpha, for each pair of rankers.

    >>> low, high = preference_intervals([30, 0], [10, 0])
    >>> [(round(a, 3), round(b, 3)) for a, b in zip(low.tolist(), high.tolist())]
    [(0.512, 0.914), (0.0, 1.0)]
    """
    won, lost = np.asarray(wins, np.float64), np.asarray(losses, np.float64)
    duels = won + lost
    log_gamma = np.vectorize(math.lgamma, otypes=[np.float64])
    level = log_gamma(won + 1) + log_gamma(lost + 1) - log_gamma(duels + 2) + math.log(alpha)
    middle = np.where(duels > 0, won / np.maximum(duels, 1), 0.5)

    def kept(q: Floats) -> Flags:
        with np.errstate(divide="ignore", invalid="ignore"):
            likelihood = np.where(won > 0, won * np.log(q), 0.0) + np.where(lost > 0, lost * np.log1p(-q), 0.0)
        return np.asarray(likelihood > level)

    def end(outside: Floats) -> Floats:
        inside = middle.copy()
        whole = kept(outside)
        for _ in range(STEPS):
            between = (inside + outside) / 2
            inner = kept(between)
            inside, outside = np.where(inner, between, inside), np.where(inner, outside, between)
        return np.where(whole, np.round(outside), inside)

    return end(np.zeros_like(won)), end(np.ones_like(won))
