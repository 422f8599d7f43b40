"""MergeDTS and MergeRUCB as the thesis writes them (its algorithms 1 to 3), step by step and slowly.

The settled points of the pseudo-code: the partition is of a random permutation, self-comparisons teach nothing, and a
stage ends with batches regrouped to sizes from 0.5 M to 1.5 M where that is possible.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from rankloop import PreferenceMatrix
from references.stream import Stream


def coin(problem: PreferenceMatrix, seed: int) -> Callable[[int, int], bool]:
    """Outcomes of duels: whether i beats j."""
    draw = random.Random(seed)
    return lambda i, j: draw.random() < problem.preferences[i, j]


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
        groups = regroup([len(batch) for batch in self.B], self.M)
        self.B = [[arm for b in sorted(group) for arm in self.B[b]] for group in groups]

    def choose(self, batch: list[int]) -> tuple[int, int]:
        raise NotImplementedError


def regroup(sizes: list[int], M: int) -> list[list[int]]:
    """Which batches are joined at the end of a stage."""

    def arms(group: list[int]) -> int:
        return sum(sizes[b] for b in group)

    def pair(groups: list[list[int]]) -> list[list[int]]:
        waiting, done = sorted(groups, key=arms), []
        while len(waiting) > 1:
            small, large = waiting.pop(0), waiting.pop()
            done += [small + large] if arms(small + large) <= 1.5 * M else [small, large]
        return done + waiting

    paired = pair([[b] for b in range(len(sizes))])
    if all(arms(group) >= M / 2 for group in paired):
        return paired
    small = sorted((b for b in range(len(sizes)) if sizes[b] < M / 2), key=lambda b: (-sizes[b], -b))
    groups = [[b] for b in range(len(sizes)) if sizes[b] >= M / 2]
    made: list[list[int]] = []
    if arms(small) >= M / 2:  # they join each other; what is left for a last group must suffice for one
        while small:
            if not made or (arms(made[-1]) >= M / 2 and arms(small) >= M / 2):
                made.append([])
            made[-1].append(small.pop(0))
    else:  # each joins the largest that has room for it
        for b in small:
            with_room = [group for group in groups + made if arms(group) + sizes[b] <= 1.5 * M]
            if with_room:
                max(with_room, key=arms).append(b)
            else:
                made.append([b])
    return pair(sorted(groups + made))


class MergeRUCB(Merging):
    def choose(self, batch: list[int]) -> tuple[int, int]:
        c = batch[self.rng.below(len(batch))]
        d = batch[self.rng.pick_largest([-1.0 if j == c else self.u(j, c) for j in batch])]
        return c, d


class MergeDTS(Merging):
    """Draws every theta and phi from its Beta posterior, from a generator of its own."""

    def __init__(self, n_arms: int, alpha: float, batch_size: int, c: float, seed: int) -> None:
        super().__init__(n_arms, alpha, batch_size, c, seed)
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

    def choices(self, n: int, seed: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Draw as `choose` does, many times with the present counts, where all arms are in one batch."""
        draw = np.random.default_rng(seed)
        w = np.array(self.w)
        i, j = np.triu_indices(self.K, 1)
        theta = np.zeros((n, self.K, self.K))
        theta[:, i, j] = draw.beta(w[i, j] + 1, w[j, i] + 1, size=(n, len(i)))
        theta[:, j, i] = 1 - theta[:, i, j]
        wins = (theta > 0.5).sum(axis=2)
        c = (wins + draw.random(wins.shape)).argmax(axis=1)  # ties at random
        phi = draw.beta(w[:, c].T + 1, w[c] + 1)
        phi[np.arange(n), c] = np.inf
        return c, phi.argmin(axis=1)
