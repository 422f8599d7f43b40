"""Durability for an event loop: a thread commits whatever has gathered during the last commit, then looks again."""

from __future__ import annotations

import asyncio
import queue
import threading

from rankloop.live import Live


class Committer:
    """Writes the journal in a thread of its own, so that the event loop never waits for a disk.

    Requests that wait at the same time share one commit, and one future. Nobody waits for company: a commit begins as
    soon as the last one has ended.

    Parameters
    ----------
    live
        Whose journal is written.
    """

    def __init__(self, live: Live) -> None:
        self._live = live
        self._loop = asyncio.get_running_loop()
        self._asked: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self._next: asyncio.Future[None] | None = None
        self._running: asyncio.Future[None] | None = None
        self.waiting = 0
        """Requests that wait for the disk now."""
        self.commits = 0
        self._thread = threading.Thread(target=self._write, daemon=True, name="rankloop-commit")
        self._thread.start()

    async def durable(self) -> None:
        """Return once everything that is in the journal now has been written for good."""
        if self._live.durable >= self._live.last:
            return
        if self._next is None:
            self._next = self._loop.create_future()
            if self._running is None:  # after those requests that are ready as well
                self._loop.call_soon(self._begin)
        self.waiting += 1
        try:
            await asyncio.shield(self._next)
        finally:
            self.waiting -= 1

    def _begin(self) -> None:
        if self._running is None and self._next is not None:
            self._running, self._next = self._next, None
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
        running, self._running = self._running, None
        self.commits += 1
        if running is not None and not running.done():
            if error is None:
                running.set_result(None)
            else:
                running.set_exception(error)
                running.exception()  # somebody has looked at it, even if all who waited have gone
        self._begin()

    def close(self) -> None:
        """End the thread, after the commit that is under way."""
        self._asked.put(None)
        self._thread.join()
