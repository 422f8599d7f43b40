"""Logs for machines: one JSON object per line, with the id of the request where there is one. They hold no key.

A line for every request would cost as much as the request; counts of them are in the metrics. The log has those that
failed inside or were slow.
"""

from __future__ import annotations

import logging
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TextIO

from rankloop.service.messages import encode

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""Id of the request that is being answered."""

logger = logging.getLogger("rankloop.service")


class JsonLines(logging.Formatter):
    """Records as JSON.

    >>> record = logging.LogRecord("rankloop.service", logging.INFO, "", 0, "ready", (), None)
    >>> record.created = 0.0
    >>> print(JsonLines().format(record))
    {"time":"1970-01-01T00:00:00.000Z","level":"info","logger":"rankloop.service","message":"ready"}
    """

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{seconds}.{int(record.created * 1000) % 1000:03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        request = request_id.get()
        if request:
            line["request"] = request
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return encode(line).decode()


class Bounded(logging.Filter):
    """Lets only so many lines of one kind through in a second: an outage must not fill disks.

    Parameters
    ----------
    clock
        Function that tells the time in seconds.
    """

    MOST = 10
    """Lines of one kind in a second; a later one says how many were left out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._second = 0
        self._lines: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is written."""
        second, kind = int(self._clock()), str(record.msg)  # with what it is filled in later, it is another one
        if second != self._second:
            self._second, self._lines = second, Counter()
        self._lines[kind] += 1
        if self._lines[kind] > self.MOST:
            self._left_out[kind] += 1
            return False
        left_out = self._left_out.pop(kind, 0)
        if left_out:
            record.fields = {**getattr(record, "fields", {}), "left_out": left_out}
        return True


def tell_unusual(slow: float, route: str, status: int, seconds: float, id_: bytes) -> None:
    """Write a line for a request that failed, or took at least so many seconds."""
    if (status >= 500 or seconds >= slow) and not route.startswith("health"):
        fields = {"route": route, "status": status, "seconds": round(seconds, 4), "request": id_.decode()}
        logger.warning("request failed" if status >= 500 else "request was slow", extra={"fields": fields})


def log_to(stream: TextIO | None = None) -> None:
    """Send the logs of rankloop and of the server to a stream, standard error if none is given."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    handler.addFilter(Bounded())
    for name in ("rankloop", "uvicorn"):
        named = logging.getLogger(name)
        named.handlers, named.propagate = [handler], False
        named.setLevel(logging.INFO if name == "rankloop" else logging.WARNING)
