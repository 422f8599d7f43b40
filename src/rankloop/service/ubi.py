"""Records of OpenSearch User Behavior Insights (UBI 1.3 and before), where `query_id` is the impression's id.

Records in the wild differ from the schema and from each other, so nothing is refused: each is read as far as it can be
understood, goes the way of any other event, and is answered with what became of it. UBI's events have no id; one is
derived from what tells them apart, so that a record sent again is a duplicate.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from rankloop.checks import is_number, is_whole
from rankloop.datasets.ubi import CLICK_ACTIONS, as_object
from rankloop.service.event_requests import hear_all
from rankloop.service.handlers import read_events
from rankloop.service.messages import MOST_EVENTS, Heard, HeardAll
from rankloop.service.problems import ProblemDetails
from rankloop.service.request import Reply, Request
from rankloop.service.service import Service

SEEN_ACTIONS = frozenset({"impression", "seen"})
"""Actions that say that a position came into view."""
HITS = ("query_response_hit_ids", "query_response_object_ids", "query_response_objects_ids")
"""Under what names a query may name the objects that were shown."""
NOT_UNDERSTOOD = "not_understood"

Event = dict[str, Any]


async def ubi_events(service: Service, request: Request) -> Reply:
    """Take UBI events."""
    return await _take(service, request, "events", event_of)


async def ubi_queries(service: Service, request: Request) -> Reply:
    """Take UBI queries."""
    return await _take(service, request, "queries", shown_of)


async def _take(service: Service, request: Request, kind: str, read: Callable[[Any], Event | str]) -> Reply:
    given = read_events(request.body)
    records: Sequence[Any] = [given] if isinstance(given, dict) else given
    if len(records) > MOST_EVENTS:
        raise ProblemDetails(
            422, f"a request has at most {MOST_EVENTS:,} records, not {len(records):,}: send them in parts"
        )
    found = [read(_unwrapped(record)) for record in records]
    heard = iter(await hear_all(service, request, [event for event in found if isinstance(event, dict)]))
    answers = [Heard(NOT_UNDERSTOOD, event) if isinstance(event, str) else next(heard) for event in found]
    for answer in answers:
        service.metrics.ubi[kind, answer.fate] += 1
    return Reply.of(HeardAll(answers))


def event_of(record: Any) -> Event | str:
    """The event that a UBI event tells of, or why it tells of none.

    >>> click = {"query_id": "x", "action_name": "click", "timestamp": "2026-01-01T00:00:00Z",
    ...     "event_attributes": {"object": {"object_id": "sku-2"}, "position": {"ordinal": 3}}}
    >>> event = event_of(click)
    >>> event["impression"], event["item"], event["type"], event["at"]
    ('x', 'sku-2', 'click', 1767225600.0)
    >>> event_of({**click, "action_name": "impression"})["seen"]
    3
    >>> event_of({"query_id": "x", "action_name": "login"})
    'an event of action login without an object'
    """
    if not isinstance(record, dict):
        return "a record is an object"
    impression, action = record.get("query_id"), record.get("action_name")
    if not isinstance(impression, str) or not impression:
        return "an event without query_id"
    if not isinstance(action, str) or not action:
        return "an event without action_name"
    attributes = as_object(record.get("event_attributes"))
    item, place = _name(as_object(attributes.get("object")).get("object_id")), _place(attributes.get("position"))
    event: Event = {"impression": impression, "id": _id(impression, item, action, record.get("timestamp"))}
    at = _seconds(record.get("timestamp"))
    if at is not None:
        event["at"] = at
    if action.lower() in SEEN_ACTIONS:
        return {**event, "type": "shown"} if place is None else {**event, "type": "seen", "seen": place}
    if item is None:
        return f"an event of action {action[:80]} without an object"
    return {**event, "type": "click" if action.lower() in CLICK_ACTIONS else action, "item": item}


def shown_of(record: Any) -> Event | str:
    """That a list has been shown, if a UBI query names the objects of its answer; else why that is not known.

    >>> shown_of({"query_id": "x", "user_query": "laptop", "query_response_hit_ids": ["sku-2"]})["type"]
    'shown'
    >>> shown_of({"query_id": "x", "user_query": "laptop"})
    'a query that names no objects: nothing is known to have been shown'
    """
    if not isinstance(record, dict):
        return "a record is an object"
    impression = record.get("query_id")
    if not isinstance(impression, str) or not impression:
        return "a query without query_id"
    if not any(isinstance(record.get(hits), list) and record[hits] for hits in HITS):
        return "a query that names no objects: nothing is known to have been shown"
    return {"impression": impression, "type": "shown", "id": _id(impression, None, "shown", None)}


def _unwrapped(record: Any) -> Any:
    """A record without what an export of an index wraps around it."""
    inner = record.get("_source") if isinstance(record, dict) else None
    return inner if isinstance(inner, dict) else record


def _name(value: Any) -> str | None:
    """The name of an object, which may be a number."""
    if is_whole(value):
        return str(value)
    return value if isinstance(value, str) and value else None


def _place(position: Any) -> int | None:
    """A position counted from 1: `{"ordinal": 3}`, and before UBI 1.3 `{"index": 3}` or `{"ordinal": {"index": 3}}`.

    >>> [_place(given) for given in ({"ordinal": 3}, {"index": 3}, {"ordinal": {"index": 3}}, {}, {"ordinal": -1})]
    [3, 3, 3, None, None]
    """
    for word in ("ordinal", "index"):
        found: Any = as_object(position).get(word)
        if isinstance(found, dict):
            found = found.get("index")
        if is_whole(found) and found > 0:
            return int(found)
    return None


def _seconds(timestamp: Any) -> float | None:
    """A time in seconds, from a date as in ISO 8601, in UTC unless it says otherwise, or from milliseconds.

    >>> _seconds("2018-11-13T20:20:39+00:00") == _seconds("2018-11-13T20:20:39") == _seconds(1542140439000)
    True
    >>> _seconds("yesterday"), _seconds(None)
    (None, None)
    """
    if isinstance(timestamp, str):
        if not timestamp.isdecimal():
            try:
                found = datetime.fromisoformat(timestamp)
                return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).timestamp()
            except (ValueError, OverflowError):
                return None
        timestamp = int(timestamp[:20])
    return timestamp / 1000 if is_number(timestamp) and 0 <= timestamp < 1e14 else None


def _id(*parts: Any) -> str:
    """An id that is the same for the same record."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        text = str(part).encode("utf-8", "surrogatepass")
        digest.update(len(text).to_bytes(4, "big") + text)
    return digest.hexdigest()
