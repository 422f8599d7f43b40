"""A service that only shows: the pages of a store beside the program that writes to it, or after it has ended."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rankloop.live import Live, StoreError
from rankloop.live.views.looking import looking_at
from rankloop.service.gathering import GATHERED
from rankloop.service.keys import Key, digest_of, new_key
from rankloop.service.limits import Limits
from rankloop.service.service import Answer, Service

LOOK_AGAIN = 1.0
"""Seconds after which the store is looked at anew."""


class OneKey:
    """The only key of a service that only shows; it is made when the service starts, and kept nowhere."""

    def __init__(self) -> None:
        self.text, self._key = new_key("read", note="rankloop live dashboard")
        self.origins: frozenset[str] = frozenset()

    def find(self, text: str) -> Key | None:
        """The key, if it is this one."""
        return self._key if digest_of(text) == self._key.digest else None

    def look(self) -> None:
        """There is nothing to look for."""


class View:
    """A store as it was a moment ago, with the number of calls that look at it."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self.at = time.monotonic()
        self.users = 0


class Onlooked:
    """What stands for the partition of a key: handlers ask it for the live loop when they have come to a thread."""

    def __init__(self, onlooker: Onlooker) -> None:
        self._onlooker = onlooker

    def __enter__(self) -> Onlooked:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    @property
    def live(self) -> Live:
        """The store as it was a moment ago."""
        return self._onlooker.view.live


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
        self.keys: Any = OneKey()

    async def open(self) -> None:
        """Open the store to look only."""
        try:
            self.view = View(await self.run(self._look))
        except Exception as error:
            self.failed = error
            raise
        self.manager = self.view.live
        self.ready = True
        self.when_ready()

    def _look(self) -> Live:
        if "://" not in str(self._place) and not Path(self._place).exists():
            raise StoreError(f"there is no store {self._place} any more: start this again once it is back")
        return Live(self._place, background=False, read_only=True)

    async def close(self) -> None:
        """Let go of the store."""
        self.draining, was_ready, self.ready = True, self.ready, False
        if was_ready:
            await self.run(self.view.live.close)
        self._threads.shutdown(wait=False)

    async def call(self, call: Callable[[], Answer]) -> Answer:
        """Do something in a thread, with the store as it was a moment ago."""
        self.check_room()
        self.pending += 1
        try:
            if time.monotonic() - self.view.at > LOOK_AGAIN:
                await self._renew()
            view = self.view
            view.users += 1
            try:
                return await self.run(call)
            finally:
                view.users -= 1
                await self._let_go(view)
        finally:
            self.pending -= 1

    async def _renew(self) -> None:
        """Look at the store anew; what has been counted is counted no more."""
        before = self.view
        before.at = time.monotonic()  # others need not do the same meanwhile

        def look() -> Live:
            live = self._look()
            looking_at(live, looking_at(before.live))
            return live

        self.view = View(await self.run(look))
        self.manager = self.view.live
        await self._let_go(before)

    async def _let_go(self, view: View) -> None:
        if view is not self.view and not view.users:
            await self.run(view.live.close)

    @property
    def store_name(self) -> str:
        """What to call the store."""
        return self.view.live.store.name

    def at(self, loop: str, key: str) -> Any:  # noqa: ARG002 - all are answered alike
        """What answers for a key."""
        return Onlooked(self)

    def at_id(self, id_: Any) -> Any:  # noqa: ARG002 - all are answered alike
        """What answers for an impression."""
        return Onlooked(self)

    async def gather(self, name: str, *arguments: Any) -> list[Any]:
        """What a function of `GATHERED` gives."""
        return [await self.call(lambda: GATHERED[name](self.view.live, *arguments))]
