"""The cascading bandits in plain Python: every index in every step, every weighted sum from the whole history."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from references.stream import Stream


def largest(stream: Stream, index: Sequence[float], k: int) -> list[int]:
    """The k items of the largest indices; each group of ties in random order, drawn from the top down."""
    order = sorted(range(len(index)), key=lambda a: (-index[a], a))
    start = 0
    while start < k:
        end = start + sum(index[a] == index[order[start]] for a in order[start:])
        for i in range(start, min(end - 1, k)):
            j = i + stream.below(end - i)
            order[i], order[j] = order[j], order[i]
        start = end
    return order[:k]


def divergence(p: float, q: float) -> float:
    if p == q:
        return 0.0
    if q >= 1:
        return math.inf
    return (p * math.log(p / q) if p > 0 else 0.0) + (1 - p) * math.log((1 - p) / (1 - q))


def kl_index(clicked: float, seen: float, level: float) -> float:
    """By bisection down to neighbouring numbers."""
    p = clicked / seen
    if p == 1 or level <= 0:
        return p
    low, high = p, 1.0
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return low
        if seen * divergence(p, middle) <= level:
            low = middle
        else:
            high = middle


Observed = list[tuple[int, int]]


class Cascading:
    """`history` holds, for each list learned from, the items observed and whether each of them was clicked."""

    last_click = False

    def __init__(self, n_items: int, n_positions: int, seed: int) -> None:
        self.n_items = n_items
        self.n_positions = n_positions
        self.stream = Stream.from_seed(seed)
        self.history: list[Observed] = []
        self.X, self.N = [0.0] * n_items, [0.0] * n_items

    @property
    def t(self) -> int:
        return len(self.history) + 1

    def rank(self) -> list[int]:
        X, N = self.statistics()
        index = [self.index(x, n) if n > 0 else math.inf for x, n in zip(X, N, strict=True)]
        return largest(self.stream, index, self.n_positions)

    def update(self, ranking: Sequence[int], clicks: Sequence[int], seen: int | None = None) -> None:
        observed = list(zip(ranking, clicks, strict=True))[:seen]
        clicked = [k for k, (_, click) in enumerate(observed) if click]
        if clicked:
            end = clicked[-1] if self.last_click else clicked[0]
            observed = observed[: end + 1]
        if observed:
            self.history.append(observed)
        for a, click in observed:
            self.N[a] += 1
            self.X[a] += click

    def statistics(self) -> tuple[list[float], list[float]]:
        """Clicks and looks of each item; those with a weight are added up anew from the history."""
        return self.X, self.N

    def weighted(self, lists: list[tuple[float, Observed]]) -> tuple[list[float], list[float]]:
        X, N = [0.0] * self.n_items, [0.0] * self.n_items
        for weight, observed in lists:
            for a, click in observed:
                N[a] += weight
                X[a] += weight * click
        return X, N

    def index(self, x: float, n: float) -> float:
        raise NotImplementedError


class CascadeUCB1(Cascading):
    alpha = 1.5

    def index(self, x: float, n: float) -> float:
        return x / n + math.sqrt(self.alpha * math.log(self.t) / n)


class CascadeKLUCB(Cascading):
    def index(self, x: float, n: float) -> float:
        return kl_index(x, n, math.log(self.t) + 3 * math.log(math.log(self.t)))


class CascadeDUCB(Cascading):
    """`gamma` may change with the step; what was discounted by an earlier one stays so."""

    epsilon = 0.5

    def __init__(self, n_items: int, n_positions: int, seed: int, gamma: Callable[[int], float]) -> None:
        super().__init__(n_items, n_positions, seed)
        self.gamma = gamma

    def statistics(self) -> tuple[list[float], list[float]]:
        lists = []
        weight = 1.0
        for s in range(len(self.history), 0, -1):
            lists.append((weight, self.history[s - 1]))
            weight *= self.gamma(s)
        return self.weighted(lists[::-1])

    def index(self, x: float, n: float) -> float:
        gamma = self.gamma(self.t)
        time = sum(gamma**s for s in range(self.t))
        return x / n + 2 * math.sqrt(self.epsilon * math.log(time) / n)


class CascadeSWUCB(Cascading):
    """`window` may change with the step."""

    epsilon = 0.5

    def __init__(self, n_items: int, n_positions: int, seed: int, window: Callable[[int], int]) -> None:
        super().__init__(n_items, n_positions, seed)
        self.window = window

    def statistics(self) -> tuple[list[float], list[float]]:
        return self.weighted([(1.0, entry) for entry in self.history[-self.window(self.t) :]])

    def index(self, x: float, n: float) -> float:
        return x / n + math.sqrt(self.epsilon * math.log(min(self.t, self.window(self.t))) / n)
