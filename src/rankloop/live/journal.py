"""The journal being written: entries wait in memory for company, and a call that needs durability waits for the disk.

Whoever needs an entry to be durable and finds nobody writing writes all that is there, for itself and for others. So a
single thread pays for one commit, and many threads share theirs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from rankloop.live.entries import Entry
from rankloop.live.stores import Batch, Header, KnownLearner, Snapshot, Store, StoreError, StoreLost

_new = tuple.__new__
"""Makes a named tuple of a tuple, in half the time."""

GAP = 1_000_000
"""Numbers left out after a crash: more than can have been handed out without having been written."""


class Applied(Protocol):
    """A learner, as far as the journal must know it."""

    number: int
    applied: int


class Journal:
    """Numbers entries, and writes them in that order.

    Parameters
    ----------
    store
        Where they go.
    clock
        Function that tells the time in seconds.
    totals
        Function that gives the counts of a loop as bytes, to be written with the entries that changed them.
    """

    def __init__(self, store: Store, clock: Callable[[], float], totals: Callable[[int], bytes]) -> None:
        self.store = store
        self._clock, self._totals = clock, totals
        self._ahead = 0
        self._telling = threading.Lock()
        self.lock = threading.Lock()
        """Held for a moment, to add entries and to change counts."""
        self.writing = threading.RLock()
        """Held while the store is written or read back. Nobody takes it who holds a learner's lock or `lock`."""
        self.rows: list[Entry] = []
        self.new_learners: list[KnownLearner] = []
        self.changed: set[int] = set()
        """Loops whose counts have changed since they were last written."""
        self.header: Header = store.open()
        self.seq = self.durable = self.header.last
        last = store.entry(self.header.last)
        self._time = 0 if last is None else last.at
        self._mark_unclean = True
        self.ended: StoreError | None = None
        """Why nothing can be written any more, once that is so: another program has taken over, say."""

    def now(self) -> int:
        """Milliseconds; never earlier than before, and never at a standstill, whatever the clock does.

        After the clock was set back, time goes on from where it was, at the clock's pace, until the clock is there too:
        else no window would end until then.
        """
        with self._telling:
            clock = int(self._clock() * 1000)
            if clock >= self._time:
                self._ahead = 0
            elif clock + self._ahead < self._time:
                self._ahead = self._time - clock
            self._time = clock + self._ahead
            return self._time

    def leave_gap(self) -> None:
        """Let no new entry take the number of one that a crash has lost: ids with that number are about."""
        self.seq += GAP

    def add(self, kind: int, learner: int, impression: int | None, body: bytes) -> int:
        """Add an entry; its number."""
        now = self.now()
        with self.lock:
            return self.add_held(now, kind, learner, impression, body)

    def add_to(self, learner: Applied, kind: int, body: bytes) -> int:
        """Add an entry that changes a learner, whose lock is held; its number.

        The learner says so before anybody can write the entry: a checkpoint takes snapshots of the learners that do.
        """
        now = self.now()
        with self.lock:
            learner.applied = seq = self.add_held(now, kind, learner.number, None, body)
        return seq

    def add_held(self, now: int, kind: int, learner: int, impression: int | None, body: bytes) -> int:
        """Add an entry, where `lock` is held already."""
        if self.ended is not None:
            raise self.ended
        self.seq = seq = self.seq + 1
        self.rows.append(_new(Entry, (seq, now, kind, learner, impression, body)))
        return seq

    def commit(self, upto: int) -> None:
        """Return once all entries up to this one are durable."""
        if self.durable >= upto:
            return
        with self.writing:
            if self.durable < upto:
                self.flush()

    def flush(self, snapshots: Sequence[Snapshot] = (), **marks: Any) -> None:
        """Write what is there, in one transaction; on failure everything stays as it is, to be written later."""
        with self.writing:
            with self.lock:
                if marks.get("clean"):  # numbers of later entries would be given again: nobody would write them
                    self.ended = StoreError(f"{self.store.name} is closed: open it again with rl.Live(...)")
                changed, self.changed = self.changed, set()
                batch = Batch(
                    entries=self.rows[:],
                    learners=self.new_learners[:],
                    snapshots=list(snapshots),
                    totals={number: self._totals(number) for number in changed},
                    **marks,
                )
            if not (batch.entries or batch.snapshots or batch.totals or marks):
                return
            if self._mark_unclean and batch.clean is None:
                batch.clean = False
            try:
                self.store.write(batch)
            except BaseException as error:
                with self.lock:
                    self.changed |= changed
                    if isinstance(error, StoreError) and not isinstance(error, StoreLost):
                        self.ended = error
                raise
            self._mark_unclean = bool(batch.clean)
            with self.lock:
                if batch.entries:
                    self.durable = batch.entries[-1].seq
                del self.rows[: len(batch.entries)], self.new_learners[: len(batch.learners)]
