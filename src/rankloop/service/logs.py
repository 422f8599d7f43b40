"""Logs for machines: one JSON object per line, with the id of the request where there is one. They hold no key."""

from __future__ import annotations

import logging
import sys
import time
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


def log_to(stream: TextIO | None = None) -> None:
    """Send the logs of rankloop and of the server to a stream, standard error if none is given."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("rankloop", "uvicorn"):
        named = logging.getLogger(name)
        named.handlers, named.propagate = [handler], False
        named.setLevel(logging.INFO if name == "rankloop" else logging.WARNING)
