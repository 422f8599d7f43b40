"""The features of the items that may be shown, as compiled code wants them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankloop.checks import is_index
from rankloop.kernels.arrays import Bytes, Floats, Ints

MANY_TOPICS = 8
"""From how many topics an item on it pays to work with all of them."""


class Catalogue(NamedTuple):
    """Items: relevance features, and the few topics that each one covers, by item and by topic."""

    relevance: Floats
    columns: Floats
    """The relevance features once more, one row a feature: loops over items then run along memory."""
    starts: Ints
    topics: Ints
    coverage: Floats
    topic_starts: Ints
    topic_items: Ints
    topic_coverage: Floats
    topic_length: Floats
    """The length of the item's other features."""
    table: Floats
    """The coverage as a table, one row a topic, where items cover many topics each; else empty."""
    eligible: Bytes
    """Whether an item may be shown: those removed keep their features, since clicks on them may still come."""


def new_catalogue(relevance: Floats, topics: Floats, eligible: Bytes | None = None) -> Catalogue:
    """A catalogue of items with these features, one row for each item."""
    items, covered = np.nonzero(topics)
    by_topic, topic_items = np.nonzero(topics.T)
    n_items, n_topics = topics.shape
    coverage = topics[topic_items, by_topic]
    lengths = (relevance**2).sum(axis=1) + (topics**2).sum(axis=1)
    return Catalogue(
        relevance=np.array(relevance, order="C"),
        columns=np.array(relevance.T, order="C"),
        starts=np.searchsorted(items, np.arange(n_items + 1)).astype(np.int64),
        topics=covered.astype(np.int64),
        coverage=topics[items, covered],
        topic_starts=np.searchsorted(by_topic, np.arange(n_topics + 1)).astype(np.int64),
        topic_items=topic_items.astype(np.int64),
        topic_coverage=coverage,
        topic_length=np.sqrt(np.maximum(lengths[topic_items] - coverage**2, 0.0)),
        table=np.array(topics.T[: n_topics if len(items) >= MANY_TOPICS * n_items else 0], order="C"),
        eligible=np.ones(n_items, np.uint8) if eligible is None else eligible,
    )


def n_columns(table: ArrayLike | None) -> int:
    """How many features a table has; none, if it is not given."""
    return 0 if table is None else int(np.shape(table)[1])


def stack(above: Sequence[Floats], below: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Relevance features and topics of more items put under those of some."""
    relevance, topics = (np.concatenate(parts) for parts in zip(above, below, strict=True))
    relevance.flags.writeable = topics.flags.writeable = False
    return relevance, topics


def check_one_each(name: str, given: Any, n: int, things: str = "items") -> Any:
    """A sequence with one entry for each item of a catalogue, or for each of other things."""
    try:
        entries = given if isinstance(given, np.ndarray) else list(given)
        n_entries = -1 if isinstance(given, str | bytes) else len(entries)
    except TypeError:
        n_entries = -1
    if n_entries < 0:
        raise ValueError(f"{name} must have one entry for each of the {n} {things}, not be {given!r}")
    if n_entries != n:
        raise ValueError(f"{name} has {n_entries} entries, but there are {n} {things}")
    return entries


def check_items(items: Any, n_items: int) -> Ints:
    """Different items of a catalogue, by their numbers."""
    if isinstance(items, np.ndarray) and items.ndim == 1 and items.dtype.kind in "iu":
        wrong = items[(items < 0) | (items >= n_items)].tolist()  # at once: there may be very many
        named = items.tolist()
    else:
        try:
            named = list(items.tolist() if isinstance(items, np.ndarray) else items)
        except TypeError:
            raise ValueError(f"items must be a sequence of item numbers, not {items!r}") from None
        wrong = [item for item in named if not is_index(item, n_items)]
    if wrong:
        raise ValueError(f"item {wrong[0]!r} is not in the catalogue: items go from 0 to {n_items - 1}")
    if len(set(named)) < len(named):
        raise ValueError(f"items must be named once each, not as in {_shortened(named)}")
    return np.array(named, np.int64)


def _shortened(named: list[Any]) -> str:
    return repr(named) if len(named) <= 20 else f"{named[:20]!r} and {len(named) - 20} more"
