"""Small random numbers by the thousand: xoroshiro128++ in many lanes side by side, which processors run at once."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from rankloop.kernels.arrays import Stream, Words
from rankloop.kernels.compiler import compiled

Lanes: TypeAlias = Words


def lanes(rng: Stream, n: int) -> Lanes:
    """Generators for n words at a time, seeded from the state of a stream.

    >>> from rankloop.kernels import stream
    >>> lanes(stream(7), 3).shape
    (2, 3)
    """
    words = np.random.SeedSequence(rng.tolist()).generate_state(2 * n, np.uint64)
    return np.asarray(words, np.uint64).reshape(2, n)


@compiled
def fill_words(state: Lanes, words: npt.NDArray[np.uint64]) -> None:
    """Write one word of 64 random bits from each lane."""
    first, second = state[0], state[1]
    for k in range(len(words)):
        a, b = first[k], second[k]
        total = a + b
        words[k] = ((total << np.uint64(17)) | (total >> np.uint64(47))) + a
        b ^= a
        first[k] = ((a << np.uint64(49)) | (a >> np.uint64(15))) ^ b ^ (b << np.uint64(21))
        second[k] = (b << np.uint64(28)) | (b >> np.uint64(36))
