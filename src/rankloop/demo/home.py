"""A home page for readers who want what is relevant, but not four of the same; for two policies."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from rankloop.arrays import Floats
from rankloop.demo.traffic import Event, Visit, events_of

TOPICS = ("politics", "sport", "culture", "science", "money", "travel", "food", "games")
READERS = ("Ada", "Ben", "Cleo", "Dan")
N_ARTICLES, N_FEATURES, POSITIONS = 64, 5, 4
VISITS = 1_200
"""Visits of readers: enough to see the difference that topics make."""

N_LIKED = 3
"""Topics that a reader likes."""

RELEVANCE = 0.15
"""How much of an article's attraction is its relevance; the rest is what it adds to the topics above it."""

BOTH, RELEVANCE_ONLY = "home", "home, by relevance only"


class Home:
    """Readers who scan a list from the top and click the first article that attracts them.

    An article attracts by its relevance for the reader, and by what it adds to the topics that the articles above it
    cover already: the model of the thesis' chapter 5.

    Parameters
    ----------
    client
        Where to ask and to report.
    rival
        Whether the policy that looks at relevance only is shown the same readers.
    """

    title = "Show relevant articles, but not four of the same kind"

    def __init__(self, client: Any, *, rival: bool = True, seed: int = 0) -> None:
        draws = np.random.default_rng(seed)
        self.client, self._rival = client, rival
        main = draws.integers(len(TOPICS), size=N_ARTICLES)
        self.topics = np.zeros((N_ARTICLES, len(TOPICS)))
        self.topics[np.arange(N_ARTICLES), main] = draws.choice((0.7, 0.9), N_ARTICLES)
        also = draws.integers(len(TOPICS), size=N_ARTICLES)
        self.topics[np.arange(N_ARTICLES), also] = np.maximum(self.topics[np.arange(N_ARTICLES), also], 0.3)
        # What is relevant for the same reason is often about the same thing.
        towards = draws.normal(size=(len(TOPICS), N_FEATURES))
        self.relevance = 1.5 * towards[main] + draws.normal(size=(N_ARTICLES, N_FEATURES))
        self.relevance /= np.linalg.norm(self.relevance, axis=1, keepdims=True)
        self.articles = [f"{TOPICS[main[k]]} {k + 1}" for k in range(N_ARTICLES)]
        self._place = {article: k for k, article in enumerate(self.articles)}
        tastes = draws.normal(size=(len(READERS), N_FEATURES))
        self._beta = tastes / np.linalg.norm(tastes, axis=1, keepdims=True)
        liked = draws.permuted(np.tile(np.arange(len(TOPICS)), (len(READERS), 1)), axis=1) < N_LIKED
        self._theta = liked / N_LIKED

    def create(self) -> None:
        """Create the loops, and tell what is known of the articles."""
        shared = {"kind": "diversify", "positions": POSITIONS, "holdout": 0.0, "relevance": N_FEATURES}
        items = {
            article: {"relevance": self.relevance[k].tolist(), "topics": self.topics[k].tolist()}
            for article, k in self._place.items()
        }
        self.client.create(BOTH, policy="CascadeHybrid", topics=list(TOPICS), **shared)
        self.client.put_items(BOTH, items)
        if self._rival:
            self.client.create(RELEVANCE_ONLY, policy="CascadeLinUCB", topics=list(TOPICS), **shared)
            self.client.put_items(RELEVANCE_ONLY, items)

    def attraction(self, reader: int, shown: list[int]) -> Floats:
        """The probability that the reader clicks each article, once they have come to it."""
        covered, found = np.ones(len(TOPICS)), []
        for k in shown:
            new = self._theta[reader] @ (self.topics[k] * covered)
            found.append(RELEVANCE * self._beta[reader] @ self.relevance[k] + (1 - RELEVANCE) * new)
            covered *= 1 - self.topics[k]
        return np.clip(found, 0, 1)

    def visit(self, dice: random.Random, number: int) -> tuple[list[Visit], list[Event]]:
        """One reader, who gets to see the list of each policy."""
        reader = number % len(READERS)
        patience = [dice.random() for _ in range(POSITIONS)]
        visits, events = [], list[Event]()
        for loop in (BOTH, RELEVANCE_ONLY)[: 1 + self._rival]:
            shown = self.client.rank(loop, READERS[reader], self.articles)
            places = [self._place[article] for article in shown.items]
            attracted = [k for k, p in enumerate(self.attraction(reader, places)) if patience[k] < p]
            clicked = [shown.items[k] for k in attracted[:1]]
            topics = len({int(np.argmax(self.topics[k])) for k in places})
            visits.append(Visit("diversify", number, loop, READERS[reader], shown.arm, len(clicked), 0, topics))
            events += events_of(shown.id, clicked)
        return visits, events
