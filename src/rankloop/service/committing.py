"""Durability for an event loop: a thread commits whatever has gathered during the last commit, then looks again."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable

from rankloop.live import Live

Told = Callable[[Exception | None], None]
"""What is called once a commit has ended, with what went wrong if it failed."""


class Committer:
    """Writes the journal in a thread of its own, so that the event loop never waits for a disk.

    Requests that wait at the same time share one commit. Nobody waits for company: a commit begins as soon as the last
    one has ended.

    Parameters
    ----------
    live
        Whose journal is written.
    """

    def __init__(self, live: Live) -> None:
        self._live = live
        self._loop = asyncio.get_running_loop()
        self._asked: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self._next: list[Told] = []
        self._running: list[Told] | None = None
        self.waiting = 0
        """Requests that wait for the disk now."""
        self.commits = 0
        self._thread = threading.Thread(target=self._write, daemon=True, name="rankloop-commit")
        self._thread.start()

    def when_durable(self, told: Told) -> None:
        """Call something once everything that is in the journal now has been written for good."""
        if not self._next and self._running is None:  # after those requests that are ready as well
            self._loop.call_soon(self._begin)
        self._next.append(told)
        self.waiting += 1

    async def durable(self) -> None:
        """Return once everything that is in the journal now has been written for good."""
        if self._live.durable >= self._live.last:
            return
        future: asyncio.Future[None] = self._loop.create_future()

        def told(error: Exception | None) -> None:
            if future.done():
                return
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)

        self.when_durable(told)
        await future

    def _begin(self) -> None:
        if self._running is None and self._next:
            self._running, self._next = self._next, []
            self._asked.put(self._live.last)

    def _write(self) -> None:
        while (upto := self._asked.get()) is not None:
            error: Exception | None = None
            try:
                self._live.commit(upto)
            except Exception as failed:
                error = failed
            try:
                self._loop.call_soon_threadsafe(self._ended, error)
            except RuntimeError:  # the event loop has been closed
                return

    def _ended(self, error: Exception | None) -> None:
        waited, self._running = self._running or [], None
        self.commits += 1
        self.waiting -= len(waited)
        self._begin()
        for told in waited:
            told(error)

    def close(self) -> None:
        """End the thread, after the commit that is under way."""
        self._asked.put(None)
        self._thread.join()
