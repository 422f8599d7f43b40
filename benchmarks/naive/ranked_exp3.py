"""RankedEXP3 as Radlinski et al. (2008) write it: all probabilities anew in each step."""

import math

import numba
import numpy as np

from naive.users import as_array, loss, respond


def run(attraction, examination, n_positions, horizon, seed):
    """The regret over all positions; in the cascade model where examination is None."""
    return _run(np.asarray(attraction, np.float64), as_array(examination), n_positions, horizon, seed)


@numba.njit(nogil=True)
def _run(attraction, examination, n_positions, horizon, seed):
    np.random.seed(seed)
    K, L = n_positions, len(attraction)
    best = np.sort(attraction)[::-1]
    gamma = min(1.0, math.sqrt(L * math.log(L) / ((math.e - 1) * horizon)))
    log_w = np.zeros((K, L))
    probability = np.zeros((K, L))
    shown, choice, clicks = np.zeros(K, np.int64), np.zeros(K, np.int64), np.zeros(K, np.int64)
    regret = 0.0
    for _ in range(horizon):
        for k in range(K):
            w = np.exp(log_w[k] - log_w[k].max())
            probability[k] = (1 - gamma) * w / w.sum() + gamma / L
            u = np.random.random()
            i = 0
            while i < L - 1 and u >= probability[k, i]:
                u -= probability[k, i]
                i += 1
            choice[k] = i
            used = np.zeros(L, np.bool_)
            for m in range(k):
                used[shown[m]] = True
            while used[i]:
                i = np.random.randint(L)
            shown[k] = i
        respond(attraction, examination, shown, clicks)
        regret += loss(attraction, examination, best, shown)
        for k in range(K):
            if clicks[k] and shown[k] == choice[k]:
                log_w[k, choice[k]] += gamma / (L * probability[k, choice[k]])
    return regret
