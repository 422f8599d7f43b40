"""Events that are sent in the background, while the page goes on."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

from rankloop.client.calls import MOST_EVENTS, with_id
from rankloop.client.errors import ServiceAway

logger = logging.getLogger("rankloop.client")


class Outbox:
    """A bounded queue of events, and a thread that sends them in batches, in their order.

    Parameters
    ----------
    most
        Events that may wait; more are dropped, and counted.
    send
        Sends a batch; ServiceAway if it is to be tried again.
    pause
        Seconds between one failure and the next attempt.

    Examples
    --------
    >>> sent = []
    >>> outbox = Outbox(2, sent.extend)
    >>> outbox.put({"impression": "x", "item": "sku-2"})
    'queued'
    >>> outbox.close()
    >>> [event["item"] for event in sent], outbox.dropped
    (['sku-2'], 0)
    """

    def __init__(self, most: int, send: Callable[[Sequence[Mapping[str, Any]]], Any], pause: float = 1.0) -> None:
        self._most, self._send, self._pause = most, send, pause
        self._waiting: deque[Mapping[str, Any]] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._thread: threading.Thread | None = None
        self.dropped = 0
        """Events that were not sent: there was no room, or the service was away until the end, or refused them."""

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, event: Mapping[str, Any]) -> str:
        """Let an event wait to be sent: "queued", or "dropped" if there is no room."""
        told = with_id({"at": time.time(), **{word: value for word, value in event.items() if value is not None}})
        with self._changed:
            if self._closing or len(self._waiting) >= self._most:
                self.dropped += 1
                return "dropped"
            self._waiting.append(told)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True, name="rankloop client")
                self._thread.start()
            self._changed.notify()
        return "queued"

    def close(self) -> None:
        """Send what waits, if the service takes it, and end."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while batch := self._next():
            try:
                self._send(batch)
            except ServiceAway as error:
                logger.warning("%d events wait: %s", len(self._waiting), error)
                with self._changed:
                    if not self._closing:
                        self._changed.wait(self._pause)
                        continue
                    self.dropped += len(self._waiting)
                return
            except Exception as error:
                logger.error("%d events were refused: %s", len(batch), error)
                with self._changed:
                    self.dropped += len(batch)
            with self._changed:
                for _ in batch:
                    self._waiting.popleft()

    def _next(self) -> list[Mapping[str, Any]]:
        with self._changed:
            while not self._waiting and not self._closing:
                self._changed.wait()
            return list(islice(self._waiting, MOST_EVENTS))
