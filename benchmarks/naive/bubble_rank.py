"""BubbleRank as its pseudo-code reads: every bound anew in each step."""

import math

import numba
import numpy as np


@numba.njit(nogil=True)
def run(attraction, examination, n_positions, horizon, seed):
    """The regret over all positions in the position-based model, or in the cascade model where examination is empty."""
    np.random.seed(seed)
    n = n_positions
    cascade = len(examination) == 0
    best = np.sort(attraction)[::-1]
    base = np.arange(n)
    s, count = np.zeros((n, n), np.int64), np.zeros((n, n), np.int64)
    level = 4 * math.log(horizon)
    clicks = np.zeros(n, np.int64)
    regret = 0.0
    for t in range(1, horizon + 1):
        h = t % 2
        shown = base.copy()
        randomised = np.zeros(n, np.bool_)
        for k in range(h, n - 1, 2):
            i, j = shown[k], shown[k + 1]
            if s[i, j] <= 2 * math.sqrt(count[i, j] * level):
                randomised[k] = True
                if np.random.random() < 0.5:
                    shown[k], shown[k + 1] = j, i
        clicks[:] = 0
        if cascade:
            missed, missed_best = 1.0, 1.0
            for k in range(n):
                missed *= 1 - attraction[shown[k]]
                missed_best *= 1 - best[k]
            regret += missed - missed_best
            for k in range(n):
                if np.random.random() < attraction[shown[k]]:
                    clicks[k] = 1
                    break
        else:
            for k in range(n):
                regret += examination[k] * (best[k] - attraction[shown[k]])
                clicks[k] = np.random.random() < examination[k] * attraction[shown[k]]
        for k in range(h, n - 1, 2):
            if randomised[k] and clicks[k] != clicks[k + 1]:
                i, j = shown[k], shown[k + 1]
                s[i, j] += clicks[k] - clicks[k + 1]
                s[j, i] += clicks[k + 1] - clicks[k]
                count[i, j] += 1
                count[j, i] += 1
        for k in range(n - 1):
            i, j = base[k], base[k + 1]
            if s[j, i] > 2 * math.sqrt(count[j, i] * level):
                base[k], base[k + 1] = j, i
    return regret
