"""What the loops say of themselves, for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankloop.service.metrics import Labels
    from rankloop.service.service import Service

_OF_LOOPS = {
    "keys": "Keys that have a learner.",
    "open": "Impressions whose windows have not passed.",
    "impressions": "Impressions that were handed out.",
    "learned": "Impressions that were learned from.",
    "clicks": "Clicks that were joined to an impression.",
    "duplicates": "Events that had been delivered before.",
    "late": "Events that came after their impression had been closed.",
}


def gauges(
    service: Service, statuses: Mapping[str, Mapping[str, Any]], *, whole: bool
) -> Iterator[tuple[str, str, str, list[tuple[Labels, Any]]]]:
    """Name, kind, help and values of each; those of the whole service where the key may know them."""
    for word, help_ in _OF_LOOPS.items():
        values: list[tuple[Labels, Any]] = [({"loop": loop}, status[word]) for loop, status in statuses.items()]
        yield f"rankloop_{word}", "gauge", help_, values
    for word in ("difference", "low", "high"):
        uplifts = {loop: status["uplift"] for loop, status in statuses.items() if "uplift" in status}
        help_ = "Click rate with the loop minus that of the holdout" + (
            "." if word == "difference" else f": {word} end."
        )
        name = "rankloop_uplift" if word == "difference" else f"rankloop_uplift_{word}"
        yield name, "gauge", help_, [({"loop": loop}, uplift[word]) for loop, uplift in uplifts.items()]
    if not whole:
        return
    live = service.live
    yield "rankloop_unwritten_entries", "gauge", "Entries that wait for the disk.", [({}, live.last - live.durable)]
    yield "rankloop_learning_lag_seconds", "gauge", "How long windows that have passed wait to be closed.", [
        ({}, service.prompt.lag)
    ]  # fmt: skip
    entries, seconds = service.prompt.since_checkpoint
    yield "rankloop_snapshot_age_seconds", "gauge", "Time since the last checkpoint.", [({}, seconds)]
    yield "rankloop_entries_since_snapshot", "gauge", "Entries that a start would have to replay.", [({}, entries)]
    yield "rankloop_partitions_owned", "gauge", "Partitions that this process owns.", [({}, int(not live.over))]
    yield "rankloop_commits_total", "counter", "Commits for events.", [({}, service.committer.commits)]
    yield "rankloop_requests_in_flight", "gauge", "Requests that are being answered.", [({}, service.requests)]
    yield "rankloop_calls_waiting", "gauge", "Calls that wait for the store.", [({}, service.pending)]
    yield "rankloop_start_time_seconds", "gauge", "When the service started.", [({}, service.started)]
