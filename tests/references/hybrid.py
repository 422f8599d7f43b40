"""The hybrid cascade model in plain Python, item by item and topic by topic."""

from __future__ import annotations

from itertools import permutations
from math import prod


def gain(topics, item, above):
    """What an item adds to each topic after those above it: g(above + item) - g(above)."""
    return [covered(topics, [*above, item], j) - covered(topics, above, j) for j in range(len(topics[item]))]


def covered(topics, items, j):
    return 1 - prod(1 - topics[a][j] for a in items)


def raw_attraction(users, item, above):
    relevance = sum(z * b for z, b in zip(users.relevance[item], users.beta, strict=True))
    novelty = sum(w * t for w, t in zip(gain(users.topics, item, above), users.theta, strict=True))
    return users.trade_off * relevance + (1 - users.trade_off) * novelty


def attractions(users, items):
    return [min(1, max(0, raw_attraction(users, item, items[:k]))) for k, item in enumerate(items)]


def reward(users, items):
    return 1 - prod(1 - a for a in attractions(users, items))


def greedy(users, n):
    chosen = []
    for _ in range(n):
        left = [a for a in range(users.n_items) if a not in chosen]
        chosen.append(max(left, key=lambda a: (raw_attraction(users, a, chosen), -a)))
    return chosen


def best(users, n):
    return max(permutations(range(users.n_items), n), key=lambda items: reward(users, items))
