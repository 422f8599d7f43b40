"""The feature bandits in plain NumPy: the thesis' block form, and ridge regression on phi = [omega, z]."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np


def topic_gain(
    topics: np.ndarray, item: int | Sequence[int], above: Sequence[int], literal: bool = False
) -> np.ndarray:
    """What an item adds to the topics: x_a * prod (1 - x_b) over those above; what is below 0 covers nothing.

    Unless `literal`: then the product is taken as it stands, and what is below 0 makes it larger. Several items have a
    row each.
    """
    gain = topics[item].copy()
    for b in above:
        gain *= 1 - (topics[b] if literal else np.maximum(topics[b], 0))
    return gain


class RidgeForm:
    """O = ridge I + sum phi phi', w = O^-1 sum click phi, solved anew for every list."""

    def __init__(
        self,
        relevance: np.ndarray,
        topics: np.ndarray,
        gamma: float,
        ridge: float = 1.0,
        cascade: bool = True,
        literal: bool = False,
    ) -> None:
        self.relevance, self.topics, self.gamma, self.cascade = relevance, topics, gamma, cascade
        self.literal = literal
        n = relevance.shape[1] + topics.shape[1]
        self.precision, self.evidence = np.eye(n) * ridge, np.zeros(n)
        self.inverse = np.linalg.inv(self.precision)

    def phi(self, items: Sequence[int], above: Sequence[int]) -> np.ndarray:
        """A row of each item."""
        return np.hstack([topic_gain(self.topics, items, above, self.literal), self.relevance[items]])

    def scores(self, items: Sequence[int], above: Sequence[int]) -> np.ndarray:
        phi = self.phi(items, above)
        widths = np.sqrt(((phi @ self.inverse) * phi).sum(axis=1))
        return phi @ self.inverse @ self.evidence + self.gamma * widths

    def score(self, item: int, above: Sequence[int]) -> float:
        return float(self.scores([item], above)[0])

    def best_score(self, items: Iterable[int], above: Sequence[int]) -> float:
        """The highest score of those items that do not stand above."""
        return float(self.scores([item for item in items if item not in above], above).max())

    def update(self, ranking: Sequence[int], clicks: Sequence[int], seen: int | None = None) -> None:
        for k, item in enumerate(ranking[:seen]):
            [phi] = self.phi([item], ranking[:k])
            self.precision += np.outer(phi, phi)
            self.evidence += clicks[k] * phi
            if self.cascade and clicks[k]:
                break
        self.inverse = np.linalg.inv(self.precision)


def entropy(features: np.ndarray, items: Sequence[int], noise: float) -> float:
    """1/2 log det(I + X X' / noise^2), X the features of the items: the entropy of a list but for constants."""
    x = features[list(items)]
    return float(np.linalg.slogdet(np.eye(len(x)) + x @ x.T / noise**2)[1] / 2)


class DiverseForm(RidgeForm):
    """C2UCB with the reward of its paper's application: each score plus what the item adds to the list's entropy."""

    def __init__(self, features: np.ndarray, gamma: float, ridge: float, diversity: float, noise: float) -> None:
        super().__init__(features, np.zeros((len(features), 0)), gamma, ridge, cascade=False)
        self.diversity, self.noise = diversity, noise

    def scores(self, items: Sequence[int], above: Sequence[int]) -> np.ndarray:
        entropies = np.array([entropy(self.relevance, [*above, item], self.noise) for item in items])
        more = entropies - entropy(self.relevance, above, self.noise)
        return super().scores(items, above) + self.diversity * more

    def list(self, n_positions: int) -> list[int]:
        """The greedy list, every item scored anew at every position."""
        chosen: list[int] = []
        while len(chosen) < n_positions:
            free = [a for a in range(len(self.relevance)) if a not in chosen]
            chosen.append(free[self.scores(free, chosen).argmax()])
        return chosen


class BlockForm:
    """CascadeHybrid as the thesis writes it down: H, u, M, y, B."""

    def __init__(self, relevance: np.ndarray, topics: np.ndarray, gamma: float) -> None:
        self.relevance, self.topics, self.gamma = relevance, topics, gamma
        d, m = topics.shape[1], relevance.shape[1]
        self.H, self.u, self.M, self.y, self.B = np.eye(d), np.zeros(d), np.eye(m), np.zeros(m), np.zeros((d, m))

    def score(self, item: int, above: Sequence[int]) -> float:
        omega, z = topic_gain(self.topics, item, above), self.relevance[item]
        h, m = np.linalg.inv(self.H), np.linalg.inv(self.M)
        theta = h @ self.u
        beta = m @ (self.y - self.B.T @ theta)
        s = omega @ h @ omega - 2 * omega @ h @ self.B @ m @ z + z @ m @ z + z @ m @ self.B.T @ h @ self.B @ m @ z
        return float(omega @ theta + z @ beta + self.gamma * np.sqrt(s))

    def update(self, ranking: Sequence[int], clicks: Sequence[int]) -> None:
        clicked = next((k for k, click in enumerate(clicks) if click), None)
        seen = ranking if clicked is None else ranking[: clicked + 1]
        m = np.linalg.inv(self.M)
        self.H += self.B @ m @ self.B.T
        self.u += self.B @ m @ self.y
        for k, item in enumerate(seen):
            omega, z = topic_gain(self.topics, item, ranking[:k]), self.relevance[item]
            self.M += np.outer(z, z)
            self.B += np.outer(omega, z)
            self.H += np.outer(omega, omega)
            if k == clicked:
                self.y += z
                self.u += omega
        m = np.linalg.inv(self.M)
        self.H -= self.B @ m @ self.B.T
        self.u -= self.B @ m @ self.y
