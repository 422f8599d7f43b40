"""What a running service holds: the live loop, its keys, its counts, and the threads that wait in its place."""

from __future__ import annotations

import asyncio
import gc
import os
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol, TypeVar

from rankloop.live import Live, Settings, Shown, StoreError
from rankloop.live.merged_status import merged_status
from rankloop.live.names import check_names
from rankloop.live.pages import check_pinned, page_of
from rankloop.live.settings import read_config
from rankloop.live.stores import Store
from rankloop.service.keys import LOOK_AGAIN, KeyRing
from rankloop.service.limits import Limits, RequestRates
from rankloop.service.logs import logger
from rankloop.service.messages import RankRequest
from rankloop.service.metrics import Metrics
from rankloop.service.owned_partitions import Elsewhere, Partition, Partitions
from rankloop.service.partition_queries import GATHERED, plain_status
from rankloop.service.problems import ProblemDetails
from rankloop.service.request import Reply, Request

Answer = TypeVar("Answer")

THREADS = 8
"""Threads in which calls wait for the store; they share commits."""
TOO_MANY = "too many calls wait for the store"
RARE_COLLECTIONS = (50_000, 20, 50)
"""When Python looks for garbage: rarely, since a look over many learners stops everything."""


class Manager(Protocol):
    """Who creates and changes loops: the live loop of a store with one partition, or what all workers share."""

    @property
    def loops(self) -> tuple[str, ...]:
        """The names of all loops."""

    def settings(self, loop: str) -> Settings:
        """What a loop was told."""

    def create(self, loop: str, *, kind: str, **settings: Any) -> None:
        """Create a loop."""

    def change(self, loop: str, **settings: Any) -> None:
        """Change a running loop."""

    def put_items(self, loop: str, items: Mapping[str, Mapping[str, Any]]) -> None:
        """Give the features of items."""


