"""DTS as Wu and Liu (2016) write it, with every theta and phi from its Beta posterior."""

from __future__ import annotations

import random

from references.bounds import Bounds


class DTS(Bounds):
    def __init__(self, n_arms: int, alpha: float, seed: int) -> None:
        super().__init__(n_arms, alpha)
        self.python = random.Random(seed)

    def candidates(self) -> list[int]:
        arms = range(self.K)
        bound = [sum(self.u(i, j) > 0.5 for j in arms if j != i) for i in arms]
        return [i for i in arms if bound[i] == max(bound)]

    def choose(self) -> tuple[int, int]:
        arms = range(self.K)
        beta = self.python.betavariate
        theta = [[0.5] * self.K for _ in arms]
        for i in arms:
            for j in range(i + 1, self.K):
                theta[i][j] = beta(self.w[i][j] + 1, self.w[j][i] + 1)
                theta[j][i] = 1 - theta[i][j]
        score = {i: sum(theta[i][j] > 0.5 for j in arms) for i in self.candidates()}
        c = self.python.choice([i for i in score if score[i] == max(score.values())])
        phi = {j: beta(self.w[j][c] + 1, self.w[c][j] + 1) for j in arms if j != c and self.l(j, c) <= 0.5}
        phi[c] = 0.5
        return c, max(phi, key=lambda j: phi[j])
