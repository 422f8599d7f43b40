"""The list that a policy starts from."""

from __future__ import annotations

from collections.abc import Sequence

from rankloop.checks import is_index


def check_initial(initial: Sequence[int]) -> list[int]:
    """An order of the items 0 to L - 1, each exactly once."""
    try:
        items = list(initial)
    except TypeError:
        raise ValueError(f"the initial list must be a sequence of items, not {initial!r}") from None
    if len(items) < 2:
        raise ValueError(f"the initial list needs at least 2 items to order, not {items!r}")
    for item in items:
        if not is_index(item, len(items)):
            raise ValueError(
                f"the initial list orders {len(items)} items, called 0 to {len(items) - 1}, so it cannot hold {item!r}"
            )
        if items.count(item) > 1:
            raise ValueError(f"the initial list holds item {item} twice: {items!r}")
    return [int(item) for item in items]
