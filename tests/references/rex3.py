"""REX3 as Gajane et al. (2015) write it, with all probabilities anew in every step."""

from __future__ import annotations

import math
from collections.abc import Callable

from references.stream import Stream


class REX3:
    def __init__(self, n_arms: int, horizon: int | None, gamma: float | None, seed: int) -> None:
        self.K, self.horizon, self.gamma = n_arms, horizon, gamma
        self.rng = Stream.from_seed(seed)
        self.log_weights = [0.0] * n_arms
        self.t = 0

    def g(self) -> float:
        if self.gamma is not None:
            return self.gamma
        return min(0.5, math.sqrt(self.K * math.log(self.K) / (math.e * (self.horizon or self.t))))

    def p(self) -> list[float]:
        weights, g = self.weights(), self.g()
        total = sum(weights)
        return [(1 - g) * weight / total + g / self.K for weight in weights]

    def weights(self) -> list[float]:
        largest = max(self.log_weights)
        return [math.exp(weight - largest) for weight in self.log_weights]

    def draw(self) -> int:
        """From the mixture: uniformly with probability g, else by the weights."""
        if self.rng.uniform() < self.g():
            return self.rng.below(self.K)
        weights = self.weights()
        rest = self.rng.uniform() * sum(weights)
        for i, weight in enumerate(weights):
            if rest < weight:
                return i
            rest -= weight
        return self.K - 1

    def step(self, beats: Callable[[int, int], bool]) -> tuple[int, int]:
        self.t += 1
        c, d = self.draw(), self.draw()
        psi = 0.5 if beats(c, d) else -0.5
        p = self.p()
        self.log_weights[c] += self.g() / self.K * psi / (2 * p[c])
        self.log_weights[d] -= self.g() / self.K * psi / (2 * p[d])
        return c, d
