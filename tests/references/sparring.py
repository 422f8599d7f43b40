"""Self-Sparring and Sparring with plain draws and plain indices."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

from references.stream import Stream


def sample_best(draw: random.Random, wins: Sequence[int], losses: Sequence[int]) -> int:
    """Thompson sampling: the arm with the largest of one Beta draw each."""
    theta = [draw.betavariate(s + 1, f + 1) for s, f in zip(wins, losses, strict=True)]
    return theta.index(max(theta))


class SelfSparring:
    def __init__(self, n_arms: int, seed: int) -> None:
        self.S, self.F = [0] * n_arms, [0] * n_arms
        self.draw = random.Random(seed)

    def step(self, beats: Callable[[int, int], bool]) -> tuple[int, int]:
        c, d = sample_best(self.draw, self.S, self.F), sample_best(self.draw, self.S, self.F)
        winner, loser = (c, d) if beats(c, d) else (d, c)
        self.S[winner] += 1  # a duel of an arm with itself is a win and a loss
        self.F[loser] += 1
        return c, d


class SparringThompson:
    def __init__(self, n_arms: int, seed: int) -> None:
        self.S = [[0] * n_arms, [0] * n_arms]
        self.F = [[0] * n_arms, [0] * n_arms]
        self.draw = random.Random(seed)

    def step(self, beats: Callable[[int, int], bool]) -> tuple[int, int]:
        c, d = (sample_best(self.draw, self.S[side], self.F[side]) for side in range(2))
        left_won = beats(c, d)
        (self.S if left_won else self.F)[0][c] += 1
        (self.F if left_won else self.S)[1][d] += 1
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
