"""The partitions that a worker holds: opened when they are claimed, and handed over whole."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from rankloop.live import Live, StoreError
from rankloop.live.leases import LeaseHeld
from rankloop.live.postgres import PostgresStore
from rankloop.live.shared_loops import SharedLoops
from rankloop.service.logs import logger
from rankloop.service.owned_partitions import Partition, Partitions

SECONDS_TO_FINISH = 5.0
"""How long requests that are being answered from a partition may take before it is handed over."""

Run = Callable[[Callable[[], Any]], Awaitable[Any]]


class Holding:
    """Opens partitions and hands them over.

    Parameters
    ----------
    url
        Address of the store.
    worker
        Id of this worker.
    lease
        Seconds after which another worker may take over from one that does not renew its lease.
    partitions
        Those that are held, which requests are answered from.
    loops
        What the loops have been told.
    run
        Function that does something in a thread.
    options
        What `Live` takes besides the store.
    """

    def __init__(
        self, url: str, worker: str, lease: float, partitions: Partitions, loops: SharedLoops, run: Run, **options: Any
    ) -> None:
        self._url, self._worker, self._lease, self._options = url, worker, lease, options
        self._partitions, self._loops, self._run = partitions, loops, run
        self._opening: set[int] = set()
        self._closing: set[int] = set()

    @property
    def mine(self) -> set[int]:
        """Partitions that are held, or about to be, or not let go of yet."""
        return {*self._partitions.owned, *self._opening, *self._closing}

    async def claim(self, number: int) -> bool:
        """Claim a partition that seems to be free, and begin to answer from it; whether that has worked."""
        self._opening.add(number)
        try:
            live = await self._run(lambda: self._open(number))
        except LeaseHeld:
            return False
        except StoreError as error:
            logger.warning("partition %d could not be taken over: %s", number, error)
            return False
        finally:
            self._opening.discard(number)
        self._partitions.owned[number] = Partition(number, live)
        logger.info("partition %d is answered from here", number)
        return True

    def _open(self, number: int) -> Live:
        store = PostgresStore(self._url, partition=number, worker=self._worker, lease=self._lease, wait=False)
        live = Live(store, **self._options)
        try:
            self._loops.bring_up_to_date(live, number)
        except BaseException:
            live.close()
            raise
        return live

    async def bring_up_to_date(self) -> None:
        """Let all partitions take over what loops have been told meanwhile."""
        behind = [part for part in self._partitions if part.live.adopted < self._loops.version]
        await asyncio.gather(*map(self._bring, behind))

    async def _bring(self, part: Partition) -> None:
        try:
            with part:
                await self._run(lambda: self._loops.bring_up_to_date(part.live, part.number))
        except StoreError as error:
            logger.warning("partition %d has not taken over a change yet: %s", part.number, error)

    async def release(self, number: int) -> None:
        """Hand a partition over: finish what is being answered, write everything, and let go of it."""
        part = self._partitions.owned.pop(number, None)
        if part is None:
            return
        self._closing.add(number)
        try:
            for _ in range(int(SECONDS_TO_FINISH / 0.005)):
                if part.idle:
                    break
                await asyncio.sleep(0.005)
            await self._close(part)
            logger.info("partition %d was handed over", number)
        finally:
            self._closing.discard(number)

    async def drop(self, number: int) -> None:
        """Let go of a partition that another worker has taken over, or that cannot be written any more."""
        part = self._partitions.owned.pop(number, None)
        if part is None:
            return
        logger.warning("partition %d is not held from here any more", number)
        self._closing.add(number)
        try:
            await self._close(part)
        finally:
            self._closing.discard(number)

    async def _close(self, part: Partition) -> None:
        await self._run(part.committer.close)
        try:
            await self._run(part.live.close)
        except StoreError as error:  # whoever has it next replays what was written
            logger.warning("partition %d was let go of without a snapshot: %s", part.number, error)
