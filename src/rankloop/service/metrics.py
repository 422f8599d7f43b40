"""What Prometheus reads. Counters are numbers in a dictionary, changed by the event loop's thread alone.

The text format is written here and not by prometheus_client, whose counters take a lock and several microseconds each;
the format has two kinds of lines.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)
"""Upper ends of the classes of times, in seconds."""

Labels = Mapping[str, Any]


class Metrics:
    """Counts of one process.

    >>> metrics = Metrics()
    >>> metrics.observe("rank", 200, 0.002)
    >>> print(metrics.text([("rankloop_open_impressions", "gauge", "Open.", [({"loop": 'a"b'}, 3)])]).splitlines()[-1])
    rankloop_open_impressions{loop="a\\"b"} 3
    """

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.fates: Counter[str] = Counter()
        self.fallbacks: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
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

    def text(self, more: Iterable[tuple[str, str, str, Iterable[tuple[Labels, Any]]]]) -> str:
        """Everything in Prometheus' text format: name, kind, help and values of each."""
        lines = _family(
            "rankloop_requests_total", "counter", "Requests that were answered, by route and status.",
            [({"route": route, "status": status}, n) for (route, status), n in sorted(self.requests.items())],
        )  # fmt: skip
        name = "rankloop_request_seconds"
        lines += [f"# HELP {name} Time until the answer, in seconds.", f"# TYPE {name} histogram"]
        for route, times in sorted(self._times.items()):
            total = 0
            for end, n in zip((*BUCKETS, "+Inf"), times, strict=True):
                total += n
                lines.append(f"{name}_bucket{_labels({'route': route, 'le': end})} {total}")
            lines.append(f"{name}_sum{_labels({'route': route})} {self._seconds[route]:.6f}")
            lines.append(f"{name}_count{_labels({'route': route})} {total}")
        for name, help_, counts, label in (
            ("rankloop_events_total", "Events that came in, by what became of them.", self.fates, "fate"),
            ("rankloop_fallbacks_total", "Lists of production because something failed.", self.fallbacks, "loop"),
            ("rankloop_refused_total", "Requests that were refused, by reason.", self.refused, "reason"),
        ):  # fmt: skip
            lines += _family(name, "counter", help_, [({label: word}, n) for word, n in sorted(counts.items())])
        for name, kind, help_, values in more:
            lines += _family(name, kind, help_, values)
        return "\n".join(lines) + "\n"


def _family(name: str, kind: str, help_: str, values: Iterable[tuple[Labels, Any]]) -> list[str]:
    rows = [f"{name}{_labels(labels)} {value:.17g}" for labels, value in values if value is not None]
    return [f"# HELP {name} {help_}", f"# TYPE {name} {kind}", *rows]


def _labels(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(str(value))}"' for name, value in labels.items()) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
