"""OpenSearch User Behavior Insights 1.3: queries and events, one JSON object per line.

Of a query its `query_id`, `user_query` and `query_response_hit_ids` are read; of an event its `query_id`,
`action_name` and, under `event_attributes`, `object.object_id` or else `position.ordinal`, which counts from 1.
Objects wrapped by an export as `{"_source": ...}` are unwrapped.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from rankloop.datasets.click_logs import ClickLog, ReadReport
from rankloop.datasets.log_builder import LogBuilder
from rankloop.datasets.streams import blocks_of_lines
from rankloop.datasets.vocabulary import Vocabulary

CLICK_ACTIONS = frozenset({"click", "click_through"})
"""The actions of UBI that are clicks on a result."""


def read_ubi(
    queries: str | Path,
    events: str | Path,
    *,
    n_positions: int = 10,
    actions: Collection[str] = CLICK_ACTIONS,
) -> ClickLog:
    """Read UBI queries and events, packed with gzip or not. Each query id becomes one session of the log.

    Parameters
    ----------
    queries, events
        The two files; the same file may hold both.
    n_positions
        Number of hits of a query to read.
    actions
        The actions that count as clicks; events of other actions are passed over.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> query = {"query_id": "u1", "user_query": "shoes", "query_response_hit_ids": ["a", "b"]}
    >>> event = {"query_id": "u1", "action_name": "click", "event_attributes": {"object": {"object_id": "b"}}}
    >>> for name, entry in (("queries", query), ("events", event)):
    ...     _ = (folder / name).write_text(json.dumps(entry))
    >>> read_ubi(folder / "queries", folder / "events").clicks[0, :2].tolist()
    [0, 1]
    """
    builder = LogBuilder(str(queries), n_positions)
    ids = Vocabulary()
    _read_queries(Path(queries), builder, ids)
    builder.report.refuse_empty(len(builder))
    _read_events(Path(events), builder, ids, frozenset(actions))
    return builder.finish()


def _read_queries(path: Path, builder: LogBuilder, ids: Vocabulary) -> None:
    report = builder.report
    for line, entry in _objects(path, report):
        if "action_name" in entry and "query_response_hit_ids" not in entry:
            continue
        identity, query, hits = (entry.get(key) for key in ("query_id", "user_query", "query_response_hit_ids"))
        if not isinstance(identity, str) or not identity:
            report.skip("a query without query_id", line)
        elif not isinstance(query, str) or not query:
            report.skip("a query without user_query", line)
        elif (
            not isinstance(hits, list) or not hits or not all(isinstance(hit, str | int) and hit != "" for hit in hits)
        ):
            report.skip("a query without query_response_hit_ids", line)
        elif ids.find(identity) >= 0:
            report.skip("a query_id that an earlier query has (the first is kept)", line)
        else:
            ids.add(identity)
            builder.add(query, [str(hit) for hit in hits], [0] * len(hits), line)


def _read_events(path: Path, builder: LogBuilder, ids: Vocabulary, actions: frozenset[str]) -> None:
    report = ReadReport(str(path))
    for line, entry in _objects(path, report):
        if "query_response_hit_ids" in entry:
            continue
        if "action_name" not in entry:
            report.skip("an event without action_name", line)
            continue
        if entry["action_name"] not in actions:
            continue
        identity = entry.get("query_id")
        session = ids.find(identity) if isinstance(identity, str) else -1
        if session < 0:
            report.skip("a click without a query that was read", line)
            continue
        attributes = as_object(entry.get("event_attributes"))
        item = as_object(attributes.get("object")).get("object_id")
        ordinal = as_object(attributes.get("position")).get("ordinal")
        if isinstance(item, str | int) and not isinstance(item, bool):
            found = builder.click(session, str(item))
        elif isinstance(ordinal, int) and not isinstance(ordinal, bool):
            found = builder.click_at(session, ordinal - 1)
        else:
            report.skip("a click without object_id or ordinal", line)
            continue
        if not found:
            report.skip("a click on an item that was not shown", line)
    for reason, times in report.skipped.items():
        builder.report.skip(f"{reason}, in {path.name}", report.first_line[reason], times)


def _objects(path: Path, report: ReadReport) -> Iterator[tuple[int, dict[str, Any]]]:
    line = 0
    for block in blocks_of_lines(path):
        for text in block.splitlines():
            line += 1
            if not text.strip():
                continue
            try:
                entry = json.loads(text)
            except ValueError:
                report.skip("a line that is not JSON", line)
                continue
            if isinstance(entry, dict) and isinstance(entry.get("_source"), dict):
                entry = entry["_source"]
            if isinstance(entry, dict):
                yield line, entry
            else:
                report.skip("a line that is not a JSON object", line)
    report.lines += line


def as_object(value: Any) -> dict[str, Any]:
    """A JSON object; an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}
