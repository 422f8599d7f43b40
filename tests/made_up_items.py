"""A small catalogue with relevance features and topics, and users who click on its lists."""

from __future__ import annotations

import numpy as np

import rankloop as rl


def catalogue(n_items: int, n_relevance: int, n_topics: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Unit relevance features, and one to three topics an item."""
    draw = np.random.default_rng(seed)
    relevance = draw.normal(size=(n_items, n_relevance))
    relevance /= np.linalg.norm(relevance, axis=1, keepdims=True)
    topics = np.zeros((n_items, n_topics))
    for row in topics:
        row[draw.choice(n_topics, draw.integers(1, min(4, n_topics + 1)), replace=False)] = draw.random() * 0.9
    return relevance, topics


Z, X = catalogue(40, 4, 6, seed=1)


def play(policy: rl.FeaturePolicy, steps: int, seed: int = 0, each=None) -> None:
    """Users who click any item of a list, those of small numbers more."""
    draw = np.random.default_rng(seed)
    for _ in range(steps):
        ranking = policy.rank()
        clicks = [int(draw.random() < 0.6 / (1 + item % 7)) for item in ranking]
        if each is not None:
            each(ranking, clicks)
        policy.update(ranking, clicks)
