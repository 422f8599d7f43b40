"""MergeDTS and MergeRUCB as the thesis writes them (its algorithms 1 to 3), step by step and slowly.

The settled points of the pseudo-code: the partition is of a random permutation, self-comparisons teach nothing, and a
stage ends by pairing the smallest batch with the largest where their union has at most 1.5 M arms.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from references.stream import Stream


class Merging:
    def __init__(self, n_arms: int, alpha: float, batch_size: int, c: float, seed: int) -> None:
        self.K, self.alpha, self.M, self.C = n_arms, alpha, batch_size, c
        self.rng = Stream.from_seed(seed)
        arms = list(range(n_arms))
        self.rng.shuffle(arms)
        self.B = [arms[i : i + batch_size] for i in range(0, n_arms, batch_size)]
        self.w = [[0] * n_arms for _ in range(n_arms)]
        self.s = 1
        self.t = 0

    def u(self, i: int, j: int) -> float:
        n = self.w[i][j] + self.w[j][i]
        if n == 0:
            return 2.0
        return self.w[i][j] / n + math.sqrt(self.alpha * math.log(self.t + self.C) / n)

    def step(self, beats: Callable[[int, int], bool]) -> tuple[int, int]:
        self.t += 1
        m = self.t % len(self.B)
        if len(self.B) == 1 and len(self.B[0]) == 1:
            return self.B[0][0], self.B[0][0]
        batch = self.B[m]
        self.B[m] = [i for i in batch if not any(self.u(i, j) < 0.5 for j in batch if j != i)]
        if len(self.B) > 1 and len(self.B[m]) == 1:
            following = (m + 1) % len(self.B)
            m, gone = min(m, following), max(m, following)
            self.B[m] += self.B.pop(gone)
        batch = self.B[m]
        c, d = (batch[0], batch[0]) if len(batch) == 1 else self.choose(batch)
        if c != d:
            if beats(c, d):
                self.w[c][d] += 1
            else:
                self.w[d][c] += 1
        if sum(map(len, self.B)) <= self.K / 2**self.s:
            self.repartition()
            self.s += 1
        return c, d

    def repartition(self) -> None:
        old = self.B
        by_size = sorted(range(len(old)), key=lambda b: len(old[b]))
        self.B = []
        while by_size:
            small = by_size.pop(0)
            if not by_size:
                self.B.append(old[small])
                break
            large = by_size.pop()
            if len(old[small]) + len(old[large]) > 1.5 * self.M:
                self.B += [old[small], old[large]]
            else:
                self.B.append(old[min(small, large)] + old[max(small, large)])

    def choose(self, batch: list[int]) -> tuple[int, int]:
        raise NotImplementedError


class MergeRUCB(Merging):
    def choose(self, batch: list[int]) -> tuple[int, int]:
        c = batch[self.rng.below(len(batch))]
        d = batch[self.rng.pick_largest([-1.0 if j == c else self.u(j, c) for j in batch])]
        return c, d


class MergeDTS(Merging):
    """Draws every theta and phi from its Beta posterior, from a generator of Python's own."""

    def __init__(self, n_arms: int, alpha: float, batch_size: int, c: float, seed: int) -> None:
        super().__init__(n_arms, alpha, batch_size, c, seed)
        import random

        self.python = random.Random(seed)

    def choose(self, batch: list[int]) -> tuple[int, int]:
        beta = self.python.betavariate
        wins = dict.fromkeys(batch, 0)
        for x, i in enumerate(batch):
            for j in batch[x + 1 :]:
                theta = beta(self.w[i][j] + 1, self.w[j][i] + 1)
                wins[i if theta > 0.5 else j] += 1
        most = max(wins.values())
        c = self.python.choice([i for i in batch if wins[i] == most])
        phi = {j: beta(self.w[j][c] + 1, self.w[c][j] + 1) for j in batch if j != c}
        return c, min(phi, key=lambda j: phi[j])
