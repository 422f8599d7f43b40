"""Random draws for compiled code: xoshiro256++ on a plain array, so that a policy's generator is saved with its state.

The same seed gives the same draws on every machine and in any number of threads: a stream is named by a seed and
keys (the run, the role), not by who asks first.
"""

from __future__ import annotations

import math

import numpy as np

from rankloop.kernels.arrays import Array, Stream
from rankloop.kernels.compiler import compiled, inlined


def stream(seed: int | None, *keys: int) -> Stream:
    """A new stream of random numbers: the same for the same seed and keys, unrelated for any others.

    >>> (stream(7, 0) == stream(7, 0)).all(), (stream(7, 0) == stream(7, 1)).any()
    (np.True_, np.False_)
    """
    return np.asarray(np.random.SeedSequence(seed, spawn_key=keys).generate_state(4, np.uint64), np.uint64)


@inlined
def next_word(rng: Stream) -> np.uint64:
    """64 random bits."""
    s0, s1, s2, s3 = rng[0], rng[1], rng[2], rng[3]
    total = s0 + s3
    result = ((total << np.uint64(23)) | (total >> np.uint64(41))) + s0
    shifted = s1 << np.uint64(17)
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= shifted
    s3 = (s3 << np.uint64(45)) | (s3 >> np.uint64(19))
    rng[0], rng[1], rng[2], rng[3] = s0, s1, s2, s3
    return result


@inlined
def uniform(rng: Stream) -> float:
    """A number in [0, 1)."""
    return np.int64(next_word(rng) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@inlined
def draw_index(rng: Stream, n: int) -> int:
    """An integer from 0 to n - 1; its bias, n / 2^53, is beneath notice."""
    return int(uniform(rng) * n)


@compiled
def shuffle(rng: Stream, values: Array) -> None:
    """Put an array in random order, in place."""
    for i in range(len(values) - 1, 0, -1):
        j = draw_index(rng, i + 1)
        values[i], values[j] = values[j], values[i]


@inlined
def pick_largest(rng: Stream, values: Array, n: int) -> int:
    """The index of the largest of the first n values, ties broken uniformly at random."""
    best = values[0]
    ties = 1
    where = 0
    for i in range(1, n):
        if values[i] > best:
            best = values[i]
            ties = 1
            where = i
        elif values[i] == best:
            ties += 1
    if ties == 1:
        return where
    skip = draw_index(rng, ties)
    for i in range(where, n):
        if values[i] == best:
            if skip == 0:
                return i
            skip -= 1
    return where


@compiled
def beta(rng: Stream, a: float, b: float) -> float:
    """A draw from Beta(a, b) for a, b >= 1 (Cheng 1978, algorithm BB)."""
    if a == 1.0:
        return 1.0 - (1.0 - uniform(rng)) ** (1.0 / b)
    if b == 1.0:
        return (1.0 - uniform(rng)) ** (1.0 / a)
    small = min(a, b)
    large = max(a, b)
    total = a + b
    scale = math.sqrt((total - 2.0) / (2.0 * small * large - total))
    shift = small + 1.0 / scale
    while True:
        u = uniform(rng)
        if u == 0.0:
            continue
        v = scale * math.log(u / (1.0 - u))
        w = small * math.exp(v)
        z = u * u * (1.0 - uniform(rng))
        r = shift * v - 1.3862943611198906
        s = small + r - w
        if s + 2.6094379124341003 < 5.0 * z:
            log_z = math.log(z)
            if s < log_z and r + total * math.log(total / (large + w)) < log_z:
                continue
        return w / (large + w) if a == small else large / (large + w)


@compiled
def normal(rng: Stream) -> float:
    """A draw from the standard normal distribution (Marsaglia's polar method)."""
    while True:
        x = 2.0 * uniform(rng) - 1.0
        y = 2.0 * uniform(rng) - 1.0
        square = x * x + y * y
        if 0.0 < square < 1.0:
            return x * math.sqrt(-2.0 * math.log(square) / square)
