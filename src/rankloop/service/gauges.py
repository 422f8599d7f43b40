"""What the loops and the process say of themselves, for Prometheus."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rankloop.version import __version__

if TYPE_CHECKING:
    from rankloop.service.metrics import Family
    from rankloop.service.service import Service

FALLBACKS = "rankloop_fallbacks_total"
"""Counted by each process, for each loop."""
_GAUGES = {
    "keys": "Keys that have a learner.",
    "open": "Impressions whose windows have not passed.",
}
_COUNTS = {
    "impressions": "Impressions that were handed out.",
    "learned": "Impressions that were learned from.",
    "clicks": "Clicks that were joined to an impression.",
    "duplicates": "Events that had been delivered before.",
    "late": "Events that came after their impression had been closed.",
}
_ENDS = {
    "difference": ("rankloop_uplift", "Click rate with the loop minus that of the holdout."),
    "low": ("rankloop_uplift_low", "Low end of the interval of the uplift."),
    "high": ("rankloop_uplift_high", "High end of the interval of the uplift."),
}


def of_loops(statuses: Mapping[str, Mapping[str, Any]]) -> Iterator[Family]:
    """What concerns single loops."""
    for word, help_ in _GAUGES.items():
        yield f"rankloop_{word}", "gauge", help_, [({"loop": loop}, status[word]) for loop, status in statuses.items()]
    for word, help_ in _COUNTS.items():
        counts = [({"loop": loop}, status[word]) for loop, status in statuses.items()]
        yield f"rankloop_{word}_total", "counter", help_, counts
    uplifts = {loop: status["uplift"] for loop, status in statuses.items() if "uplift" in status}
    for word, (name, help_) in _ENDS.items():
        yield name, "gauge", help_, [({"loop": loop}, uplift[word]) for loop, uplift in uplifts.items()]


def of_process(service: Service) -> Iterator[Family]:
    """What one process says of itself."""
    yield from service.metrics.families()
    fallbacks = [({"loop": loop}, service.metrics.fallbacks[loop]) for loop in service.manager.loops]
    yield FALLBACKS, "counter", "Lists of production because something failed.", fallbacks
    parts = list(service.partitions)
    unwritten = sum(part.live.last - part.live.durable for part in parts)
    lag = max((part.prompt.lag for part in parts), default=0.0)
    since = [part.prompt.since_checkpoint for part in parts]
    entries, seconds = sum(entries for entries, _ in since), max((seconds for _, seconds in since), default=0.0)
    commits = sum(part.committer.commits for part in parts)
    for name, help_, value in (
        ("rankloop_unwritten_entries", "Entries that wait for the disk.", unwritten),
        ("rankloop_learning_lag_seconds", "How long windows that have passed wait to be closed.", lag),
        ("rankloop_snapshot_age_seconds", "Time since the last checkpoint.", seconds),
        ("rankloop_entries_since_snapshot", "Entries that a start would have to replay.", entries),
        ("rankloop_partitions", "Partitions of the store.", service.partitions.n),
        ("rankloop_partitions_owned", "Partitions that this process owns.", sum(part.held for part in parts)),
        ("rankloop_requests_in_flight", "Requests that are being answered.", service.requests),
        ("rankloop_calls_waiting", "Calls that wait for the store.", service.pending),
        ("process_start_time_seconds", "When the process started, in seconds since 1970.", service.started),
        ("process_resident_memory_bytes", "Memory of the process.", _resident()),
    ):
        yield name, "gauge", help_, [({}, value)]
    yield "rankloop_commits_total", "counter", "Commits for events.", [({}, commits)]
    yield "process_cpu_seconds_total", "counter", "Processor time of the process.", [({}, time.process_time())]
    yield "rankloop_info", "gauge", "The version that runs.", [({"version": __version__}, 1)]


def _resident() -> int | None:
    """Bytes of this process in memory, where Linux tells."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None
