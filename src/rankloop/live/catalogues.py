"""Items with features, as users give them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from rankloop.checks import check_known
from rankloop.live.names import check_name
from rankloop.live.settings import Settings
from rankloop.wording import shorten

Rows = list[list[float]]


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
