"""Sparring with UCB1 as published: all indices anew in every step."""

import math

import numba
import numpy as np


@numba.njit
def choose(wins, plays, t):
    best, largest, ties = 0, -1.0, 0
    for i in range(len(wins)):
        index = math.inf if plays[i] == 0 else wins[i] / plays[i] + math.sqrt(2 * math.log(t) / plays[i])
        if index > largest:
            best, largest, ties = i, index, 1
        elif index == largest:
            ties += 1
            if np.random.random() * ties < 1:
                best = i
    return best


@numba.njit
def run(preferences, horizon, seed):
    np.random.seed(seed)
    K = len(preferences)
    winner = np.argmax((preferences > 0.5).sum(axis=1))
    wins = np.zeros((2, K))
    plays = np.zeros((2, K))
    regret = 0.0
    for t in range(1, horizon + 1):
        c = choose(wins[0], plays[0], t)
        d = choose(wins[1], plays[1], t)
        regret += (preferences[winner, c] + preferences[winner, d]) / 2 - 0.5
        plays[0, c] += 1
        plays[1, d] += 1
        if np.random.random() < preferences[c, d]:
            wins[0, c] += 1
        else:
            wins[1, d] += 1
    return regret
