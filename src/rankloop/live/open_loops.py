"""An open store of loops: how it is opened, written, looked after and closed."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Self

from rankloop.checks import check_known, parse_duration, parse_size
from rankloop.live.choosing import Showing
from rankloop.live.entries import Kind
from rankloop.live.event_joining import Hearing
from rankloop.live.impressions import Impressions
from rankloop.live.journal import Journal
from rankloop.live.learner_cache import WarmLearners
from rankloop.live.loops import Loops
from rankloop.live.names import check_name
from rankloop.live.opening import open_store
from rankloop.live.settings import Settings, read_config
from rankloop.live.stores import Store, StoreError
from rankloop.live.tokens import Signer
from rankloop.live.upkeep import Upkeep, attend


class OpenLoops:
    """The loops of a store that is open; `Live` says with what it is opened."""

    def __init__(
        self,
        store: str | Path | Store,
        *,
        config: str | Path | None = None,
        clock: Callable[[], float] = time.time,
        memory: str | int = "256 MB",
        keep: Any = None,
        background: bool = True,
        read_only: bool = False,
    ) -> None:
        declared = {} if config is None else read_config(config)
        told = {"memory": memory, "keep": keep, **declared.get("live", {})}
        for word in told:
            check_known(f"setting of [live] in {config}", word, ("memory", "keep"))
        kept = None if told["keep"] is None else parse_duration("keep", told["keep"])
        room = parse_size("memory", told["memory"])
        checked = {name: Settings.checked(**loop) for name, loop in declared.get("loops", {}).items()}
        self._closed = self._forked = False
        self._reader: Store | None = None
        self._read_only = read_only
        self._loops = Loops()
        self._store = open_store(store, read_only=read_only)
        try:
            self._journal = Journal(self._store, clock, self._loops.totals)
            self._signer = Signer(self._journal.header.store, self._journal.header.secret)
            self._learners = WarmLearners(self._journal, self._loops, int(0.8 * room))
            self._impressions = Impressions(self._journal, self._loops, self._learners, int(0.2 * room))
            parts = (self._journal, self._loops, self._learners, self._impressions)
            self._showing = Showing(*parts, self._signer)
            self._hearing = Hearing(*parts, self._signer)
            self._upkeep = Upkeep(*parts, kept)
            self._upkeep.begin(read_only=read_only)
            for name, settings in checked.items():
                self._create(name, settings, declared["loops"][name])
            self._journal.flush()
        except BaseException:
            self._store.close()
            raise
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        mine = weakref.ref(self)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=lambda: _mark_forked(mine))
        if background and not read_only:
            self._thread = threading.Thread(target=attend, args=(mine, self._wake), daemon=True, name="rankloop")
            self._thread.start()

    def close(self) -> None:
        """Write everything that is still to be written, and let go of the store."""
        if self._closed:
            return
        self._closed = True
        if self._thread is not None:
            self._wake.set()
            if threading.current_thread() is not self._thread:
                self._thread.join()
        if self._forked:
            return
        with self._journal.writing:
            if self._reader is not None:
                self._reader.close()
        try:
            if not self._read_only:
                self._upkeep.checkpoint(clean=True)
        finally:
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def over(self) -> bool:
        """Whether it has been closed, belongs to the process that this one was forked from, or lost its store."""
        return self._closed or self._forked or self._journal.ended is not None

    def _check_writable(self) -> None:
        self._check_usable()
        if self._read_only:
            raise StoreError(f"{self._store.name} was opened read-only: nothing can be changed or shown from here")

    def _check_usable(self) -> None:
        if self._forked:
            raise StoreError(
                f"{self._store.name} was opened before this process was forked, and has one writer at a time: "
                "open it in a single worker after the fork, or let all workers talk to one `rankloop serve`"
            )
        if self._closed:
            raise StoreError(f"{self._store.name} is closed: open it again with rl.Live(...)")

    def _create(self, name: str, settings: Settings, stated: Collection[str]) -> None:
        check_name("the name of a loop", name)
        with self._journal.writing:
            known = self._loops.by_name.get(name)
            if known is not None:
                known.check_same(settings, stated)
                return
            loop = self._loops.add(name, settings)
            self._journal.add(Kind.LOOP, 0, None, loop.to_entry())

    # -- the store -----------------------------------------------------------------------------------------------

    @property
    def last(self) -> int:
        """Number of the last entry of the journal, which may not be durable yet."""
        return self._journal.seq

    @property
    def durable(self) -> int:
        """Number of the entry up to which the journal has been written for good."""
        return self._journal.durable

    def commit(self, upto: int) -> None:
        """Return once the journal has been written for good up to this entry."""
        self._check_writable()
        self._journal.commit(upto)

    @property
    def mark(self) -> bytes:
        """Four bytes that stand in every id of this store, or of this partition of one."""
        return self._journal.header.store

    @property
    def store(self) -> Store:
        """Where the journal is kept."""
        return self._store

    @property
    def reader(self) -> Store:
        """The store read-only, over a connection of its own: nobody who writes waits for a long look."""
        self._check_usable()
        if self._read_only:
            return self._store
        with self._journal.writing:
            self._check_usable()
            if self._reader is None:
                reader = self._store.reader()
                reader.open()
                self._reader = reader
            return self._reader

    # -- looking after itself ------------------------------------------------------------------------------------

    def attend(self, *, pause: float = 0.0) -> None:
        """Write, close windows and pack learners, as the background thread does between calls.

        Parameters
        ----------
        pause
            Seconds to wait between parts of the work, in which other threads get on; what others are writing anyway is
            then left to them.
        """
        self._check_writable()
        self._upkeep.attend(pause)

    def trim(self) -> int:
        """Remove entries that are older than the journal is kept; the number of the last one removed.

        Learners are replayed up to there first, so that the journal that is left can still be verified whole.
        """
        self._check_writable()
        return self._upkeep.trim()

    def warm_up(self) -> None:
        """Compile what the loops need, or load it from the cache, before traffic comes."""
        self._check_usable()
        for loop in self._loops:
            loop.settings.warm_up()


def _mark_forked(reference: weakref.ref[OpenLoops]) -> None:
    loops = reference()
    if loops is not None:
        loops._forked = True
