"""The live loop for programs that run on asyncio: every call is awaited, and none blocks the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from rankloop.live.explain import LiveExplanation
from rankloop.live.live import Live
from rankloop.live.shown import LiveDuel, Shown
from rankloop.live.stores import Store
from rankloop.live.verify import Verification
from rankloop.policies import SafetyReceipt

Answer = TypeVar("Answer")

THREADS = 8
"""Calls that may wait for the disk at the same time; they share one commit."""


class AsyncLive:
    """`Live` for asyncio: the same methods with the same arguments, awaited.

    Calls run in a few threads of its own, so that neither a disk write nor a slow policy holds up the event loop, and
    calls that wait at the same time share one write.

    Parameters
    ----------
    store
        Path of an SQLite file, or `postgresql://...`.
    options
        What `Live` takes besides.

    Examples
    --------
    >>> import asyncio, tempfile, pathlib
    >>> async def day(path):
    ...     async with AsyncLive(path) as live:
    ...         await live.create("search", kind="rerank")
    ...         shown = await live.rank("search", "laptop", ["sku-9", "sku-2"], user="u1")
    ...         return await live.click(shown.id, "sku-2")
    >>> asyncio.run(day(pathlib.Path(tempfile.mkdtemp()) / "shop.db"))
    'accepted'
    """

    def __init__(self, store: str | Path | Store, **options: Any) -> None:
        self._store, self._options = store, options
        self._live: Live | None = None
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="rankloop")

    async def __aenter__(self) -> Self:
        opening = self._threads.submit(self._open)
        try:
            await asyncio.wrap_future(opening)
        except BaseException:  # such as a time limit: it is opened all the same, and nobody would close it
            opening.add_done_callback(_close_opened)
            self._threads.shutdown(wait=False)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _open(self) -> Live:
        if self._live is None:
            self._live = Live(self._store, **self._options)
        return self._live

    async def _run(self, call: Callable[[], Answer]) -> Answer:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    async def close(self) -> None:
        """Write everything that is still to be written, and let go of the store."""
        if self._live is not None:
            await self._run(self._live.close)
        self._threads.shutdown(wait=False)

    @property
    def _ready(self) -> Live:
        if self._live is None:
            raise RuntimeError("open it first: `async with rl.AsyncLive(...) as live`")
        return self._live

    async def create(self, loop: str, *, kind: str, **settings: Any) -> None:
        """Create a loop; nothing happens if it is there with the same settings."""
        await self._run(lambda: self._ready.create(loop, kind=kind, **settings))

    async def change(self, loop: str, **settings: Any) -> None:
        """Change the mode, the share of traffic or the rankers of a running loop."""
        await self._run(lambda: self._ready.change(loop, **settings))

    async def pause(self, loop: str) -> None:
        """Show production's lists from now on."""
        await self._run(lambda: self._ready.pause(loop))

    async def resume(self, loop: str) -> None:
        """Let the policy choose again."""
        await self._run(lambda: self._ready.resume(loop))

    async def put_items(self, loop: str, items: Mapping[str, Mapping[str, Any]]) -> None:
        """Give the features of items to a loop that diversifies."""
        await self._run(lambda: self._ready.put_items(loop, items))

    async def rank(self, loop: str, key: str, items: Sequence[str], **more: Any) -> Shown:
        """The list to show, from production's list."""
        return await self._run(lambda: self._ready.rank(loop, key, items, **more))

    async def duel(self, loop: str, key: str = "", *, user: str | None = None) -> LiveDuel:
        """The two rankers to run for the next user."""
        return await self._run(lambda: self._ready.duel(loop, key, user=user))

    async def interleave(self, duel: str, lists: Mapping[str, Sequence[str]], *, positions: int | None = None) -> Shown:
        """One list of the two rankers' lists."""
        return await self._run(lambda: self._ready.interleave(duel, lists, positions=positions))

    async def shown(self, impression: str) -> str:
        """Say that a deferred list has been shown."""
        return await self._run(lambda: self._ready.shown(impression))

    async def click(self, impression: str, item: str, **more: Any) -> str:
        """Tell of a click; it has been written for good when the call returns."""
        return await self._run(lambda: self._ready.click(impression, item, **more))

    async def seen(self, impression: str, positions: int) -> str:
        """Tell that only the first positions came into view."""
        return await self._run(lambda: self._ready.seen(impression, positions))

    async def events(self, batch: Iterable[Mapping[str, Any]]) -> list[str]:
        """Tell of many events at once."""
        return await self._run(lambda: self._ready.events(batch))

    async def finish(self, impression: str, *, seen: int | None = None) -> str:
        """Close an impression before its window has passed."""
        return await self._run(lambda: self._ready.finish(impression, seen=seen))

    async def status(self, loop: str | None = None) -> dict[str, Any]:
        """What a loop has counted and found."""
        return await self._run(lambda: self._ready.status(loop))

    async def best(self, loop: str, key: str = "") -> list[str]:
        """The list that looks best for a key now."""
        return await self._run(lambda: self._ready.best(loop, key))

    async def receipt(self, loop: str, key: str) -> SafetyReceipt:
        """What BubbleRank has decided for a key, and what is guaranteed."""
        return await self._run(lambda: self._ready.receipt(loop, key))

    async def explain(self, impression: str) -> LiveExplanation:
        """Why this list."""
        return await self._run(lambda: self._ready.explain(impression))

    async def revert(self, loop: str, key: str) -> None:
        """Set a key back to production's list."""
        await self._run(lambda: self._ready.revert(loop, key))

    async def verify(self) -> Verification:
        """Replay the journal and compare."""
        return await self._run(lambda: self._ready.verify())

    async def warm_up(self) -> None:
        """Compile what the loops need before traffic comes."""
        await self._run(lambda: self._ready.warm_up())


def _close_opened(opening: Future[Live]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()
