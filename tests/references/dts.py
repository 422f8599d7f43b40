"""DTS as Wu and Liu (2016) write it, with every theta and phi from its Beta posterior, in many runs side by side."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Arms = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class DTS:
    """Arrays have a row for each run: `w[run, i, j]` duels were won by i against j."""

    def __init__(self, n_arms: int, alpha: float, runs: int, seed: int) -> None:
        self.K, self.alpha = n_arms, alpha
        self.w = np.zeros((runs, n_arms, n_arms), int)
        self.t = 1
        self.draw = np.random.default_rng(seed)
        self.run = np.arange(runs)

    def start_from(self, w: npt.ArrayLike) -> None:
        """Set all runs to the same counts."""
        self.w[:] = w
        self.t = 1 + int(np.sum(w))

    def bounds(self) -> tuple[Floats, Floats]:
        """u and l."""
        n = self.w + self.w.swapaxes(1, 2)
        share = self.w / np.maximum(n, 1)
        bonus = np.sqrt(self.alpha * np.log(self.t) / np.maximum(n, 1))
        u, l = np.where(n == 0, 2.0, share + bonus), np.where(n == 0, 0.0, share - bonus)  # noqa: E741
        arms = np.arange(self.K)
        u[:, arms, arms] = l[:, arms, arms] = 0.5
        return u, l

    def candidates(self) -> npt.NDArray[np.bool_]:
        bound = (self.bounds()[0] > 0.5).sum(axis=2)
        return bound == bound.max(axis=1, keepdims=True)

    def choose(self) -> tuple[Arms, Arms]:
        i, j = np.triu_indices(self.K, 1)
        theta = np.zeros(self.w.shape)
        theta[:, i, j] = self.draw.beta(self.w[:, i, j] + 1, self.w[:, j, i] + 1)
        theta[:, j, i] = 1 - theta[:, i, j]
        score = np.where(self.candidates(), (theta > 0.5).sum(axis=2), -1)
        c = (score + self.draw.random(score.shape)).argmax(axis=1)  # ties at random
        phi = self.draw.beta(self.w[self.run, :, c] + 1, self.w[self.run, c] + 1)
        phi[self.run, c] = 0.5
        return c, np.where(self.bounds()[1][self.run, :, c] <= 0.5, phi, -1.0).argmax(axis=1)

    def step(self, preferences: Floats) -> tuple[Arms, Arms]:
        c, d = self.choose()
        left_won = self.draw.random(len(self.run)) < preferences[c, d]
        winner, loser = np.where(left_won, c, d), np.where(left_won, d, c)
        self.w[self.run, winner, loser] += winner != loser
        self.t += 1
        return c, d
