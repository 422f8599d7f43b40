"""What stands where on a page: the policy's items in their order around those that are pinned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rankloop.live.replay import policy_positions
from rankloop.live.settings import check_names

Pins = tuple[tuple[int, str], ...]
"""Positions and names of pinned items."""


def check_pinned(names: tuple[str, ...], pinned: Mapping[int, str] | None) -> tuple[tuple[str, ...], Pins]:
    """The items that are left to rank, and those that are pinned."""
    if pinned is None:
        return names, ()
    if not isinstance(pinned, Mapping):
        raise ValueError(f'pinned must give an item for each position, such as {{0: "ad-1"}}, not {pinned!r}')
    for position in pinned:
        if isinstance(position, bool) or not isinstance(position, int) or position < 0:
            raise ValueError(f"positions of pinned items count from 0, not {position!r}")
    if not pinned:
        return names, ()
    fixed = set(check_names("pinned", list(pinned.values())))
    left = tuple(name for name in names if name not in fixed)
    if not left:
        raise ValueError("items must not all be pinned: there is nothing left to rank")
    return left, tuple(sorted(pinned.items()))


def page_of(names: Sequence[str], items: Sequence[int], pins: Pins, positions: int) -> list[str]:
    """The names at each position."""
    if not pins:
        return [names[item] for item in items[:positions]]
    pinned = dict(pins)
    places = policy_positions(len(items), pins, positions)
    return [pinned[k] if place is None else names[items[place]] for k, place in enumerate(places)]
