"""Click models, slowly: by enumerating everything that users may do, and by counting with dictionaries."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import product

Session = tuple[str, tuple[str, ...], tuple[int, ...]]

Walk = tuple[float, tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""Probability, and by position: examined, clicked, left satisfied after the click."""


def walks(attraction: Sequence[float], leaving: Sequence[float], going_on: float) -> Iterator[Walk]:
    """Everything that a user who goes down the list may do."""
    n = len(attraction)

    def scan(k: int) -> Iterator[Walk]:
        if k == n:
            yield 1.0, (), (), ()
            return
        a, s = attraction[k], leaving[k]
        stop = (0,) * (n - k - 1)
        outcomes = [
            (a * s, 1, 1, False),
            (a * (1 - s) * (1 - going_on), 1, 0, False),
            (a * (1 - s) * going_on, 1, 0, True),
            ((1 - a) * (1 - going_on), 0, 0, False),
            ((1 - a) * going_on, 0, 0, True),
        ]
        for p, clicked, satisfied, on in outcomes:
            if not on:
                yield p, (1, *stop), (clicked, *stop), (satisfied, *stop)
            else:
                for q, e, c, s_below in scan(k + 1):
                    yield p * q, (1, *e), (clicked, *c), (satisfied, *s_below)

    return scan(0)


def looks(attraction: Sequence[float], examination: Callable[[int, int], float]) -> Iterator[Walk]:
    """Everything that a user who looks at positions may do; `examination(k, j)` with the last click at j, or -1."""
    n = len(attraction)
    for seen in product((0, 1), repeat=n):
        for attracted in product((0, 1), repeat=n):
            p, last, clicks = 1.0, -1, []
            for k in range(n):
                e = examination(k, last)
                p *= e if seen[k] else 1 - e
                p *= attraction[k] if attracted[k] else 1 - attraction[k]
                clicks.append(seen[k] * attracted[k])
                if clicks[-1]:
                    last = k
            yield p, seen, tuple(clicks), (0,) * n


def click_distribution(possible: Iterator[Walk]) -> dict[tuple[int, ...], float]:
    """The probability of each pattern of clicks."""
    total: dict[tuple[int, ...], float] = defaultdict(float)
    for p, _, clicks, _ in possible:
        total[clicks] += p
    return total


def count_cm(sessions: Sequence[Session]) -> tuple[dict, dict]:
    clicked, seen = defaultdict(float), defaultdict(float)
    for query, items, clicks in sessions:
        for item, click in zip(items, clicks, strict=True):
            seen[query, item] += 1
            clicked[query, item] += click
            if click:
                break
    return clicked, seen


def count_to_last_click(sessions: Sequence[Session]) -> tuple[dict, dict, dict, dict, dict]:
    """Clicks and views of pairs down to the last click, last clicks of pairs; clicks and last clicks of positions."""
    clicked, seen, ended, at, last_at = (defaultdict(float) for _ in range(5))
    for query, items, clicks in sessions:
        last = max((k for k, click in enumerate(clicks) if click), default=len(items))
        for k, (item, click) in enumerate(zip(items, clicks, strict=True)):
            if k <= last:
                seen[query, item] += 1
                clicked[query, item] += click
                at[k] += click
                ended[query, item] += click and k == last
                last_at[k] += click and k == last
    return clicked, seen, ended, at, last_at


class UsualEstimators:
    """The estimators that are customary: every count starts from 1 of 2, and in EM from 1 of 5."""

    def __init__(self, sessions: Sequence[Session]) -> None:
        self.sessions = sessions
        self.clicked, self.seen, self.ended, self.at, self.last_at = count_to_last_click(sessions)

    def attraction(self, query: str, item: str) -> float:
        return (1 + self.clicked.get((query, item), 0)) / (2 + self.seen.get((query, item), 0))

    def dcm(self, query: str, items: Sequence[str]) -> list[float]:
        leaving = [1 - (1 + self.at[k] - self.last_at[k]) / (2 + self.at[k]) for k in range(len(items))]
        return self._chain([self.attraction(query, item) for item in items], leaving)

    def sdbn(self, query: str, items: Sequence[str]) -> list[float]:
        leaving = [(1 + self.ended.get((query, i), 0)) / (2 + self.clicked.get((query, i), 0)) for i in items]
        return self._chain([self.attraction(query, item) for item in items], leaving)

    @staticmethod
    def _chain(attraction: Sequence[float], leaving: Sequence[float]) -> list[float]:
        examined, result = 1.0, []
        for a, s in zip(attraction, leaving, strict=True):
            result.append(examined * a)
            examined *= 1 - a * s
        return result

    def fit_pbm(self, iterations: int) -> Callable[[str, Sequence[str]], list[float]]:
        cells: dict[tuple[str, str, int], list[int]] = defaultdict(lambda: [0, 0])
        for query, items, clicks in self.sessions:
            for k, (item, click) in enumerate(zip(items, clicks, strict=True)):
                cells[query, item, k][click] += 1
        attraction: dict[tuple[str, str], float] = {}
        examination: dict[int, float] = {}
        for _ in range(iterations):
            a_counts, e_counts = defaultdict(lambda: [1.0, 5.0]), defaultdict(lambda: [1.0, 5.0])
            for (query, item, k), (skips, clicks) in cells.items():
                a, e = attraction.get((query, item), 0.2), examination.get(k, 0.2)
                a_counts[query, item][0] += clicks + skips * (1 - e) * a / (1 - e * a)
                e_counts[k][0] += clicks + skips * (1 - a) * e / (1 - e * a)
                a_counts[query, item][1] += clicks + skips
                e_counts[k][1] += clicks + skips
            attraction = {pair: s / n for pair, (s, n) in a_counts.items()}
            examination = {k: s / n for k, (s, n) in e_counts.items()}
        return lambda query, items: [
            attraction.get((query, item), 0.2) * examination[k] for k, item in enumerate(items)
        ]


def perplexity(predict: Callable[[str, Sequence[str]], Sequence[float]], sessions: Sequence[Session]) -> float:
    """The mean over positions of 2^-(mean log2 P(what happened there))."""
    known: dict[tuple[str, tuple[str, ...]], Sequence[float]] = {}
    surprise, shown = defaultdict(float), defaultdict(int)
    for query, items, clicks in sessions:
        if (query, items) not in known:
            known[query, items] = predict(query, items)
        for k, (p, click) in enumerate(zip(known[query, items], clicks, strict=True)):
            surprise[k] -= math.log2(p if click else 1 - p)
            shown[k] += 1
    return sum(2 ** (surprise[k] / shown[k]) for k in shown) / len(shown)
