"""TopRank, BatchRank and RankedEXP3 as their papers write them, step by step and slowly.

`step` takes a function from a list to its clicks, and how many positions were seen (None: all).
Random choices are drawn in the same order as in the compiled forms.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from references.stream import Stream

Clicks = Callable[[list[int]], list[int]]


def shuffle_first(rng: Stream, values: list[int], n: int) -> None:
    """Put n random values, in random order, first."""
    for k in range(n):
        if len(values) - k > 1:
            j = k + rng.below(len(values) - k)
            values[k], values[j] = values[j], values[k]


class TopRank:
    def __init__(self, n_items: int, n_positions: int, delta: float, seed: int) -> None:
        self.L, self.K, self.delta = n_items, n_positions, delta
        self.rng = Stream.from_seed(seed)
        self.G: set[tuple[int, int]] = set()
        self.S = [[0] * n_items for _ in range(n_items)]
        self.N = [[0] * n_items for _ in range(n_items)]
        self.blocks = [list(range(n_items))]

    def partition(self) -> list[list[int]]:
        blocks = []
        remaining = list(range(self.L))
        while remaining:
            top = [i for i in remaining if not any((i, j) in self.G for j in remaining)]
            blocks.append(top)
            remaining = [i for i in remaining if i not in top]
        return blocks

    def choose(self) -> list[int]:
        shown: list[int] = []
        for block in self.blocks:
            shuffle_first(self.rng, block, min(len(block), self.K - len(shown)))
            shown += block[: self.K - len(shown)]
        return shown

    def step(self, clicks: Clicks, seen: int | None = None) -> list[int]:
        shown = self.choose()
        clicked = dict(zip(shown, clicks(shown), strict=True))
        unseen = shown[len(shown) if seen is None else seen :]
        c = 4 * math.sqrt(2 / math.pi) / math.erf(math.sqrt(2))
        decided = set()
        for block in self.blocks:
            for i in block:
                for j in block:
                    if i == j or i in unseen or j in unseen:
                        continue
                    U = clicked.get(i, 0) - clicked.get(j, 0)
                    if U == 0:
                        continue  # counts that stay the same decide nothing new
                    self.S[i][j] += U
                    self.N[i][j] += abs(U)
                    n = self.N[i][j]
                    if self.S[i][j] >= math.sqrt(2 * n * math.log(c / self.delta * math.sqrt(n))):
                        decided.add((j, i))
        if not decided <= self.G:
            self.G |= decided
            self.blocks = self.partition()
        return shown


def kl(p: float, q: float) -> float:
    return sum(a * math.log(a / b) for a, b in ((p, q), (1 - p, 1 - q)) if a > 0)


def furthest(p: float, limit: float, level: float) -> float:
    """The q between p and the limit that has kl(p, q) = level, or the limit."""
    near, far = p, limit
    for _ in range(60):
        q = (near + far) / 2
        near, far = (q, far) if kl(p, q) <= level else (near, q)
    return near


class Batch:
    def __init__(self, items: list[int], first: int, last: int, stage: int, horizon: int) -> None:
        self.items, self.first, self.last, self.stage = items, first, last, stage
        self.length = last - first
        self.n = dict.fromkeys(items, 0)
        self.c = dict.fromkeys(items, 0)
        self.enough = math.ceil(16 * 4**stage * math.log(horizon))


class BatchRank:
    def __init__(self, n_items: int, n_positions: int, horizon: int, seed: int) -> None:
        self.K, self.horizon = n_positions, horizon
        self.rng = Stream.from_seed(seed)
        self.batches = [Batch(list(range(n_items)), 0, n_positions, 0, horizon)]

    def display(self, batch: Batch) -> list[int]:
        shown: list[int] = []
        if len(batch.items) == batch.length:
            shown = list(batch.items)
        else:
            for count in sorted(set(batch.n.values())):
                level = [d for d in batch.items if batch.n[d] == count]
                wanted = min(len(level), batch.length - len(shown))
                shuffle_first(self.rng, level, wanted)
                shown += level[:wanted]
        shuffle_first(self.rng, shown, batch.length)
        return shown

    def update(self, batch: Batch) -> list[Batch]:
        if min(batch.n.values()) < batch.enough or len(batch.items) == 1:
            return [batch]
        level = (math.log(self.horizon) + 3 * math.log(math.log(self.horizon))) / batch.enough
        rate = {d: batch.c[d] / batch.enough for d in batch.items}
        lower = {d: furthest(rate[d], 0, level) for d in batch.items}
        upper = {d: furthest(rate[d], 1, level) for d in batch.items}
        order = sorted(batch.items, key=lambda d: -rate[d])
        s = 0
        for k in range(1, batch.length):
            if min(lower[d] for d in order[:k]) > max(upper[d] for d in order[k:]):
                s = k
        if s > 0:
            middle = batch.first + s
            return [
                Batch(order[:s], batch.first, middle, 0, self.horizon),
                Batch(order[s:], middle, batch.last, 0, self.horizon),
            ]
        if len(order) > batch.length:
            order = [d for d in order if upper[d] >= lower[order[batch.length - 1]]]
        return [Batch(order, batch.first, batch.last, batch.stage + 1, self.horizon)]

    def step(self, clicks: Clicks, seen: int | None = None) -> list[int]:
        shown = [d for batch in self.batches for d in self.display(batch)]
        clicked = dict(zip(shown, clicks(shown), strict=True))
        for batch in self.batches:
            least = min(batch.n.values())
            for d in shown[:seen][batch.first : batch.last]:
                # With as many items as positions all are shown alike, and those not seen catch up later.
                if batch.n[d] == least or (len(batch.items) == batch.length and batch.n[d] < batch.enough):
                    batch.c[d] += clicked[d]
                    batch.n[d] += 1
        self.batches = [new for batch in self.batches for new in self.update(batch)]
        return shown


class RankedEXP3:
    """Keeps logarithms of weights, which never overflow."""

    def __init__(self, n_items: int, n_positions: int, gamma: float | None, seed: int) -> None:
        self.L, self.K, self.gamma = n_items, n_positions, gamma
        self.rng = Stream.from_seed(seed)
        self.log_w = [[0.0] * n_items for _ in range(n_positions)]
        self.pool = list(range(n_items))
        self.t = 0

    def probabilities(self, k: int, gamma: float) -> list[float]:
        largest = max(self.log_w[k])
        w = [math.exp(x - largest) for x in self.log_w[k]]
        return [(1 - gamma) * x / sum(w) + gamma / self.L for x in w]

    def step(self, clicks: Clicks, seen: int | None = None) -> list[int]:
        gamma = self.gamma
        if gamma is None:
            gamma = min(1.0, math.sqrt(self.L * math.log(self.L) / ((math.e - 1) * (self.t + 1))))
        shown: list[int] = []
        own: list[float | None] = []
        for k in range(self.K):
            p = self.probabilities(k, gamma)
            choice = self.sample(p, gamma)
            own.append(None if choice in shown else p[choice])
            if choice in shown:
                choice = self.pool[k + self.rng.below(self.L - k)]
            shown.append(choice)
            where = self.pool.index(choice)
            self.pool[k], self.pool[where] = choice, self.pool[k]
        self.t += seen != 0
        for k, (click, probability) in list(enumerate(zip(clicks(shown), own, strict=True)))[:seen]:
            if click and probability is not None:
                self.log_w[k][shown[k]] += gamma / (self.L * probability)
        return shown

    def sample(self, p: list[float], gamma: float) -> int:
        """With probability gamma any item, else one by weight, told from one uniform number."""
        u = self.rng.uniform()
        if u < gamma:
            return int(u / gamma * self.L)
        left = u - gamma
        for i, x in enumerate(p):
            left -= x - gamma / self.L
            if left < 0:
                return i
        return self.L - 1
