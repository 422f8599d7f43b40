"""DTS as Wu and Liu (2016) write it."""

from __future__ import annotations

import math

import numba
import numpy as np


@numba.njit
def run(preferences, horizon, seed, alpha=0.8**7):
    np.random.seed(seed)
    K = len(preferences)
    loss = losses(preferences)
    w = np.zeros((K, K))
    u = np.zeros((K, K))
    lower = np.zeros((K, K))
    theta = np.zeros((K, K))
    regret = 0.0
    for t in range(1, horizon + 1):
        for i in range(K):
            for j in range(K):
                n = w[i, j] + w[j, i]
                if i == j:
                    u[i, j] = lower[i, j] = 0.5
                elif n == 0:
                    u[i, j], lower[i, j] = 2.0, 0.0
                else:
                    bonus = math.sqrt(alpha * math.log(t) / n)
                    u[i, j], lower[i, j] = w[i, j] / n + bonus, w[i, j] / n - bonus
        bounds = np.zeros(K)
        for i in range(K):
            for j in range(K):
                if u[i, j] > 0.5:
                    bounds[i] += 1

        for i in range(K):
            for j in range(i + 1, K):
                theta[i, j] = np.random.beta(w[i, j] + 1, w[j, i] + 1)
                theta[j, i] = 1 - theta[i, j]
        score = np.full(K, -1.0)
        for i in range(K):
            if bounds[i] == bounds.max():
                score[i] = 0
                for j in range(K):
                    if j != i and theta[i, j] > 0.5:
                        score[i] += 1
        c = largest(score)

        phi = np.full(K, -1.0)
        for j in range(K):
            if lower[j, c] <= 0.5:
                phi[j] = 0.5 if j == c else np.random.beta(w[j, c] + 1, w[c, j] + 1)
        d = largest(phi)

        regret += (loss[c] + loss[d]) / 2
        if np.random.random() < preferences[c, d]:
            w[c, d] += c != d
        else:
            w[d, c] += c != d
    return regret


@numba.njit
def losses(preferences):
    """What playing an arm costs: against the Condorcet winner, or in Copeland scores where there is none."""
    K = len(preferences)
    wins = np.zeros(K)
    for i in range(K):
        for j in range(K):
            if preferences[i, j] > 0.5:
                wins[i] += 1
    if wins.max() == K - 1:
        return preferences[wins.argmax()] - 0.5
    return (wins.max() - wins) / (K - 1)


@numba.njit
def largest(values):
    """The index of the largest value, ties broken at random."""
    tied = np.flatnonzero(values == values.max())
    return tied[np.random.randint(len(tied))]
