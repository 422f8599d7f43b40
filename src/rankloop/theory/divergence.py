"""The Kullback-Leibler divergence, of which lower bounds are made."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankloop.arrays import Floats


def bernoulli_divergence(p: npt.ArrayLike, q: float) -> Floats:
    """d(p, q) between Bernoulli distributions of means p and q, for q strictly between 0 and 1.

    >>> bernoulli_divergence([0.0, 0.5, 1.0], 0.5).round(3).tolist()
    [0.693, 0.0, 0.693]
    """
    given = np.asarray(p, np.float64)
    return _entropic(given, q) + _entropic(1 - given, 1 - q)


def _entropic(p: Floats, q: float) -> Floats:
    """p ln(p/q), which is 0 at p = 0."""
    return p * np.log(np.where(p > 0, p, q) / q)
