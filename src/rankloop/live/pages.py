"""What stands where on a page: the policy's items in their order around those that are pinned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rankloop.live.names import check_names

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
    following = iter(pins)
    places = policy_positions(len(items), pins, positions)
    return [next(following)[1] if place is None else names[items[place]] for place in places]


def policy_positions(n_items: int, pinned: Pins, positions: int) -> list[int | None]:
    """For each position of the page, which item of the policy's list stands there; None for a pinned one.

    Pinned items come in the order of their positions. One whose position the list is too short to reach follows the
    last item that there is.
    """
    places: list[int | None] = []
    n_placed = n_pinned = 0
    while len(places) < min(positions, n_items + len(pinned)):
        if n_pinned < len(pinned) and (pinned[n_pinned][0] <= len(places) or n_placed == n_items):
            places.append(None)
            n_pinned += 1
        else:
            places.append(n_placed)
            n_placed += 1
    return places
