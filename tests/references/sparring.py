"""Self-Sparring and Sparring with plain draws and plain indices."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from references.stream import Stream

Arms = npt.NDArray[np.int64]


class SelfSparring:
    """Many runs side by side, each with Thompson sampling by plain Beta draws: the arm with the largest of one each."""

    def __init__(self, n_arms: int, runs: int, seed: int) -> None:
        self.S, self.F = np.zeros((runs, n_arms), int), np.zeros((runs, n_arms), int)
        self.draw = np.random.default_rng(seed)
        self.run = np.arange(runs)

    def choose(self) -> tuple[Arms, Arms]:
        c, d = self.draw.beta(self.S + 1, self.F + 1, size=(2, *self.S.shape)).argmax(axis=2)
        return c, d

    def step(self, preferences: npt.NDArray[np.float64]) -> tuple[Arms, Arms]:
        c, d = self.choose()
        left_won = self.draw.random(len(self.run)) < preferences[c, d]
        self.S[self.run, np.where(left_won, c, d)] += 1  # a duel of an arm with itself is a win and a loss
        self.F[self.run, np.where(left_won, d, c)] += 1
        return c, d


class SparringThompson:
    """Many runs side by side, with a learner for the left arm and one for the right arm in each."""

    def __init__(self, n_arms: int, runs: int, seed: int) -> None:
        self.S, self.F = np.zeros((2, runs, n_arms), int), np.zeros((2, runs, n_arms), int)
        self.draw = np.random.default_rng(seed)
        self.run = np.arange(runs)

    def choose(self) -> tuple[Arms, Arms]:
        c, d = self.draw.beta(self.S + 1, self.F + 1).argmax(axis=2)
        return c, d

    def step(self, preferences: npt.NDArray[np.float64]) -> tuple[Arms, Arms]:
        c, d = self.choose()
        left_won = self.draw.random(len(self.run)) < preferences[c, d]
        self.S[0, self.run, c] += left_won
        self.F[0, self.run, c] += ~left_won
        self.S[1, self.run, d] += ~left_won
        self.F[1, self.run, d] += left_won
        return c, d


class SparringUCB1:
    def __init__(self, n_arms: int, seed: int) -> None:
        self.K = n_arms
        self.wins = [[0] * n_arms, [0] * n_arms]
        self.plays = [[0] * n_arms, [0] * n_arms]
        self.rng = Stream.from_seed(seed)
        self.t = 0

    def index(self, side: int, i: int) -> float:
        n = self.plays[side][i]
        return self.wins[side][i] / n + math.sqrt(2 * math.log(self.t) / n) if n else math.inf

    def step(self, beats: Callable[[int, int], bool]) -> tuple[int, int]:
        self.t += 1
        c, d = (self.rng.pick_largest([self.index(side, i) for i in range(self.K)]) for side in range(2))
        left_won = beats(c, d) if c != d else self.rng.uniform() < 0.5
        self.plays[0][c] += 1
        self.plays[1][d] += 1
        if left_won:
            self.wins[0][c] += 1
        else:
            self.wins[1][d] += 1
        return c, d
