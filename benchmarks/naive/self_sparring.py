"""Self-Sparring as published: a draw from every posterior, twice in every step."""

import numba
import numpy as np


@numba.njit
def sample(S, F):
    best, largest = 0, -1.0
    for i in range(len(S)):
        theta = np.random.beta(S[i] + 1, F[i] + 1)
        if theta > largest:
            best, largest = i, theta
    return best


@numba.njit
def run(preferences, horizon, seed):
    np.random.seed(seed)
    K = len(preferences)
    winner = np.argmax((preferences > 0.5).sum(axis=1))
    S = np.zeros(K)
    F = np.zeros(K)
    regret = 0.0
    for _ in range(horizon):
        c = sample(S, F)
        d = sample(S, F)
        regret += (preferences[winner, c] + preferences[winner, d]) / 2 - 0.5
        if np.random.random() < preferences[c, d]:
            S[c] += 1
            F[d] += 1
        else:
            S[d] += 1
            F[c] += 1
    return regret
