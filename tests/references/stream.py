"""xoshiro256++ in plain Python, with the draws that the references share with the compiled policies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

MASK = (1 << 64) - 1


def _rotate(x: int, k: int) -> int:
    return ((x << k) | (x >> (64 - k))) & MASK


class Stream:
    def __init__(self, words: Sequence[int]) -> None:
        self.s = [int(w) for w in words]

    @classmethod
    def from_seed(cls, seed: int) -> Stream:
        return cls(np.random.SeedSequence(seed).generate_state(4, np.uint64))

    def word(self) -> int:
        s = self.s
        result = (_rotate((s[0] + s[3]) & MASK, 23) + s[0]) & MASK
        t = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = _rotate(s[3], 45)
        return result

    def uniform(self) -> float:
        return (self.word() >> 11) / 2**53

    def below(self, n: int) -> int:
        return int(self.uniform() * n)

    def shuffle(self, values: list[int]) -> None:
        for i in range(len(values) - 1, 0, -1):
            j = self.below(i + 1)
            values[i], values[j] = values[j], values[i]

    def pick_largest(self, values: Sequence[float]) -> int:
        """An index of the largest value; where several are equal, a random one of them."""
        largest = max(values)
        tied = [i for i, value in enumerate(values) if value == largest]
        return tied[0] if len(tied) == 1 else tied[self.below(len(tied))]
