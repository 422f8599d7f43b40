"""REX3 as published, with the current step in place of the horizon: all probabilities anew in every step."""

import math

import numba
import numpy as np


@numba.njit
def run(preferences, horizon, seed):
    np.random.seed(seed)
    K = len(preferences)
    winner = np.argmax((preferences > 0.5).sum(axis=1))
    weights = np.ones(K)
    regret = 0.0
    for t in range(1, horizon + 1):
        g = min(0.5, math.sqrt(K * math.log(K) / (math.e * t)))
        p = (1 - g) * weights / weights.sum() + g / K
        cumulative = np.cumsum(p)
        c = min(np.searchsorted(cumulative, np.random.random(), side="right"), K - 1)
        d = min(np.searchsorted(cumulative, np.random.random(), side="right"), K - 1)
        regret += (preferences[winner, c] + preferences[winner, d]) / 2 - 0.5
        psi = 0.5 if np.random.random() < preferences[c, d] else -0.5
        weights[c] *= math.exp(g / K * psi / (2 * p[c]))
        weights[d] *= math.exp(-g / K * psi / (2 * p[d]))
        if weights.max() > 1e100:
            weights /= weights.max()
    return regret
