"""CascadeSWUCB as plainly as the pseudo-code reads, compiled; the sums over the window are kept up to date."""

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
    tau = math.ceil(2 * math.sqrt(horizon * math.log(horizon)))
    epsilon = 0.5
    examined = np.zeros((tau, L))
    clicked = np.zeros((tau, L))
    best = 1 - np.prod(1 - np.sort(attraction)[L - n_positions :])
    regret = 0.0
    for t in range(1, horizon + 1):
        for a in range(L):
            if N[a] == 0:
                U[a] = np.inf
            else:
                U[a] = X[a] / N[a] + math.sqrt(epsilon * math.log(min(t, tau)) / N[a])
        R = np.argsort(-U)[:n_positions]
        regret += best - (1 - np.prod(1 - attraction[R]))
        row = t % tau
        for a in range(L):
            N[a] -= examined[row, a]
            X[a] -= clicked[row, a]
            examined[row, a] = 0
            clicked[row, a] = 0
        for a in R:
            examined[row, a] = 1
            N[a] += 1
            if np.random.random() < attraction[a]:
                clicked[row, a] = 1
                X[a] += 1
                break
    return regret
