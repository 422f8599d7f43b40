"""CascadeKLUCB as plainly as the pseudo-code reads, compiled."""

import math

import numba
import numpy as np


@numba.njit
def divergence(p, q):
    d = 0.0
    if p > 0:
        d += p * math.log(p / q)
    if p < 1:
        d += (1 - p) * math.log((1 - p) / (1 - q))
    return d


@numba.njit
def run(attraction, n_positions, horizon, seed):
    np.random.seed(seed)
    L = len(attraction)
    N = np.zeros(L)
    X = np.zeros(L)
    U = np.zeros(L)
    best = 1 - np.prod(1 - np.sort(attraction)[L - n_positions :])
    regret = 0.0
    for t in range(1, horizon + 1):
        level = math.log(t) + 3 * math.log(math.log(t)) if t > 1 else 0.0
        for a in range(L):
            if N[a] == 0:
                U[a] = np.inf
                continue
            p = X[a] / N[a]
            low, high = p, 1.0
            while high - low > 1e-9:
                middle = (low + high) / 2
                if N[a] * divergence(p, middle) <= level:
                    low = middle
                else:
                    high = middle
            U[a] = low
        R = np.argsort(-U)[:n_positions]
        regret += best - (1 - np.prod(1 - attraction[R]))
        for a in R:
            N[a] += 1
            if np.random.random() < attraction[a]:
                X[a] += 1
                break
    return regret
