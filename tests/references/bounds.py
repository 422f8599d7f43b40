"""Counts of duels and their confidence bounds, as the dueling bandit papers write them."""

from __future__ import annotations

import math
from collections.abc import Callable


class Bounds:
    def __init__(self, n_arms: int, alpha: float) -> None:
        self.K, self.alpha = n_arms, alpha
        self.w = [[0] * n_arms for _ in range(n_arms)]
        self.t = 1

    def bonus(self, n: int) -> float:
        return math.sqrt(self.alpha * math.log(self.t) / n)

    def u(self, i: int, j: int) -> float:
        n = self.w[i][j] + self.w[j][i]
        if i == j:
            return 0.5
        return 2.0 if n == 0 else self.w[i][j] / n + self.bonus(n)

    def l(self, i: int, j: int) -> float:  # noqa: E743
        n = self.w[i][j] + self.w[j][i]
        if i == j:
            return 0.5
        return 0.0 if n == 0 else self.w[i][j] / n - self.bonus(n)

    def choose(self) -> tuple[int, int]:
        raise NotImplementedError

    def learn(self, winner: int, loser: int) -> None:
        if winner != loser:
            self.w[winner][loser] += 1
        self.t += 1

    def step(self, beats: Callable[[int, int], bool]) -> tuple[int, int]:
        c, d = self.choose()
        self.learn(*((c, d) if beats(c, d) else (d, c)))
        return c, d
