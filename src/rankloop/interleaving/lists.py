"""The lists that rankers give: checked, without repetitions, and as arrays of small numbers for compiled code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from rankloop.kernels.arrays import Ints, Ints32

Item: TypeAlias = str | int

NOWHERE = 2**31 - 1
"""The rank of an item in a list that does not have it."""


class Lists(NamedTuple):
    """Ranked lists over common items: `order[r, k]` is list r's item at rank k, `rank[r, d]` the rank of item d."""

    order: Ints32
    rank: Ints32
    sizes: Ints


def arrange(lists: Sequence[Sequence[Item]], also: Iterable[Item] = ()) -> tuple[list[Item], Lists]:
    """The distinct items of all lists, and the lists in terms of their numbers; `also` names items known from before.

    An item that a list repeats counts at its first place.

    >>> items, arranged = arrange([["a", "b", "a"], ["c", "a"]])
    >>> items, arranged.order.tolist(), arranged.sizes.tolist()
    (['a', 'b', 'c'], [[0, 1, 0], [2, 0, 0]], [2, 2])
    """
    numbers: dict[Item, int] = {}
    numbered = []
    for position, given in enumerate(lists):
        if isinstance(given, str | bytes) or not hasattr(given, "__iter__") or getattr(given, "ndim", 1) == 0:
            raise ValueError(f"list {position} must be a sequence of items, not {given!r}")
        distinct = dict.fromkeys(plain_item(item) for item in given)
        if not distinct:
            raise ValueError(
                f"list {position} is empty: show another ranker's list as it is, there is nothing to compare"
            )
        numbered.append([numbers.setdefault(item, len(numbers)) for item in distinct])
    for item in also:
        numbers.setdefault(item, len(numbers))
    order = np.zeros((len(numbered), len(numbers)), np.int32)
    rank = np.full(order.shape, NOWHERE, np.int32)
    for row, row_rank, ranked in zip(order, rank, numbered, strict=True):
        row[: len(ranked)] = ranked
        row_rank[ranked] = np.arange(len(ranked))
    return list(numbers), Lists(order, rank, np.array([len(ranked) for ranked in numbered]))


def plain_item(item: Any) -> Item:
    """An item as JSON can hold it."""
    if isinstance(item, str) or (isinstance(item, int) and not isinstance(item, bool)):
        return item
    if isinstance(item, np.integer | np.str_):
        plain: Item = item.item()
        return plain
    raise ValueError(f"items must be strings or whole numbers, not {item!r}")
