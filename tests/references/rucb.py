"""RUCB as Zoghi et al. (2014) write it."""

from __future__ import annotations

from references.bounds import Bounds
from references.stream import Stream


class RUCB(Bounds):
    def __init__(self, n_arms: int, alpha: float, seed: int) -> None:
        super().__init__(n_arms, alpha)
        self.rng = Stream.from_seed(seed)
        self.B: set[int] = set()
        self.sizes_of_C: set[int] = set()

    def choose(self) -> tuple[int, int]:
        arms = range(self.K)
        C = [c for c in arms if all(self.u(c, j) >= 0.5 for j in arms)]
        self.sizes_of_C.add(len(C))
        self.B &= set(C)
        if len(C) == 0:
            c = self.rng.below(self.K)
        elif len(C) == 1:
            c = C[0]
            self.B = {c}
        elif self.B and self.rng.uniform() < 0.5:
            c = next(iter(self.B))
        else:
            others = [i for i in C if i not in self.B]
            c = others[self.rng.below(len(others))]
        u = [self.u(j, c) for j in arms]
        if u.count(max(u)) > 1:
            u[c] = -1.0
        return c, self.rng.pick_largest(u)
