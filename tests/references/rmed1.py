"""RMED1 as Komiyama et al. (2015) write it, and with the thesis' opponents, all of I and O anew in every step."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

from references.stream import Stream

UNIT = math.log(2) / 2**29
"""Evidence is rounded to it, entry by entry: rounding decides between arms that tie, and must do so in one way."""


def d(p: float, q: float) -> float:
    return sum(x * math.log(x / y) for x, y in ((p, q), (1 - p, 1 - q)) if x > 0)


@cache
def evidence(won: int, lost: int) -> int:
    """That one arm is worse than another: n d(share, 1/2) in units, nothing if it is ahead or they have not met.

    The same few counts come again and again.
    """
    n = won + lost
    return round(n * d(won / n, 0.5) / UNIT) if n and won <= lost else 0


class RMED1:
    def __init__(self, n_arms: int, f: float, seed: int, opponent: str = "published") -> None:
        self.K, self.f, self.opponent = n_arms, f, opponent
        self.rng = Stream.from_seed(seed)
        self.w = [[0] * n_arms for _ in range(n_arms)]
        self.order = list(range(n_arms))
        self.rng.shuffle(self.order)
        self.pairs = [(i, j) for x, i in enumerate(self.order) for j in self.order[x + 1 :]]
        self.L_C = self.order.copy()
        self.L_R = set(range(n_arms))
        self.L_N: set[int] = set()
        self.I_now = [0.0] * n_arms
        self.sweeps = 0
        self.t = 0

    def n(self, i: int, j: int) -> int:
        return self.w[i][j] + self.w[j][i]

    def share(self, i: int, j: int) -> float:
        return self.w[i][j] / self.n(i, j) if self.n(i, j) else 1.0

    def O(self, i: int) -> list[int]:  # noqa: E743
        return [j for j in range(self.K) if j != i and self.share(i, j) <= 0.5]

    def I(self, i: int) -> float:  # noqa: E743
        return UNIT * sum(evidence(self.w[i][j], self.w[j][i]) for j in range(self.K) if j != i)

    def step(self, beats: Callable[[int, int], bool]) -> tuple[int, int]:
        self.t += 1
        if self.pairs:
            left, right = self.pairs.pop(0)
            self.observe(left, right, beats)
            return left, right
        left = self.L_C.pop(0)
        right = self.strongest(left) if self.opponent == "strongest" else self.published(left)
        self.observe(left, right, beats)
        self.L_R.remove(left)
        least = min(self.I_now)
        for j in range(self.K):
            if j not in self.L_R and self.I_now[j] - least <= math.log(self.t) + self.f:
                self.L_N.add(j)
        if not self.L_C:
            self.L_C, self.L_R, self.L_N = sorted(self.L_N, key=self.order.index), self.L_N, set()
            self.sweeps += 1
        return left, right

    def published(self, left: int) -> int:
        best = self.rng.pick_largest([-evidence for evidence in self.I_now])
        worse_than = self.O(left)
        return best if best in worse_than or not worse_than else self.beats_most(left)

    def strongest(self, left: int) -> int:
        lowest = min(self.share(left, j) for j in range(self.K) if j != left)
        return left if lowest > 0.5 else self.beats_most(left)

    def beats_most(self, left: int) -> int:
        return self.rng.pick_largest([-2.0 if j == left else -self.share(left, j) for j in range(self.K)])

    def observe(self, left: int, right: int, beats: Callable[[int, int], bool]) -> None:
        if beats(left, right):
            self.w[left][right] += 1
        else:
            self.w[right][left] += 1
        self.I_now = [self.I(i) for i in range(self.K)]
