"""How a store is begun with, kept short and left: checkpoints, retention, and the thread between calls."""

from __future__ import annotations

import logging
import secrets
import threading
import time
import weakref
import zlib
from typing import Any, Protocol

from rankloop.live.entries import Kind, pack_json, unpack_closing
from rankloop.live.impressions import Impressions
from rankloop.live.journal import Journal
from rankloop.live.learner_cache import WarmLearners
from rankloop.live.loops import Loops
from rankloop.live.replay import bases_at
from rankloop.live.stores import Snapshot, StoreLost

logger = logging.getLogger("rankloop.live")

LOOK_EVERY = 0.02
"""Seconds between two looks of the background thread."""
PAUSE = 0.001
"""Seconds between two parts of its work: threads that answer users come first."""
CHECKPOINT_EVERY = 50_000
"""Entries between checkpoints: what must be replayed, at most, after a crash."""
TRIM_EVERY = 3_600_000
"""Milliseconds between two looks for entries that are too old to keep."""
TRIMMED_AT_ONCE = 25_000
"""Entries that are removed between two other things: nothing else is written while they are."""
CLOSED_AT_ONCE, CLOSED_IN_A_ROW = 1_000, 50
BROUGHT_BACK_AT_ONCE = 100
"""Learners that are brought up to date between two looks, after a crash."""


