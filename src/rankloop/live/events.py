"""Events as clients send them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankloop.checks import check_known, check_whole, is_number
from rankloop.live.entries import CLICK, SEEN, SHOWN, Event
from rankloop.live.names import check_name

FIELDS = ("impression", "item", "type", "id", "at", "seen")
MOST_SEEN = 32_767
PLAIN = (Event(CLICK, 0, 0),)
"""What an event tells that has an impression and an item, and nothing else."""


def check_event(given: Mapping[str, Any]) -> tuple[Any, str | None, Sequence[Event]]:
    """The impression, the item and what an event tells, which may be a click and how far the list was seen.

    >>> impression, item, (click, seen) = check_event({"impression": "abc", "item": "sku-2", "seen": 4})
    >>> impression, item, click.type, seen.value
    ('abc', 'sku-2', 'click', 4)
    """
    if type(given) is dict and len(given) == 2 and "impression" in given and "item" in given:  # as most are
        return given["impression"], check_name("item", given["item"]), PLAIN
    if not isinstance(given, Mapping):
        raise ValueError(f"an event is an object with an impression and an item, not {given!r}")
    for word in given:
        if word not in FIELDS:
            check_known("field of an event", word, FIELDS)
    get = given.get
    type_, item, seen, id_, at = get("type", "click"), get("item"), get("seen"), get("id") or "", get("at")
    if type_ != "click":
        check_name("type", type_)
    if id_:
        check_name("id", id_)
    at = 0 if at is None else _milliseconds(at)
    events = []
    if type_ == "shown":
        events.append(Event(SHOWN, 0, at, type_, id_))
    elif type_ != "seen" and (item is not None or seen is None):
        check_name("item", item)
        events.append(Event(CLICK, 0, at, type_, id_))
    if type_ == "seen" or seen is not None:
        events.append(Event(SEEN, min(check_whole("seen", seen, 0), MOST_SEEN), at, "seen", id_))
    return given.get("impression"), item, events


def _milliseconds(at: Any) -> int:
    if not is_number(at) or not abs(at) < 1e11:
        raise ValueError(f"at must be a time in seconds, not {at!r}")
    return int(at * 1000)
