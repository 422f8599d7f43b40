"""CascadeDUCB as plainly as the pseudo-code reads, compiled."""

import math

import numba
import numpy as np


@numba.njit
def run(attraction, n_positions, horizon, seed):
    np.random.seed(seed)
    L = len(attraction)
    N = np.zeros(L)
    X = np.zeros(L)
    U = np.zeros(L)
    gamma = 1 - 1 / (4 * math.sqrt(horizon))
    epsilon = 0.5
    best = 1 - np.prod(1 - np.sort(attraction)[L - n_positions :])
    regret = 0.0
    for t in range(1, horizon + 1):
        time = (1 - gamma**t) / (1 - gamma)
        for a in range(L):
            if N[a] == 0:
                U[a] = np.inf
            else:
                U[a] = X[a] / N[a] + 2 * math.sqrt(epsilon * math.log(time) / N[a])
        R = np.argsort(-U)[:n_positions]
        regret += best - (1 - np.prod(1 - attraction[R]))
        for a in range(L):
            N[a] *= gamma
            X[a] *= gamma
        for a in R:
            N[a] += 1
            if np.random.random() < attraction[a]:
                X[a] += 1
                break
    return regret
