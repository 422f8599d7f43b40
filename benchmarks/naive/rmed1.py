"""RMED1 as published: all of I and O anew in every step."""

import math

import numba
import numpy as np


@numba.njit
def divergence(p):
    total = 0.0
    if p > 0:
        total += p * math.log(2 * p)
    if p < 1:
        total += (1 - p) * math.log(2 * (1 - p))
    return total


@numba.njit
def pick(values, allowed):
    """The index of the smallest allowed value, ties broken at random."""
    where, ties = -1, 0
    for i in range(len(values)):
        if allowed[i]:
            if where < 0 or values[i] < values[where]:
                where, ties = i, 1
            elif values[i] == values[where]:
                ties += 1
                if np.random.random() * ties < 1:
                    where = i
    return where


@numba.njit
def run(preferences, horizon, seed):
    np.random.seed(seed)
    K = len(preferences)
    winner = np.argmax((preferences > 0.5).sum(axis=1))
    f = 0.3 * K**1.01
    w = np.zeros((K, K))
    share = np.ones((K, K))
    I = np.zeros(K)  # noqa: E741
    everyone = np.ones(K, np.bool_)
    current = np.arange(K)
    remaining = np.ones(K, np.bool_)
    following = np.zeros(K, np.bool_)
    regret = 0.0
    position = 0
    first, second = 0, 1
    for t in range(1, horizon + 1):
        starting = second < K
        if starting:
            c, d = first, second
            second += 1
            if second == K:
                first += 1
                second = first + 1
        else:
            if position == len(current):
                current = np.flatnonzero(following)
                remaining[:] = following
                following[:] = False
                position = 0
            c = current[position]
            position += 1
            best = pick(I, everyone)
            others = everyone.copy()
            others[c] = False
            empty = True
            for j in range(K):
                if j != c and share[c, j] <= 0.5:
                    empty = False
            d = best if empty or (best != c and share[c, best] <= 0.5) else pick(share[c], others)
        regret += (preferences[winner, c] + preferences[winner, d]) / 2 - 0.5
        if np.random.random() < preferences[c, d]:
            w[c, d] += 1
        else:
            w[d, c] += 1
        for i in range(K):
            I[i] = 0.0
            for j in range(K):
                n = w[i, j] + w[j, i]
                share[i, j] = w[i, j] / n if n > 0 else 1.0
                if j != i and share[i, j] <= 0.5:
                    I[i] += n * divergence(share[i, j])
        if not starting:
            remaining[c] = False
            for j in range(K):
                if not remaining[j] and I[j] - I.min() <= math.log(t) + f:
                    following[j] = True
    return regret
