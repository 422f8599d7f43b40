"""TopRank as Lattimore et al. (2018) write it: the partition and every bound anew in each step."""

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
    L = len(attraction)
    best = np.sort(attraction)[::-1]
    S, N = np.zeros((L, L)), np.zeros((L, L))
    G = np.zeros((L, L), np.bool_)
    c = 4 * math.sqrt(2 / math.pi) / math.erf(math.sqrt(2))
    delta = 1 / horizon
    block = np.zeros(L, np.int64)
    clicks = np.zeros(n_positions, np.int64)
    clicked = np.zeros(L, np.int64)
    regret = 0.0
    for _ in range(horizon):
        block[:] = -1
        order = np.zeros(L, np.int64)
        placed = 0
        d = 0
        while placed < L:
            first = placed
            for i in range(L):
                if block[i] >= 0:
                    continue
                beaten = False
                for j in range(L):
                    if G[i, j] and (block[j] < 0 or block[j] == d):
                        beaten = True
                if not beaten:
                    block[i] = d
                    order[placed] = i
                    placed += 1
            np.random.shuffle(order[first:placed])
            d += 1
        shown = order[:n_positions]
        respond(attraction, examination, shown, clicks)
        regret += loss(attraction, examination, best, shown)
        clicked[:] = 0
        for k in range(n_positions):
            clicked[shown[k]] = clicks[k]
        for i in range(L):
            for j in range(L):
                if i != j and block[i] == block[j]:
                    U = clicked[i] - clicked[j]
                    S[i, j] += U
                    N[i, j] += abs(U)
                    if N[i, j] > 0 and S[i, j] >= math.sqrt(2 * N[i, j] * math.log(c / delta * math.sqrt(N[i, j]))):
                        G[j, i] = True
    return regret