class Workers(Protocol):
    """Those with whom this process shares the partitions of a store."""

    keys: KeyRing
    store_name: str

    @property
    def manager(self) -> Manager:
        """Who creates and changes loops."""

    async def open(self, service: Service) -> None:
        """Join them, and claim partitions."""

    async def close(self) -> None:
        """Release all partitions, and leave."""

    async def forward(self, partition: int, route: str, request: Request) -> Reply:
        """What the owner of a partition answers."""

    async def gather(self, name: str, arguments: tuple[Any, ...]) -> list[Any]:
        """What a function gives for each partition of the store."""

    async def spread(self) -> None:
        """Return once all workers that can be reached have heard of a change of loops or access keys."""

    async def metrics(self) -> list[tuple[str, list[Any]]]:
        """What each worker counts of itself, by the worker's name."""


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
    workers
        Those with whom the partitions of the store are shared; nobody if not given.
    options
        What `Live` takes besides.
    """

    read_only = False
    """Whether nobody can change anything here, whatever their key."""

    def __init__(
        self,
        store: str | Path | Store,
        *,
        config: str | Path | None = None,
        admin: str | None = None,
        limits: Limits | None = None,
        workers: Workers | None = None,
        **options: Any,
    ) -> None:
        self.workers = workers
        self.partitions = Partitions()
        self.only: Partition | None = None
        """The partition of a store that has one."""
        self._store, self._config, self._admin, self._options = store, config, admin, options
        declared = {} if config is None else read_config(config).get("serve", {})
        self.limits = limits or Limits.told(declared)
        self.metrics = Metrics()
        self.rates = RequestRates(self.limits.rate)
        self.browser_rates = RequestRates(self.limits.browser_rate)
        self.guesses = RequestRates(self.limits.guesses)
        self.ready = False
        self.leaving = False
        """Whether connections are closed after the next answer, so that clients go to another worker."""
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
        self._looking: asyncio.Task[dict[str, Any]] | None = None

    # -- beginning and ending ------------------------------------------------------------------------------------

    async def open(self) -> None:
        """Open the store, load and compile; it is ready afterwards."""
        try:
            if self.workers is None:
                live, self.keys = await self.run(self._open)
                self.manager: Manager = live
                self.only = self.partitions.owned[0] = Partition(0, live)
            else:
                await self.workers.open(self)
                self.manager, self.keys = self.workers.manager, self.workers.keys
        except Exception as error:
            self.failed = error
            raise
        self._watch = asyncio.get_running_loop().create_task(self._look_after())
        gc.collect()
        gc.freeze()
        gc.set_threshold(*RARE_COLLECTIONS)
        self.ready = True
        self.when_ready()
        logger.info("ready", extra={"fields": {"store": self.store_name, "loops": len(self.manager.loops)}})

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
        if self.workers is not None:
            await self.workers.close()
        elif was_ready:
            await self.run(self._one.committer.close)
            await self.run(self._one.live.close)
        if was_ready:
            logger.info("closed", extra={"fields": {"store": self.store_name}})
        self._threads.shutdown(wait=False)

    async def _look_after(self) -> None:
        """Look for keys that another process has made or revoked."""
        while True:
            await asyncio.sleep(LOOK_AGAIN)
            try:
                await self.run(self.keys.look)
            except StoreError as error:
                logger.warning("access keys could not be read: %s", error)

    # -- whose a request is --------------------------------------------------------------------------------------

    @property
    def _one(self) -> Partition:
        assert self.only is not None, "the store has several partitions"
        return self.only

    @property
    def live(self) -> Live:
        """The live loop of a store with one partition."""
        return self._one.live

    @property
    def store_name(self) -> str:
        """What to call the store."""
        return self._one.live.store.name if self.workers is None else self.workers.store_name

    def find(self, loop: str, key: str) -> Partition | None:
        """The partition of a key, if it is ours."""
        return self.only or self.partitions.at(self.partitions.number_of(loop, key))

    def find_id(self, id_: Any) -> Partition | None:
        """The partition of an impression, if it is ours."""
        return self.only or self.partitions.at(self.partitions.number_in(id_))

    def at(self, loop: str, key: str) -> Partition:
        """The partition of a key; Elsewhere is raised if it is another worker's."""
        found = self.find(loop, key)
        if found is None:
            raise Elsewhere(self.partitions.number_of(loop, key))
        return found

    def at_id(self, id_: Any) -> Partition:
        """The partition of an impression; Elsewhere is raised if it is another worker's."""
        found = self.find_id(id_)
        if found is None:
            raise Elsewhere(self.partitions.number_in(id_))
        return found

    async def gather(self, name: str, *arguments: Any) -> list[Any]:
        """What a function of `GATHERED` gives for each partition of the store, in any order."""
        if self.workers is not None:
            return await self.workers.gather(name, arguments)
        return [await self.call(lambda: GATHERED[name](self.live, *arguments))]

    async def spread(self) -> None:
        """Return once all workers that can be reached have heard of a change of loops or access keys."""
        if self.workers is not None:
            await self.workers.spread()

    # -- calls that may wait -------------------------------------------------------------------------------------

    async def run(self, call: Callable[[], Answer]) -> Answer:
        """Do something in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    def check_room(self) -> None:
        """Refuse to wait, where too many wait already."""
        if self.pending >= self.limits.threads:
            self.metrics.refused["busy"] += 1
            raise ProblemDetails(503, f"{self.pending} calls wait already: send again in a moment", retry_after=1)

    async def call(self, call: Callable[[], Answer]) -> Answer:
        """Do something in a thread, where it may wait for the store."""
        self.check_room()
        self.pending += 1
        try:
            return await self.run(call)
        finally:
            self.pending -= 1

    async def durable(self, part: Partition) -> None:
        """Return once everything that a partition has taken in until now is durable."""
        if part.committer.waiting >= self.limits.requests:
            self.metrics.refused["busy"] += 1
            raise ProblemDetails(503, "too many requests wait for the disk: send again in a moment", retry_after=1)
        await part.committer.durable()

    async def rank_waiting(self, part: Partition, loop: str, asked: RankRequest) -> Shown:
        """`Live.rank` for a key that is not in memory or a list that is new; production's list if it takes too long."""

        def rank() -> Shown:
            return part.live.rank(
                loop, asked.key, asked.items, user=asked.user, pinned=asked.pinned, deferred=asked.deferred
            )

        if self.pending >= self.limits.threads:
            return part.prompt.fall_back(loop, asked.key, asked.items, pinned=asked.pinned, reason=TOO_MANY)
        self.pending += 1
        part.busy += 1
        future = asyncio.get_running_loop().run_in_executor(self._threads, rank)
        future.add_done_callback(lambda _: self._one_less(part))
        await asyncio.wait((future,), timeout=self.limits.patience)
        if future.done():
            return future.result()
        future.add_done_callback(lambda late: self._withdraw(part, late))
        told = f"the store did not answer within {self.limits.patience:g} s"
        return part.prompt.fall_back(loop, asked.key, asked.items, pinned=asked.pinned, reason=told)

    def _one_less(self, part: Partition) -> None:
        self.pending -= 1
        part.busy -= 1

    def _withdraw(self, part: Partition, late: asyncio.Future[Shown]) -> None:
        """A list has come too late: nobody sees it."""
        if not late.cancelled() and late.exception() is None and late.result().id:
            self._threads.submit(self.withdraw, part, late.result().id)

    def withdraw(self, part: Partition, id_: str) -> None:
        """Say that nobody sees a list, in a thread that may wait."""
        try:
            part.live.withdraw(id_)
        except StoreError as error:
            logger.warning("a list that came too late could not be withdrawn: %s", error)

    def fall_back(self, loop: str, asked: RankRequest, reason: str) -> Shown:
        """Production's list, where no partition can be asked."""
        settings = self.manager.settings(loop)
        names, pins = check_pinned(check_names("items", asked.items), asked.pinned)
        page = page_of(names, range(len(names)), pins, settings.positions)
        return Shown("", page, loop, asked.key, "fallback", reason=reason)

    # -- what is known -------------------------------------------------------------------------------------------

    async def recent_statuses(self) -> dict[str, Any]:
        """What all loops have counted, at most a second old; older where the store does not answer."""
        if time.monotonic() - self._status[0] > 1.0:
            looking = self._looking = self._looking or asyncio.create_task(self.statuses(self.manager.loops))
            await asyncio.wait((looking,), timeout=self.limits.patience)
            if looking.done() and looking is self._looking:
                self._looking = None
                try:
                    self._status = (time.monotonic(), looking.result())
                except StoreError as error:
                    logger.warning("metrics of the loops are as they were: %s", error)
        return self._status[1]

    async def statuses(self, loops: Sequence[str]) -> dict[str, dict[str, Any]]:
        """What some loops have counted and found, over all partitions."""
        parts = await self.gather("tallies", list(loops))
        known = {loop: [part[loop] for part in parts if part.get(loop) is not None] for loop in loops}
        return {loop: plain_status(merged_status(tallies)) for loop, tallies in known.items() if tallies}

    def why_not_alive(self) -> str:
        """Why the process should be started again; empty if it should not."""
        if self.failed is not None:
            return str(self.failed)
        if self.only is not None and self.only.live.over and not self.draining:
            return "the store cannot be written from here any more: start the service again"
        return ""


def admin_key() -> str | None:
    """The admin key that the environment sets."""
    return os.environ.get("RANKLOOP_ADMIN_KEY") or None
