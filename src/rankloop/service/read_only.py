"""A service that only shows: the pages of a store beside the program that writes to it, or after it has ended."""

from __future__ import annotations

import hmac
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rankloop.live import Live, StoreError
from rankloop.live.all_partitions import Whole
from rankloop.live.views.view_cache import looking_at
from rankloop.service.keys import Key, digest_of, new_key
from rankloop.service.limits import Limits
from rankloop.service.partition_queries import GATHERED
from rankloop.service.run import address_of, listen, serve_from
from rankloop.service.service import Answer, Service

LOOK_AGAIN = 1.0
"""Seconds after which a store is opened anew, to see what has been written since."""
SHARE = 0.2
"""Most of the time that may go into opening it: a large store is looked at less often."""


class OneKey:
    """The only key of a service that only shows; it is made when the service starts, and kept nowhere."""

    def __init__(self) -> None:
        self.text, self._key = new_key("read", note="rankloop live dashboard")
        self.origins: frozenset[str] = frozenset()

    def find(self, text: str) -> Key | None:
        """The key, if it is this one."""
        return self._key if hmac.compare_digest(digest_of(text), self._key.digest) else None


class View(Whole):
    """A store as it was a moment ago, and the number of calls that look at it.

    Parameters
    ----------
    store
        Path of an SQLite file or `postgresql://...`.
    before
        An earlier view of the same store: what was counted for it need not be counted again.
    """

    def __init__(self, store: str | Path, before: View | None = None) -> None:
        begun = time.monotonic()
        if "://" not in str(store) and not Path(store).exists():
            raise StoreError(f"there is no store {store} any more: this goes on once it is back")
        super().__init__(store)
        try:
            for live, earlier in zip(self.lives, before.lives if before is not None else (), strict=False):
                if live.mark == earlier.mark:  # else another store has come in its place
                    looking_at(live, looking_at(earlier))
        except BaseException:
            self.close()
            raise
        self.users = 0
        now = time.monotonic()
        self.fresh_until = now + max(LOOK_AGAIN, (now - begun) / SHARE)


class Onlooked:
    """What stands for the partition of a key: handlers ask it for the live loop in the thread of their call.

    Parameters
    ----------
    find
        Function that gives the live loop.
    """

    def __init__(self, find: Callable[[], Live]) -> None:
        self._find = find

    def __enter__(self) -> Onlooked:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    @property
    def live(self) -> Live:
        """The store as it was a moment ago."""
        return self._find()


class Onlooker(Service):
    """Shows a store and changes nothing.

    Parameters
    ----------
    store
        Path of an SQLite file or `postgresql://...`.
    limits
        How much is taken on.
    """

    read_only = True

    def __init__(self, store: str | Path, *, limits: Limits | None = None) -> None:
        super().__init__(store, limits=limits)
        self._place = store
        self._show(View(store))
        self._in_thread = threading.local()
        self._renewing = False
        self.keys: Any = OneKey()

    async def open(self) -> None:
        """Begin to show the store, which is open already: whoever starts this has seen it fail, if it did."""
        self.ready = True
        self.when_ready()

    def _show(self, view: View) -> None:
        self.view, self.manager = view, view.lives[0]

    async def close(self) -> None:
        """Let go of the store."""
        self.draining, self.ready = True, False
        await self.run(self.view.close)
        self._threads.shutdown(wait=False)

    async def call(self, call: Callable[[], Answer]) -> Answer:
        """Do something in a thread, which has one view of the store from the beginning to the end."""
        self.check_room()
        self.pending += 1
        try:
            await self._renew()
            view = self.view
            view.users += 1

            def look() -> Answer:
                self._in_thread.view = view
                return call()

            try:
                return await self.run(look)
            finally:
                view.users -= 1
                await self._let_go(view)
        finally:
            self.pending -= 1

    async def _renew(self) -> None:
        """Open the store anew, unless that was done a moment ago or somebody is about to."""
        before = self.view
        if self._renewing or time.monotonic() < before.fresh_until:
            return
        self._renewing = True
        try:
            self._show(await self.run(lambda: View(self._place, before)))
        finally:
            self._renewing = False
        await self._let_go(before)

    async def _let_go(self, view: View) -> None:
        if view is not self.view and not view.users:
            await self.run(view.close)

    @property
    def _seen(self) -> View:
        """The view of the call that this thread is in."""
        view: View = self._in_thread.view
        return view

    @property
    def store_name(self) -> str:
        """What to call the store."""
        return self.view.lives[0].store.name

    def at(self, loop: str, key: str) -> Any:
        """What answers for a key."""
        return Onlooked(lambda: self._seen.of_key(loop, key))

    def at_id(self, id_: Any) -> Any:
        """What answers for an impression."""
        return Onlooked(lambda: self._seen.of_impression(id_))

    async def gather(self, name: str, *arguments: Any) -> list[Any]:
        """What a function of `GATHERED` gives for each partition of the store."""
        return await self.call(lambda: [GATHERED[name](live, *arguments) for live in self._seen.lives])


def show(store: str | Path, *, host: str, port: int, when_ready: Callable[[str, str], None]) -> None:
    """Show a store until SIGTERM or Ctrl-C.

    Parameters
    ----------
    store
        Path of an SQLite file or `postgresql://...`.
    host, port
        Where to listen; port 0 takes any that is free.
    when_ready
        Called with the address and the key once it is ready.
    """
    service = Onlooker(store)
    with listen(host, port) as listening:
        service.when_ready = lambda: when_ready(address_of(listening), service.keys.text)
        serve_from(listening, service)
