"""What Prometheus reads. Counters are numbers in a dictionary, changed by the event loop's thread alone.

The text format is written here and not by prometheus_client, whose counters take a lock and several microseconds each;
the format has two kinds of lines.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

BUCKETS = (
    0.00025, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
)  # fmt: skip
"""Upper ends of the classes of times, in seconds: finest where most answers are to be, between 1 and 10 ms."""
FATES = ("accepted", "duplicate", "ignored", "late", "expired", "unknown", "foreign", "invalid")
REASONS = ("busy", "key", "rate")

Labels = Mapping[str, Any]


Family = tuple[str, str, str, Iterable[tuple[Labels, Any]]]
"""Name, kind, help and values of what is counted."""


class Metrics:
    """Counts of one process. What has not happened yet is there as 0, so that its first time is seen to be one more.

    >>> metrics = Metrics()
    >>> metrics.observe("rank", 200, 0.002)
    >>> print(text([*metrics.families(), ("rankloop_open", "gauge", "Open.", [({"loop": 'a"b'}, 3)])]).splitlines()[-1])
    rankloop_open{loop="a\\"b"} 3
    """

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.fates: Counter[str] = Counter(dict.fromkeys(FATES, 0))
        self.fallbacks: Counter[str] = Counter()
        self.refused: Counter[str] = Counter(dict.fromkeys(REASONS, 0))
        self.ubi: Counter[tuple[str, str]] = Counter()
        self._times: dict[str, list[int]] = {}
        self._seconds: Counter[str] = Counter()

    def observe(self, route: str, status: int, seconds: float) -> None:
        """Count a request that has been answered."""
        self.requests[route, status] += 1
        times = self._times.get(route)
        if times is None:
            times = self._times[route] = [0] * (len(BUCKETS) + 1)
        times[bisect_left(BUCKETS, seconds)] += 1
        self._seconds[route] += seconds  # type: ignore[assignment]

    def families(self) -> Iterator[Family]:
        """What concerns the whole service."""
        yield (
            "rankloop_requests_total", "counter", "Requests that were answered, by route and status.",
            [({"route": route, "status": status}, n) for (route, status), n in sorted(self.requests.items())],
        )  # fmt: skip
        yield "rankloop_request_seconds", "histogram", "Time until the answer, in seconds.", self._histogram()
        for name, help_, counts, label in (
            ("rankloop_events_total", "Events that came in, by what became of them.", self.fates, "fate"),
            ("rankloop_refused_total", "Requests that were refused, by reason.", self.refused, "reason"),
        ):
            yield name, "counter", help_, [({label: word}, n) for word, n in sorted(counts.items())]

        yield (
            "rankloop_ubi_records_total", "counter", "Records of User Behavior Insights, by what became of them.",
            [({"kind": kind, "fate": fate}, n) for (kind, fate), n in sorted(self.ubi.items())],
        )  # fmt: skip

    def _histogram(self) -> Iterator[tuple[Labels, Any]]:
        for route, times in sorted(self._times.items()):
            total = 0
            for end, n in zip((*BUCKETS, "+Inf"), times, strict=True):
                total += n
                yield {"": "_bucket", "route": route, "le": end}, total
            yield {"": "_sum", "route": route}, self._seconds[route]
            yield {"": "_count", "route": route}, total


def of_workers(found: Iterable[tuple[str, Iterable[Family]]]) -> list[Family]:
    """What several workers count, each value with the name of its worker, which no two of them share.

    >>> print(text(of_workers([("a", [("n", "gauge", "N.", [({}, 1)])]), ("b", [("n", "gauge", "N.", [({}, 2)])])])))
    # HELP n N.
    # TYPE n gauge
    n{worker="a"} 1
    n{worker="b"} 2
    <BLANKLINE>
    """
    merged: dict[str, tuple[str, str, list[tuple[Labels, Any]]]] = {}
    for worker, families in found:
        for name, kind, help_, values in families:
            rows = merged.setdefault(name, (kind, help_, []))[2]
            rows += [({**labels, "worker": worker}, value) for labels, value in values]
    return [(name, kind, help_, rows) for name, (kind, help_, rows) in merged.items()]


def text(families: Iterable[Family]) -> str:
    """Everything in Prometheus' text format. A label without a name is an ending of the family's name."""
    lines = []
    for name, kind, help_, values in families:
        lines += [f"# HELP {name} {help_}", f"# TYPE {name} {kind}"]
        lines += [f"{name}{_labels(labels)} {value:.17g}" for labels, value in values if value is not None]
    return "\n".join(lines) + "\n"


def _labels(labels: Labels) -> str:
    ending = labels.get("", "")
    named = ",".join(f'{name}="{_escaped(str(value))}"' for name, value in labels.items() if name)
    return f"{ending}{{{named}}}" if named else ending


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
