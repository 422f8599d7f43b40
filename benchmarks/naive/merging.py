"""MergeDTS and MergeRUCB as their pseudo-code reads: every bound and every draw anew in each step."""

import math

import numba
import numpy as np


@numba.njit(nogil=True)
def _purge(batch, size, wins, level):
    """Remove the arms of a batch that lose to another even by the optimistic estimate; return how many are left."""
    lost = np.zeros(size, np.bool_)
    for x in range(size):
        for y in range(size):
            i, j = batch[x], batch[y]
            n = wins[i, j] + wins[j, i]
            if x != y and n > 0 and wins[i, j] / n + math.sqrt(level / n) < 0.5:
                lost[x] = True
    kept = 0
    for x in range(size):
        if not lost[x]:
            batch[kept] = batch[x]
            kept += 1
    return kept


@numba.njit(nogil=True)
def _join_small(batches, sizes, n_batches, batch_size):
    """Join batches that are too small with each other, or where that is not enough with the largest that have room."""
    small = sizes[:n_batches] < 0.5 * batch_size
    rest = sizes[:n_batches][small].sum()
    among_themselves = rest >= 0.5 * batch_size
    joined, joined_sizes = np.zeros_like(batches), np.zeros_like(sizes)
    q = 0
    for b in np.flatnonzero(~small):
        joined[q], joined_sizes[q] = batches[b], sizes[b]
        q += 1
    gathered = -1
    for b in np.argsort(-sizes[:n_batches]):
        if not small[b]:
            continue
        host = -1
        if among_themselves:
            if gathered >= 0 and (joined_sizes[gathered] < 0.5 * batch_size or rest < 0.5 * batch_size):
                host = gathered
        else:
            for i in range(q):
                if joined_sizes[i] + sizes[b] <= 1.5 * batch_size and (
                    host < 0 or joined_sizes[i] > joined_sizes[host]
                ):
                    host = i
        rest -= sizes[b]
        if host < 0:
            host = gathered = q
            q += 1
        for x in range(sizes[b]):
            joined[host, joined_sizes[host]] = batches[b, x]
            joined_sizes[host] += 1
    return joined, joined_sizes, q


@numba.njit(nogil=True)
def _repartition(batches, sizes, n_batches, batch_size):
    """Pair the batches; where that leaves one that is too small, begin with those that were too small before."""
    new, new_sizes, q = _pair(batches, sizes, n_batches, batch_size)
    if new_sizes[:q].min() >= 0.5 * batch_size:
        return new, new_sizes, q
    batches, sizes, n_batches = _join_small(batches, sizes, n_batches, batch_size)
    return _pair(batches, sizes, n_batches, batch_size)


@numba.njit(nogil=True)
def _pair(batches, sizes, n_batches, batch_size):
    """Pair the smallest batch with the largest, where the union is not too large."""
    order = np.argsort(sizes[:n_batches])
    new, new_sizes = np.zeros_like(batches), np.zeros_like(sizes)
    q = 0
    for i in range((n_batches + 1) // 2):
        small, large = order[i], order[n_batches - 1 - i]
        for b in (small, large):
            if b == large and small != large and sizes[small] + sizes[large] > 1.5 * batch_size:
                q += 1
            for x in range(sizes[b]):
                new[q, new_sizes[q]] = batches[b, x]
                new_sizes[q] += 1
            if small == large:
                break
        q += 1
    return new, new_sizes, q


@numba.njit(nogil=True)
def _choose_dts(batch, size, wins):
    theta = np.full((size, size), 0.5)
    for x in range(size):
        for y in range(x + 1, size):
            i, j = batch[x], batch[y]
            theta[x, y] = np.random.beta(wins[i, j] + 1, wins[j, i] + 1)
            theta[y, x] = 1 - theta[x, y]
    score = np.zeros(size)
    for x in range(size):
        for y in range(size):
            if x != y and theta[x, y] > 0.5:
                score[x] += 1
        score[x] += 0.5 * np.random.random()  # ties are broken at random
    c = batch[np.argmax(score)]
    lowest, d = 2.0, c
    for x in range(size):
        if batch[x] != c:
            phi = np.random.beta(wins[batch[x], c] + 1, wins[c, batch[x]] + 1)
            if phi < lowest:
                lowest, d = phi, batch[x]
    return c, d


@numba.njit(nogil=True)
def _choose_rucb(batch, size, wins, level):
    c = batch[np.random.randint(size)]
    highest, d = -1.0, c
    for x in np.random.permutation(size):
        if batch[x] != c:
            n = wins[batch[x], c] + wins[c, batch[x]]
            u = 2.0 if n == 0 else wins[batch[x], c] / n + math.sqrt(level / n)
            if u > highest:
                highest, d = u, batch[x]
    return c, d


@numba.njit(nogil=True)
def _run(preferences, horizon, seed, alpha, batch_size, constant, thompson):
    np.random.seed(seed)
    n_arms = len(preferences)
    winner = np.argmax((preferences > 0.5).sum(axis=1))
    arms = np.random.permutation(n_arms)
    n_batches = (n_arms + batch_size - 1) // batch_size
    batches, sizes = np.zeros((n_batches, n_arms), np.int64), np.zeros(n_batches, np.int64)
    for k in range(n_arms):
        b = k // batch_size
        batches[b, sizes[b]] = arms[k]
        sizes[b] += 1
    wins = np.zeros((n_arms, n_arms), np.int64)
    stage, regret = 1, 0.0
    for t in range(1, horizon + 1):
        m = t % n_batches
        level = alpha * math.log(t + constant)
        sizes[m] = _purge(batches[m], sizes[m], wins, level)
        if n_batches > 1 and sizes[m] == 1:
            following = (m + 1) % n_batches
            for x in range(sizes[following]):
                batches[m, sizes[m]] = batches[following, x]
                sizes[m] += 1
            for b in range(following, n_batches - 1):
                batches[b] = batches[b + 1]
                sizes[b] = sizes[b + 1]
            n_batches -= 1
            m -= following < m
        if sizes[m] == 1:
            c = d = batches[m, 0]
        elif thompson:
            c, d = _choose_dts(batches[m], sizes[m], wins)
        else:
            c, d = _choose_rucb(batches[m], sizes[m], wins, level)
        regret += (preferences[winner, c] + preferences[winner, d]) / 2 - 0.5
        if c != d:
            if np.random.random() < preferences[c, d]:
                wins[c, d] += 1
            else:
                wins[d, c] += 1
        if sizes[:n_batches].sum() <= n_arms / 2**stage:
            batches, sizes, n_batches = _repartition(batches, sizes, n_batches, batch_size)
            stage += 1
    return regret


def run_merge_dts(preferences, horizon, seed):
    return _run(preferences, horizon, seed, 0.8**6, 16, 4e6, True)


def run_merge_rucb(preferences, horizon, seed):
    return _run(preferences, horizon, seed, 0.8**6, 8, 4e5, False)