class Upkeep:
    """Looks after a store.

    Parameters
    ----------
    journal, loops, learners, impressions
        What is looked after.
    keep
        Seconds that entries are kept; None: for ever.
    """

    def __init__(
        self, journal: Journal, loops: Loops, learners: WarmLearners, impressions: Impressions, keep: float | None
    ) -> None:
        self._journal, self._loops, self._learners, self._impressions = journal, loops, learners, impressions
        self._store, self._keep = journal.store, keep
        self._checkpoint = journal.header.checkpoint
        self._checkpointed_at = time.monotonic()
        self._looked_at = 0
        self._too_old = 0
        """The last entry that was found to be too old to keep."""
        self._trimming = False
        """Whether some entries are left that are too old to keep."""
        self._written = -1
        """What was durable when it was last looked."""
        self.reading = threading.Lock()
        """Held while the journal is read as a whole, or while its oldest entries are removed."""

    def begin(self, *, read_only: bool) -> None:
        """Take over what the store holds; a program that may write says that it has begun."""
        header = self._journal.header
        for entry in self._store.entries(0, learner=0):
            self._loops.take(entry)
        for number, counts in self._store.totals().items():
            self._loops.take_totals(number, counts)
        covered = {}
        for loop in self._loops:
            packed = self._store.snapshot(-loop.number)
            covered[loop.number] = 0 if packed is None else packed.seq
            if packed is not None:
                loop.comparison.unpack(zlib.decompress(packed.state))
        for entry in self._store.entries(header.checkpoint):
            if entry.learner:
                self._learners.tail.setdefault(entry.learner, []).append(entry)
        first = min(covered.values(), default=0)
        for number, entries in self._learners.tail.items():
            closings = [entry for entry in entries if entry.kind == Kind.CLOSE and entry.seq > first]
            if closings:
                loop = self._loops.by_number[self._learners.known(number).loop]
                for entry in closings:
                    if entry.seq > covered[loop.number]:
                        loop.compare(unpack_closing(entry.body))
        if read_only:
            return
        opened: dict[str, int] = {}
        if header.last and not header.clean:
            self._journal.leave_gap()
            opened["seed"] = secrets.randbits(62)
        seq = self._journal.add(Kind.OPENED, 0, None, pack_json(opened))
        if opened:
            self._loops.sessions.append((seq, opened["seed"]))

    def attend(self, pause: float = 0.0) -> None:
        """Write, close windows, pack learners, make checkpoints, remove what is too old.

        Parameters
        ----------
        pause
            Seconds to wait between parts of the work, in which other threads get on.
        """
        written, self._written = self._written, self._journal.durable
        if not pause or written == self._written:  # else somebody writes all the time, and what is here as well
            self._journal.flush()
        self._impressions.load_some()
        for _ in range(CLOSED_AT_ONCE // CLOSED_IN_A_ROW):
            self._impressions.close_due(CLOSED_IN_A_ROW)
            if not self._impressions.is_due:
                break
            if pause:
                time.sleep(pause)
        self._impressions.put_away()
        self._learners.pack_away()
        if self._journal.durable - self._checkpoint > CHECKPOINT_EVERY and self._learners.bring_back(
            BROUGHT_BACK_AT_ONCE
        ):
            self.checkpoint(pause=pause)
        if self._keep is not None and (self._trimming or self._journal.now() - self._looked_at > TRIM_EVERY):
            self._looked_at = self._journal.now()
            self._trimming = self._trim(self._keep, wait=False)

    def trim(self) -> int:
        """Remove entries that are older than the journal is kept; the number of the last one removed."""
        while self._keep is not None and self._trim(self._keep, wait=True):
            pass
        return self._impressions.trimmed

    def _trim(self, keep: float, *, wait: bool) -> bool:
        """Remove some of them; whether there are more.

        Somebody may be reading them; without `wait` they are then left for another time. Calls that write go on
        meanwhile, except while what is next is being removed.
        """
        if not self.reading.acquire(blocking=wait):
            return False
        try:
            trimmed = self._impressions.trimmed
            kept = max(round(keep * 1000), *(2 * loop.window for loop in self._loops), 0)
            self._journal.flush()
            if self._too_old <= trimmed:
                self._too_old = self._last_before(self._journal.now() - kept)
            last = self._too_old
            first = next(self._store.entries(trimmed, last), None) if last > trimmed else None
            if first is None:
                return False
            upto = min(last, first.seq + TRIMMED_AT_ONCE)
            bases = list(bases_at(self._store, trimmed, upto))
            with self._journal.writing:
                self._store.trim(upto, bases)
                self._impressions.trimmed = upto
            return upto < last
        finally:
            self.reading.release()

    def _last_before(self, moment: int) -> int:
        """The last entry that may be removed: older than a moment, and covered by snapshots."""
        low, high = self._impressions.trimmed, min(self._checkpoint, self._journal.durable)
        while low < high:  # times never fall from one entry to the next
            middle = (low + high + 1) // 2
            following = next(self._store.entries(middle - 1, high), None)
            if following is None or following.at >= moment:
                high = middle - 1
            else:
                low = following.seq
        return low

    def checkpoint(self, *, clean: bool = False, pause: float = 0.0) -> None:
        """Write all learners that have changed, so that a later start need not replay what happened until now."""
        self._journal.flush()
        upto = self._journal.durable
        if clean:
            self._learners.bring_back()
        whole = self._learners.write_all(pause)
        with self._journal.writing:
            self._journal.flush()
            with self._journal.lock:
                counted = [
                    Snapshot(-loop.number, self._journal.seq, zlib.compress(loop.comparison.pack(), 1))
                    for loop in self._loops
                ]
            if not whole:  # nobody has brought some of them up to date yet
                upto = min(upto, self._checkpoint)
            marks: dict[str, Any] = {"clean": True} if clean else {}
            self._journal.flush(counted, checkpoint=upto, cursor=self._impressions.cursor, **marks)
            self._checkpoint, self._checkpointed_at = upto, time.monotonic()

    @property
    def since_checkpoint(self) -> tuple[int, float]:
        """Entries and seconds since the last checkpoint, or since the beginning."""
        return self._journal.durable - self._checkpoint, time.monotonic() - self._checkpointed_at


class Attended(Protocol):
    """What the background thread looks after."""

    over: bool

    def attend(self, *, pause: float = 0.0) -> None:
        """Do what is to be done between calls."""


def attend(reference: weakref.ref[Any], wake: threading.Event) -> None:
    """The background thread: it ends with what it attends to, which it does not keep alive."""
    pause = LOOK_EVERY
    while not wake.wait(pause):
        attended: Attended | None = reference()
        if attended is None or attended.over:
            return
        try:
            attended.attend(pause=PAUSE)
            pause = LOOK_EVERY
        except Exception as error:
            expected = isinstance(error, StoreLost)
            logger.error("the store is attended to again later: %s", error, exc_info=None if expected else error)
            pause = min(2.0, 2 * pause)
        del attended
