"""RUCB as Zoghi et al. (2014) write it."""

from __future__ import annotations

import math

import numba
import numpy as np

from naive.dts import largest, losses


@numba.njit
def run(preferences, horizon, seed, alpha=0.51):
    np.random.seed(seed)
    K = len(preferences)
    loss = losses(preferences)
    w = np.zeros((K, K))
    u = np.zeros((K, K))
    B = -1
    regret = 0.0
    for t in range(1, horizon + 1):
        for i in range(K):
            for j in range(K):
                n = w[i, j] + w[j, i]
                if i == j:
                    u[i, j] = 0.5
                elif n == 0:
                    u[i, j] = 2.0
                else:
                    u[i, j] = w[i, j] / n + math.sqrt(alpha * math.log(t) / n)
        C = np.ones(K, np.bool_)
        for i in range(K):
            for j in range(K):
                if u[i, j] < 0.5:
                    C[i] = False
        if B >= 0 and not C[B]:
            B = -1
        if C.sum() == 0:
            c = np.random.randint(K)
        elif C.sum() == 1:
            c = B = C.argmax()
        elif B >= 0 and np.random.random() < 0.5:
            c = B
        else:
            if B >= 0:
                C[B] = False
            c = largest(C)

        bound = u[:, c].copy()
        d = largest(bound)
        if d == c and (bound == 0.5).sum() > 1:
            bound[c] = 0
            d = largest(bound)

        regret += (loss[c] + loss[d]) / 2
        if np.random.random() < preferences[c, d]:
            w[c, d] += c != d
        else:
            w[d, c] += c != d
    return regret
