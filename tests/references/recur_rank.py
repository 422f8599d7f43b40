"""RecurRank in plain NumPy, after the paper's pseudo-code; the design is given, since optimal ones are not unique."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from references.stream import Stream

Design = Callable[[np.ndarray], tuple[np.ndarray, float]]
"""Weights of rows, and the largest leverage."""


def largest_leverage(rows: np.ndarray, weights: np.ndarray) -> float:
    moments = rows.T @ (weights[:, None] * rows)
    return float(np.einsum("ij,jk,ik->i", rows, np.linalg.pinv(moments, rcond=1e-12, hermitian=True), rows).max())


def uniform_design(rows: np.ndarray) -> tuple[np.ndarray, float]:
    """The optimal one where features are orthogonal and equally long."""
    return np.full(len(rows), 1 / len(rows)), float(len(rows))


class Part:
    def __init__(self, phase: int, items: list[int], positions: list[int]) -> None:
        self.phase, self.items, self.positions = phase, items, positions
        self.schedule: dict[int, int] = {}
        self.data: list[tuple[int, int]] = []


class RecurRank:
    def __init__(self, features: np.ndarray, n_positions: int, delta: float, seed: int, design: Design) -> None:
        self.features, self.K, self.delta, self.design = features, n_positions, delta, design
        self.rng = Stream.from_seed(seed)
        items = list(range(len(features)))
        self.rng.shuffle(items)
        self.parts: list[Part] = []
        self.call(1, items, list(range(n_positions)))

    def call(self, phase: int, items: list[int], positions: list[int]) -> None:
        part = Part(phase, items, positions)
        self.parts.append(part)
        self.parts.sort(key=lambda p: p.positions[0])
        rows = self.features[items]
        if (rows == rows[0]).all():
            return
        weights, leverage = self.design(rows)
        width = 2.0**-phase
        delta = self.delta / (2 * self.K * phase * (phase + 1))
        for item, weight in zip(items, weights, strict=True):
            if weight > 0:
                part.schedule[item] = math.ceil(leverage * weight / (2 * width**2) * math.log(len(items) / delta))

    def missing(self, part: Part) -> list[int]:
        """The trials that are still to be made, one entry each."""
        done = [item for item, _ in part.data]
        return [a for a, count in part.schedule.items() for _ in range(count - done.count(a))]

    def rank(self) -> list[int]:
        shown: list[int] = []
        for part in self.parts:
            m = len(part.positions)
            tried = []
            if part.schedule:
                missing = self.missing(part)
                tried = [missing[self.rng.below(len(missing))]]
            shown += (tried + [a for a in part.items if a not in tried])[:m]
        return shown

    def update(self, ranking: Sequence[int], clicks: Sequence[int], seen: int | None = None) -> None:
        for part in list(self.parts):
            k = part.positions[0]
            if part.schedule and k in range(self.K)[:seen]:
                part.data.append((ranking[k], clicks[k]))
                if not self.missing(part):
                    self.recur(part)

    def recur(self, part: Part) -> None:
        rows = np.array([self.features[a] for a, _ in part.data])
        observed = np.array([click for _, click in part.data])
        theta = np.linalg.pinv(rows.T @ rows, rcond=1e-12, hermitian=True) @ (rows.T @ observed)
        # Rounding keeps equal items equal, so that the sort leaves them as they are.
        value = {a: round(float(sum(theta * self.features[a])), 9) for a in part.items}
        order = sorted(part.items, key=lambda a: -value[a])
        k, m, gap = part.positions[0], len(part.positions), 2 * 2.0**-part.phase
        order = order[:m] + [a for a in order[m:] if value[order[m - 1]] - value[a] < gap]
        cuts = [0, *(i for i in range(1, m) if value[order[i - 1]] - value[order[i]] >= gap)]
        self.parts.remove(part)
        for start, stop in zip(cuts, [*cuts[1:], None], strict=True):
            items = order[start:stop]
            self.call(part.phase + 1, items, list(range(k + start, k + (m if stop is None else stop))))
