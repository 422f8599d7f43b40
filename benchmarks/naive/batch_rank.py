"""BatchRank as Zoghi et al. (2017) write it: each batch is sorted anew in each step."""

import math

import numba
import numpy as np

from naive.users import as_array, loss, respond


def run(attraction, examination, n_positions, horizon, seed):
    """The regret over all positions; in the cascade model where examination is None."""
    return _run(np.asarray(attraction, np.float64), as_array(examination), n_positions, horizon, seed)


@numba.njit(nogil=True)
def _kl(p, q):
    total = 0.0
    if p > 0:
        total += p * math.log(p / q)
    if p < 1:
        total += (1 - p) * math.log((1 - p) / (1 - q))
    return total


@numba.njit(nogil=True)
def _bound(p, limit, level):
    near, far = p, limit
    for _ in range(50):
        q = (near + far) / 2
        if _kl(p, q) <= level:
            near = q
        else:
            far = q
    return near


@numba.njit(nogil=True)
def _run(attraction, examination, n_positions, horizon, seed):
    np.random.seed(seed)
    K, L = n_positions, len(attraction)
    best = np.sort(attraction)[::-1]
    shown = np.zeros(K, np.int64)
    clicks = np.zeros(K, np.int64)
    # Batch b: items member[b, :size[b]], positions first[b] to first[b] + length[b] - 1, stage[b].
    most = 2 * K + 1
    active = np.zeros(most, np.bool_)
    member = np.zeros((most, L), np.int64)
    size, first = np.zeros(most, np.int64), np.zeros(most, np.int64)
    length, stage = np.zeros(most, np.int64), np.zeros(most, np.int64)
    c, n = np.zeros((most, L)), np.zeros((most, L))
    active[0] = True
    member[0] = np.arange(L)
    size[0], length[0] = L, K
    newest = 0
    regret = 0.0
    for _ in range(horizon):
        for b in range(newest + 1):
            if active[b]:
                items = np.random.permutation(member[b, : size[b]])
                items = items[np.argsort(n[b][items], kind="mergesort")]
                places = np.random.permutation(length[b])
                for k in range(length[b]):
                    shown[first[b] + k] = items[places[k]]
        respond(attraction, examination, shown, clicks)
        regret += loss(attraction, examination, best, shown)
        for b in range(newest + 1):
            if not active[b]:
                continue
            least = np.inf
            for x in range(size[b]):
                least = min(least, n[b, member[b, x]])
            for k in range(first[b], first[b] + length[b]):
                d = shown[k]
                if n[b, d] == least:
                    c[b, d] += clicks[k]
                    n[b, d] += 1
        for b in range(newest + 1):
            if not active[b]:
                continue
            enough = math.ceil(16 * 4.0 ** stage[b] * math.log(horizon))
            least = np.inf
            for x in range(size[b]):
                least = min(least, n[b, member[b, x]])
            if least < enough:
                continue
            level = (math.log(horizon) + 3 * math.log(math.log(horizon))) / enough
            items = member[b, : size[b]].copy()
            items = items[np.argsort(-c[b][items], kind="mergesort")]
            lower, upper = np.zeros(size[b]), np.zeros(size[b])
            for x in range(size[b]):
                lower[x] = _bound(c[b, items[x]] / enough, 0.0, level)
                upper[x] = _bound(c[b, items[x]] / enough, 1.0, level)
            split = 0
            for k in range(1, length[b]):
                if lower[k - 1] > upper[k:].max():
                    split = k
            if split > 0:
                active[b] = False
                for half in range(2):
                    newest += 1
                    active[newest] = True
                    part = items[:split] if half == 0 else items[split:]
                    member[newest, : len(part)] = part
                    size[newest] = len(part)
                    first[newest] = first[b] + half * split
                    length[newest] = split if half == 0 else length[b] - split
                continue
            if size[b] > length[b]:
                kept = 0
                for x in range(size[b]):
                    if upper[x] >= lower[length[b] - 1]:
                        member[b, kept] = items[x]
                        kept += 1
                size[b] = kept
            stage[b] += 1
            c[b] = 0
            n[b] = 0
    return regret
