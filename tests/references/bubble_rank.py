"""BubbleRank as the thesis writes it (chapter 3), with the points that its text and proof settle.

Only pairs whose order was left to chance in a list teach anything, and a pair once decided stays decided. With more
items than positions, the discussion's extension: at the steps that leave the last position alone, a random item below
it that is not known to be worse is set against it, and the one that is not shown counts as not clicked.
"""

from __future__ import annotations

import math

from references.stream import Stream


class BubbleRank:
    def __init__(self, initial: list[int], n_positions: int, horizon: int, seed: int) -> None:
        self.R = list(initial)
        self.K = n_positions
        self.log = 4 * math.log(horizon)
        L = len(initial)
        self.s = [[0] * L for _ in range(L)]
        self.n = [[0] * L for _ in range(L)]
        self.rng = Stream.from_seed(seed)
        self.t = 0
        self.pairs: list[tuple[int, int]] = []
        self.hidden: int | None = None

    def better(self, i: int, j: int) -> bool:
        return self.s[i][j] > 2 * math.sqrt(self.n[i][j] * self.log)

    def rank(self) -> list[int]:
        self.t += 1
        h = self.t % 2
        shown = self.R[: self.K]
        self.pairs, self.hidden = [], None
        bits = self.rng.word()
        for k in range(h, self.K - 1, 2):
            if not self.better(self.R[k], self.R[k + 1]):
                self.pairs.append((k, k + 1))
                if bits % 2:
                    shown[k], shown[k + 1] = shown[k + 1], shown[k]
                bits //= 2
        if (self.K - h) % 2 == 1:
            last = self.R[self.K - 1]
            rivals = [j for j in self.R[self.K :] if not self.better(last, j)]
            if rivals:
                rival = rivals[self.rng.below(len(rivals))]
                if self.rng.word() % 2:
                    shown[-1], self.hidden = rival, last
                else:
                    self.hidden = rival
        return shown

    def update(self, shown: list[int], clicks: list[int], seen: int | None = None) -> None:
        if seen == 0:
            return
        looked_at = range(self.K)[:seen]
        observations = [(shown[k], shown[j], clicks[k], clicks[j]) for k, j in self.pairs if {k, j} <= set(looked_at)]
        if self.hidden is not None and self.K - 1 in looked_at:
            observations.append((shown[-1], self.hidden, clicks[-1], 0))
        for i, j, click_i, click_j in observations:
            if abs(click_i - click_j) == 1 and not self.better(i, j) and not self.better(j, i):
                self.s[i][j] += click_i - click_j
                self.s[j][i] += click_j - click_i
                self.n[i][j] += 1
                self.n[j][i] += 1
        for k in range(self.K - 1):
            if self.better(self.R[k + 1], self.R[k]):
                self.R[k], self.R[k + 1] = self.R[k + 1], self.R[k]
        for q in range(self.K, len(self.R)):
            if self.better(self.R[q], self.R[self.K - 1]):
                self.R[q], self.R[self.K - 1] = self.R[self.K - 1], self.R[q]
