"""The items of a loop that ranks by features, and how users give them."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankloop.checks import check_known
from rankloop.live.learner import IDENTITY
from rankloop.live.names import check_name
from rankloop.live.settings import Settings
from rankloop.wording import shorten

Rows = list[list[float]]


class LoopItems:
    """The items of a loop that ranks by features. Rows are never given twice: an item that changes gets a new one."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.row: dict[str, int] = {}
        self.lock = threading.RLock()
        self.edition = 0
        """Number of the ITEMS entry that was taken last."""
        self.relevance = np.zeros((0, settings.relevance))
        self.topics = np.zeros((0, len(settings.topics)))
        self._policy: Any = None

    def put(self, edition: int, names: Sequence[str], relevance: Any, topics: Any) -> None:
        """Take items, new or changed."""
        z = np.asarray(relevance, np.float64).reshape(len(names), self.settings.relevance)
        x = np.asarray(topics, np.float64).reshape(len(names), len(self.settings.topics))
        first = len(self.relevance)
        self.relevance, self.topics = np.concatenate([self.relevance, z]), np.concatenate([self.topics, x])
        self._policy = None
        self.row.update({name: first + i for i, name in enumerate(names)})
        self.edition = edition

    def check(self, loop: str, names: Sequence[str]) -> None:
        """Refuse items whose features are not known."""
        for name in names:
            if name not in self.row:
                raise ValueError(
                    f"item {name!r} is not in the catalogue of loop {loop!r}: give its features to put_items first"
                )

    def policy(self) -> Any:
        """A policy over all items that knows nothing; learners share its catalogue."""
        if self._policy is None:
            self._policy = self.settings.make_policy(0, features=(self.relevance, self.topics))
            self._policy.identity = IDENTITY
        return self._policy


def check_items_with_features(settings: Settings, items: Any) -> tuple[list[str], Rows, Rows]:
    """Names, relevance features and topics of items, if the loop's policy can take them."""
    if not isinstance(items, Mapping) or not items:
        raise ValueError('items must be an object with the features of each item, such as {"a1": {"relevance": [...]}}')
    widths = {"relevance": settings.relevance, "topics": len(settings.topics)}
    columns: dict[str, Rows] = {word: [] for word in widths}
    for name, given in items.items():
        check_name("item", name)
        if not isinstance(given, Mapping):
            raise ValueError(f"item {shorten(name)} must be an object with relevance and topics, not {shorten(given)}")
        for word in given:
            check_known("feature", word, widths)
        for word, width in widths.items():
            columns[word].append(_row(f"{word} of item {shorten(name)}", given.get(word, ()), width))
    relevance = np.array(columns["relevance"]).reshape(len(items), -1)
    topics = np.array(columns["topics"]).reshape(len(items), -1)
    settings.make_policy(len(items), features=(relevance, topics))  # which refuses what it cannot take
    return list(items), columns["relevance"], columns["topics"]


def _row(what: str, given: Any, width: int) -> list[float]:
    try:
        row = [float(value) for value in given]
    except (TypeError, ValueError):
        raise ValueError(f"{what} must be a list of numbers, not {shorten(given)}") from None
    if len(row) != width:
        raise ValueError(f"{what} must have {width} numbers, not {len(row)}")
    if not all(map(math.isfinite, row)):
        raise ValueError(f"{what} must be finite numbers, not {row}")
    return row
