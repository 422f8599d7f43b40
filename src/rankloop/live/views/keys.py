"""The keys of a loop, those with the most traffic first.

Where a loop's keys are spread over several journals, each gives a page of its own, and `merge_keys` makes one of them.
The order is by impressions, then by number of the learner, then by journal; a cursor names the last key of a page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankloop.live.live import Live
from rankloop.live.views.view_cache import looking_at

MOST = 200
"""Keys of one page."""
MATCHES = 1_000
"""Keys that a search looks at."""


def read_cursor(text: str) -> tuple[int, int, int] | None:
    """Impressions, number and journal of the last key of a page; None before the first.

    >>> read_cursor("12.7.0"), read_cursor("")
    ((12, 7, 0), None)
    """
    if not text:
        return None
    parts = text.split(".")
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() and len(part) < 19 for part in parts):
        raise ValueError("after must be the `next` of the page before")
    impressions, number, journal = map(int, parts)
    return impressions, number, journal


def keys_in(live: Live, loop: str, after: str = "", limit: int = 50, search: str = "") -> dict[str, Any] | None:
    """A page of the keys in one journal, to be given to `merge_keys`; None if it has not heard of the loop.

    Parameters
    ----------
    live
        The open `Live`.
    loop
        Name of the loop.
    after
        Cursor of the page before.
    limit
        Number of keys.
    search
        Text that a key must contain; upper and lower case are different.
    """
    if loop not in live.loops:
        return None
    target, looking = live._loops.named(loop), looking_at(live)
    looking.advance()
    following = looking.following
    names: dict[int, str] = {}
    if search:
        names = {known.number: known.key for known in following.store.learners_with(search, target.number, MATCHES)}
        order = following.by_traffic(np.array(list(names), np.int64))
    else:
        order = following.busiest(target.number)
    cursor = read_cursor(after)
    rows: list[dict[str, Any]] = []
    if cursor is not None:
        impressions = following.impressions(order)
        order = order[(impressions < cursor[0]) | ((impressions == cursor[0]) & (order >= cursor[1]))]
    for number in order[: limit + 1].tolist():
        known = None if number in names else following.store.learner(number)
        name = names.get(number, "" if known is None else known.key)
        rows.append({"number": number, "key": name, **following.of_learner(number)})
    return {
        "journal": int.from_bytes(live._signer._store, "little"),
        "loop": loop,
        "kind": target.settings.kind,
        "total": target.counts["keys"],
        "matches": len(names) if search else None,
        "keys": rows,
        "more": len(order) > limit + 1,
        "counted": following.counted,
    }


def merge_keys(pages: Sequence[dict[str, Any]], after: str = "", limit: int = 50) -> dict[str, Any]:
    """One page of the pages of several journals."""
    cursor = read_cursor(after)
    behind = None if cursor is None else (-cursor[0], *cursor[1:])
    placed = [((-row["impressions"], row["number"], page["journal"]), row) for page in pages for row in page["keys"]]
    left = sorted((each for each in placed if behind is None or each[0] > behind), key=lambda each: each[0])
    shown = left[:limit]
    more = bool(shown) and (len(left) > limit or any(page["more"] for page in pages))
    matches = [page["matches"] for page in pages if page["matches"] is not None]
    return {
        **{word: pages[0][word] for word in ("loop", "kind")},
        "total": sum(page["total"] for page in pages),
        "matches": sum(matches) if matches else None,
        "keys": [{word: value for word, value in row.items() if word != "number"} for _, row in shown],
        "next": "{}.{}.{}".format(-shown[-1][0][0], *shown[-1][0][1:]) if more else None,
        "counted": merge_counted([page["counted"] for page in pages]),
    }


def merge_counted(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """How far back several journals have been counted."""
    begun = [part["since"] for part in parts if part["since"] is not None]
    return {
        "complete": all(part["complete"] for part in parts),
        "since": min(begun, default=None) if all(part["complete"] for part in parts) else max(begun, default=None),
        "entries": sum(part["entries"] for part in parts),
    }
