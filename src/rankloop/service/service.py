"""What a running service holds: the live loop, its keys, its counts, and the threads that wait in its place."""

from __future__ import annotations

import asyncio
import gc
import os
import secrets
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from rankloop.live import Live, Shown, StoreError
from rankloop.live.prompt import Prompt
from rankloop.live.settings import read_config
from rankloop.live.stores import Store
from rankloop.service.committing import Committer
from rankloop.service.keys import LOOK_AGAIN, KeyRing
from rankloop.service.limits import Limits, Rates
from rankloop.service.logs import logger
from rankloop.service.messages import RankRequest
from rankloop.service.metrics import Metrics
from rankloop.service.problems import Problem

Answer = TypeVar("Answer")

THREADS = 8
"""Threads in which calls wait for the store; they share commits."""
RARE_COLLECTIONS = (50_000, 20, 50)
"""When Python looks for garbage: rarely, since a look over many learners stops everything."""


class Service:
    """The live loop behind HTTP.

    Parameters
    ----------
    store
        Path of an SQLite file or `postgresql://...`, or a store.
    config
        Path of a `rankloop.toml`.
    admin
        Admin key that is set from outside; otherwise one is made if the store has none.
    limits
        How much is taken on; what the file says if not given.
    options
        What `Live` takes besides.
    """

    def __init__(
        self,
        store: str | Path | Store,
        *,
        config: str | Path | None = None,
        admin: str | None = None,
        limits: Limits | None = None,
        **options: Any,
    ) -> None:
        self._store, self._config, self._admin, self._options = store, config, admin, options
        declared = {} if config is None else read_config(config).get("serve", {})
        self.limits = limits or Limits.told(declared)
        self.metrics = Metrics()
        self.rates = Rates(self.limits.rate)
        self.browser_rates = Rates(self.limits.browser_rate)
        self.guesses = Rates(self.limits.guesses)
        self.ready = False
        self.draining = False
        self.failed: Exception | None = None
        """Why it could not be opened."""
        self.first_key: str | None = None
        """The admin key, if one was made: to be shown once."""
        self.when_ready: Callable[[], None] = lambda: None
        self.pending = 0
        """Calls that wait for a thread, or in one."""
        self.requests = 0
        """Requests that are being answered."""
        self.description = b""
        """The OpenAPI document."""
        self.started = time.time()
        self.process = secrets.token_hex(4)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="rankloop")
        self._watch: asyncio.Task[None] | None = None
        self._status: tuple[float, dict[str, Any]] = (0.0, {})

    # -- beginning and ending ------------------------------------------------------------------------------------

    async def open(self) -> None:
        """Open the store, load and compile; it is ready afterwards."""
        try:
            self.live, self.keys = await self._run(self._open)
        except Exception as error:
            self.failed = error
            raise
        self.prompt = Prompt(self.live)
        self.committer = Committer(self.live)
        self._watch = asyncio.get_running_loop().create_task(self._look_after())
        gc.collect()
        gc.freeze()
        gc.set_threshold(*RARE_COLLECTIONS)
        self.ready = True
        self.when_ready()
        logger.info("ready", extra={"fields": {"store": self.live.store.name, "loops": len(self.live.loops)}})

    def _open(self) -> tuple[Live, KeyRing]:
        live = Live(self._store, config=self._config, **self._options)
        try:
            keys = KeyRing(live.store, admin=self._admin)
            if not keys.has_admin:
                self.first_key, _ = keys.make("admin", note="made when the service first started")
            live.warm_up()
        except BaseException:
            live.close()
            raise
        return live, keys

    async def close(self) -> None:
        """Write everything, make snapshots and let go of the store."""
        self.draining, was_ready, self.ready = True, self.ready, False
        if self._watch is not None:
            self._watch.cancel()
        if was_ready:
            await self._run(self.committer.close)
            await self._run(self.live.close)
            logger.info("closed", extra={"fields": {"store": self.live.store.name}})
        self._threads.shutdown(wait=False)

    async def _look_after(self) -> None:
        """Look for keys that another process has made or revoked."""
        while True:
            await asyncio.sleep(LOOK_AGAIN)
            try:
                await self._run(self.keys.look)
            except StoreError as error:
                logger.warning("access keys could not be read: %s", error)

    # -- calls that may wait -------------------------------------------------------------------------------------

    async def _run(self, call: Callable[[], Answer]) -> Answer:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    def check_room(self) -> None:
        """Refuse to wait, where too many wait already."""
        if self.pending >= self.limits.threads:
            self.metrics.refused["busy"] += 1
            raise Problem(503, f"{self.pending} calls wait already: send again in a moment", retry_after=1)

    async def call(self, call: Callable[[], Answer]) -> Answer:
        """Do something in a thread, where it may wait for the store."""
        self.check_room()
        self.pending += 1
        try:
            return await self._run(call)
        finally:
            self.pending -= 1

    async def durable(self) -> None:
        """Return once everything that has been taken in until now is durable."""
        if self.committer.waiting >= self.limits.requests:
            self.metrics.refused["busy"] += 1
            raise Problem(503, "too many requests wait for the disk: send again in a moment", retry_after=1)
        await self.committer.durable()

    async def rank_waiting(self, loop: str, asked: RankRequest) -> Shown:
        """`Live.rank` for a key that is not in memory or a list that is new; production's list if it takes too long."""

        def rank() -> Shown:
            return self.live.rank(
                loop, asked.key, asked.items, user=asked.user, pinned=asked.pinned, deferred=asked.deferred
            )

        if self.pending >= self.limits.threads:
            return self.fall_back(loop, asked, "too many calls wait for the store")
        self.pending += 1
        future = asyncio.get_running_loop().run_in_executor(self._threads, rank)
        future.add_done_callback(self._one_less)
        await asyncio.wait((future,), timeout=self.limits.patience)
        if future.done():
            return future.result()
        future.add_done_callback(self._withdraw)
        return self.fall_back(loop, asked, f"the store did not answer within {self.limits.patience:g} s")

    def _one_less(self, _: asyncio.Future[Any]) -> None:
        self.pending -= 1

    def _withdraw(self, late: asyncio.Future[Shown]) -> None:
        """A list has come too late: nobody sees it."""
        if late.cancelled() or late.exception() is not None or not late.result().id:
            return

        def withdraw() -> None:
            try:
                self.live.withdraw(late.result().id)
            except StoreError as error:
                logger.warning("a list that came too late could not be withdrawn: %s", error)

        self._threads.submit(withdraw)

    def fall_back(self, loop: str, asked: RankRequest, reason: str) -> Shown:
        """Production's list, as it would be shown."""
        return self.prompt.fall_back(loop, asked.key, asked.items, pinned=asked.pinned, reason=reason)

    # -- what is known -------------------------------------------------------------------------------------------

    async def status(self) -> dict[str, Any]:
        """What all loops have counted, at most a second old."""
        at, found = self._status
        if time.monotonic() - at > 1.0:
            found = await self.call(self._all_statuses)
            self._status = (time.monotonic(), found)
        return found

    def _all_statuses(self) -> dict[str, Any]:
        return {name: plain_status(self.live.status(name)) for name in self.live.loops}

    def why_not_alive(self) -> str:
        """Why the process should be started again; empty if it should not."""
        if self.failed is not None:
            return str(self.failed)
        if self.ready and self.live.over and not self.draining:
            return "the store cannot be written from here any more: start the service again"
        return ""


def plain_status(status: dict[str, Any]) -> dict[str, Any]:
    """A status as JSON can hold it."""
    if "uplift" in status:
        uplift = status["uplift"]
        status = {**status, "uplift": {**asdict(uplift), "decided": uplift.decided}}
    return status


def admin_key() -> str | None:
    """The admin key that the environment sets."""
    return os.environ.get("RANKLOOP_ADMIN_KEY") or None
