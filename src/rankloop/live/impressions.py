"""Impressions: open while their windows last, joined with their events, then closed and learned from, once.

An impression is in memory from when it is handed out. Where there are too many, those that have been open for longest
leave it, and come back when an event asks for them or when their window ends. After a restart it comes back when an
event asks for it, or with the others that the last program left open, a few at a time; and one that a crash kept from
the journal comes back by its id.
"""

from __future__ import annotations

import hmac
import logging
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from rankloop.live.deadlines import Deadlines
from rankloop.live.entries import Choice, Closing, Entry, Fate, Kind, pack_closing, unpack_choice, unpack_event
from rankloop.live.impression import Impression, page_in, ticket_in
from rankloop.live.journal import Journal
from rankloop.live.learner import Learner
from rankloop.live.learner_cache import WarmLearners
from rankloop.live.learning import learn_from
from rankloop.live.loops import Loop, Loops
from rankloop.live.stores import StoreError, StoreLost
from rankloop.live.tokens import Ticket, said_number

logger = logging.getLogger("rankloop.live")

BYTES = 650
"""Bytes that an open impression takes in memory, about."""
PUT_AWAY_AT_ONCE = 2_000
"""Impressions that leave memory, at most, while nobody else can write."""
LOADED_AT_ONCE = 500
"""Entries that are looked at for impressions left open, while nobody else can write."""
CLOSED_AGAIN_AFTER = 1_000
"""Milliseconds until an impression that could not be closed is tried again."""


class Impressions:
    """All open impressions of a store.

    Parameters
    ----------
    journal
        Where what happens to them is written.
    loops, learners
        What they belong to.
    memory
        Bytes that they may take in memory, about.
    """

    def __init__(self, journal: Journal, loops: Loops, learners: WarmLearners, memory: int) -> None:
        self._journal, self._loops, self._learners = journal, loops, learners
        self._store = journal.store
        self._secret = journal.header.secret
        self._open: dict[int, Impression] = {}
        self._most = max(1, memory // BYTES)
        self._away_upto = 0
        """Impressions that began up to this entry may have been put away; 0: none has."""
        self._overdue: deque[int] = deque()
        """Those that had been put away when their window ended: they are to be brought back and closed."""
        self.trimmed = journal.header.trimmed
        """Entries up to this one have been removed."""
        self._unloaded = (journal.header.cursor, journal.header.last)
        """Impressions that began after the first and up to the second may be open without being in memory."""
        self._found: set[int] = set()
        """Those of them that an event has brought back; they may have been closed since."""

    def open_held(self, seq: int, now: int, learner: int, loop: Loop, body: bytes, *, shown: bool) -> Impression:
        """Begin an impression, where the journal's lock is held."""
        self._open[seq] = impression = Impression(seq, now, learner, loop, body, shown)
        loop.queue.push(impression.deadline, seq)
        loop.counts["impressions"] += 1
        self._journal.changed.add(loop.number)
        return impression

    def in_memory(self, seq: int | None) -> Impression | None:
        """An open impression, if it is in memory."""
        return self._open.get(seq)  # type: ignore[arg-type]

    def known(self, id_: Any) -> Impression | None:
        """The impression in memory whose id is known to be this one: nobody else's signature need be checked."""
        impression = self._open.get(said_number(id_))  # type: ignore[arg-type]
        if impression is None or not id_.isascii() or not hmac.compare_digest(impression.id, id_):
            return None
        return impression

    def find(self, ticket: Ticket) -> tuple[Impression | None, str]:
        """An impression that is still open; else None and what is the matter."""
        impression = self._open.get(ticket.seq)
        if impression is not None:
            return (impression, "") if impression.is_of(ticket) else (None, "unknown")
        loop = self.loop_of(ticket.learner)
        if loop is None or ticket.seq > self._journal.seq:
            return None, "unknown"
        with self._journal.writing:  # nobody else brings it back meanwhile
            impression = self._open.get(ticket.seq)
            if impression is not None:
                return (impression, "") if impression.is_of(ticket) else (None, "unknown")
            if self._journal.rows:
                self._journal.flush()
            begun = self._store.entry(ticket.seq)
            if begun is not None and (begun.at, begun.learner, begun.body) != ticket[1:]:
                return None, "unknown"
            later = list(self._store.of_impressions(ticket.seq, ticket.seq))
            if any(entry.kind == Kind.CLOSE for entry in later):
                return None, "late"
            if begun is None and ticket.seq <= self.trimmed:
                return None, "expired"
            impression = self._reopen(ticket, loop, later)
            if begun is None and not any(entry.kind == Kind.RECOVERED for entry in later):
                if self._journal.now() >= impression.deadline:
                    return None, "late"
                self._recover(impression)
            self._bring_back(impression)
            if self._unloaded[0] < self._unloaded[1]:
                self._found.add(impression.seq)
            return impression, ""

    def loop_of(self, learner: int) -> Loop | None:
        """The loop that a learner belongs to."""
        try:
            return self._loops.by_number.get(self._learners.known(learner).loop)
        except StoreLost:
            raise
        except StoreError:
            return None

    def _reopen(self, ticket: Ticket, loop: Loop, later: Iterable[Entry]) -> Impression:
        shown = not unpack_choice(ticket.body).deferred
        impression = Impression(ticket.seq, ticket.at, ticket.learner, loop, ticket.body, shown)
        for entry in later:
            if entry.kind == Kind.EVENT:
                impression.join(unpack_event(entry.body), entry.at)
            elif entry.kind == Kind.PAGE:
                impression.page = page_in(entry, loop.settings.interleaver)
                if not impression.shown:
                    impression.begin(entry.at)
        return impression

    def _recover(self, impression: Impression) -> None:
        """Write down an impression that a crash kept from the journal: its id says all that matters."""
        body = impression.at.to_bytes(8, "little") + impression.body
        loop, now = impression.loop, self._journal.now()
        with self._journal.lock:
            self._journal.add_held(now, Kind.RECOVERED, impression.learner, impression.seq, body)
            loop.counts["recovered"] += 1
            loop.counts["impressions"] += 1
            self._journal.changed.add(loop.number)

    @property
    def cursor(self) -> int:
        """No impression that began up to this entry is still open."""
        first, last = self._unloaded
        with self._journal.lock:
            oldest = min(self._open, default=self._journal.seq + 1)
            if self._away_upto:
                waiting = [deadlines.least for loop in self._loops for deadlines in (loop.queue, loop.returned)]
                away = min([*waiting, *self._overdue], default=oldest)
                oldest = min(oldest, away)
                if away > self._away_upto:
                    self._away_upto = 0
        return min(first, oldest - 1) if first < last else oldest - 1

    def put_away(self) -> None:
        """Let those leave memory that have been open for longest, if there are too many: the journal has them."""
        if len(self._open) <= self._most:
            return
        now = self._journal.now()
        with self._journal.writing, self._journal.lock:
            some = max(0, min(len(self._open) - int(0.9 * self._most), PUT_AWAY_AT_ONCE))  # some have left meanwhile
            for impression in list(islice(self._open.values(), some)):
                # Whose window has ended stays: a thread that is about to close it has taken it from the queue, and
                # `cursor` must not pass an impression that is neither there nor in memory.
                if impression.seq <= self._journal.durable and not impression.closed and impression.deadline > now:
                    impression.away = True
                    del self._open[impression.seq]
                    self._away_upto = max(self._away_upto, impression.seq)

    def load_some(self) -> None:
        """Bring some of the impressions that an earlier program left open into memory."""
        first, last = self._unloaded
        if first >= last:
            return
        upto = min(first + LOADED_AT_ONCE, last)
        with self._journal.writing:
            there = list(self._store.entries(first, upto))
            if not there:  # a gap, after a crash
                following = next(self._store.entries(first, last), None)
                upto = last if following is None else following.seq - 1
            begun = [entry for entry in there if entry.kind in (Kind.CHOICE, Kind.RECOVERED)]
            later: dict[int, list[Entry]] = {}
            for about in self._store.of_impressions(first + 1, upto):
                later.setdefault(about.impression or 0, []).append(about)
            for entry in begun:
                ticket = ticket_in(entry)
                if ticket.seq in self._found:
                    continue
                if entry.kind == Kind.CHOICE:
                    self._load(ticket, later.get(entry.seq, []))
                else:
                    self._load(ticket, list(self._store.of_impressions(ticket.seq, ticket.seq)))
            self._unloaded = (upto, last)
            if upto >= last:
                self._found.clear()

    def _load(self, ticket: Ticket, later: Sequence[Entry]) -> None:
        if ticket.seq in self._open or any(entry.kind == Kind.CLOSE for entry in later):
            return
        loop = self.loop_of(ticket.learner)
        if loop is not None:
            self._bring_back(self._reopen(ticket, loop, later))

    def _bring_back(self, impression: Impression) -> None:
        with self._journal.lock:
            self._open[impression.seq] = impression
            impression.loop.returned.push(impression.deadline, impression.seq)

    def _bring_back_overdue(self) -> None:
        """Bring impressions back that were put away, and whose windows have ended, to be closed."""
        with self._journal.writing:  # nobody else brings them back meanwhile
            # Which of them are back already is asked before what they did is written: one that an event has brought
            # back may be closed at any moment, and would be brought back once more where its end is not written yet.
            with self._journal.lock:  # under which others add to them
                some = list(islice(self._overdue, LOADED_AT_ONCE))
                back = {seq for seq in some if seq in self._open}
            if self._journal.rows:
                self._journal.flush()
            for seq in some:
                if seq not in back:
                    back.add(seq)  # it may be there twice, and closed by then
                    later = list(self._store.of_impressions(seq, seq))
                    recovered = (entry for entry in later if entry.kind == Kind.RECOVERED)
                    begun = next(recovered, None) or self._store.entry(seq)
                    if begun is not None:
                        self._load(ticket_in(begun), later)
                self._overdue.popleft()  # only now: where the store fails, it is tried again

    @property
    def is_due(self) -> bool:
        """Whether windows have passed of impressions that are still to be closed."""
        return bool(self._overdue) or self.lag > 0

    @property
    def lag(self) -> float:
        """Seconds for which the impression that has waited longest to be closed has waited."""
        now = self._journal.now()
        with self._journal.lock:
            first = min((waiting.first for loop in self._loops for waiting in (loop.queue, loop.returned)), default=now)
        return max(0, now - first) / 1000

    # -- closing -------------------------------------------------------------------------------------------------

    def close_due(self, most: int | None = None, *, waiting: bool = True) -> None:
        """Close impressions whose windows have passed, a limited number of them if so asked.

        Without `waiting`, only those in memory: nobody waits for the disk.
        """
        now = self._journal.now()
        while True:
            for loop in self._loops:
                while most != 0 and (impression := self._due(loop, now)) is not None:
                    most = None if most is None else most - 1
                    try:
                        self.close(impression)
                    except Exception as error:  # of another key than the caller's, perhaps
                        again = self._put_off(impression, error, now)
                        with self._journal.lock:
                            loop.returned.push(again, impression.seq)
            if most == 0 or not (waiting and self._overdue):
                return
            self._bring_back_overdue()

    def _put_off(self, impression: Impression, error: Exception, now: int) -> int:
        """When to try again to close an impression that could not be closed."""
        logger.error("loop %s: impression %d is closed later: %s", impression.loop.name, impression.seq, error)
        return now + CLOSED_AGAIN_AFTER

    def _due(self, loop: Loop, now: int) -> Impression | None:
        """Take the next impression of a loop in memory whose window has passed."""
        return self._next(loop.queue, now) or self._next(loop.returned, now)

    def _next(self, waiting: Deadlines, now: int) -> Impression | None:
        """Take the next impression in memory whose window has passed."""
        while waiting.first <= now:
            with self._journal.lock:
                if waiting.first > now:
                    break  # another thread has taken it meanwhile
                deadline, seq = waiting.pop()
                impression = self._open.get(seq)
                if impression is None and seq <= self._away_upto:
                    self._overdue.append(seq)
            if impression is not None and impression.deadline <= deadline:
                return impression
        return None

    def close(self, impression: Impression) -> None:
        """End an impression's window, and learn from it."""
        found: Impression | None = impression
        while found is not None and not self._close(found):
            found, _ = self.find(found.ticket)

    def _close(self, impression: Impression) -> bool:
        """Close an impression; False if it has left memory."""
        choice = unpack_choice(impression.body)
        names = self._learners.names_of(choice.version, impression.learner)
        with self._learners.hold(impression.loop, self._learners.known(impression.learner).key) as learner:
            return self._close_held(impression, learner, choice, names)

    def close_at_hand(self, loop: Loop, most: int) -> None:
        """Close a few impressions whose windows have passed, without waiting for anybody or anything.

        Those whose learner is in use, or not in memory, are left for `close_due`.
        """
        now = self._journal.now()
        while most > 0 and (impression := self._next(loop.queue, now)) is not None:
            most -= 1
            again, learner = impression.deadline, self._learners.take_free(impression.learner)
            try:
                choice = unpack_choice(impression.body)
                names = self._learners.names_at_hand(choice.version)
                if learner is not None and names is not None and self._close_held(impression, learner, choice, names):
                    continue
            except Exception as error:
                again = self._put_off(impression, error, now)
            finally:
                if learner is not None:
                    learner.lock.release()
            with self._journal.lock:
                loop.returned.push(again, impression.seq)

    def _close_held(self, impression: Impression, learner: Learner, choice: Choice, names: Sequence[str]) -> bool:
        """Close an impression whose learner's lock is held; False if it has left memory."""
        loop, journal = impression.loop, self._journal
        with journal.lock:
            if impression.closed or impression.away:
                return impression.closed
            impression.closed = True
        try:
            clicks = impression.clicked
            seen = None if impression.seen < 0 else max(impression.seen, clicks[-1] + 1 if clicks else 0)
            fate, winner = learn_from(learner, impression, choice, names, clicks, seen, self._secret)
            if fate == Fate.REFUSED:
                self._learners.discard(learner)
            closing = Closing(fate, choice.arm, choice.bucket, clicks, seen, winner)
            news = learner.news() if fate == Fate.LEARNED else None
            body, now = pack_closing(closing, news), journal.now()
        except BaseException:  # such as KeyboardInterrupt: it may have been learned from in part
            impression.closed = False
            self._learners.discard(learner)
            raise
        with journal.lock:
            seq = journal.add_held(now, Kind.CLOSE, learner.number, impression.seq, body)
            # Only now: `find` looks here without the lock, and where it finds neither this nor a CLOSE entry, it
            # brings the impression back, to be learned from a second time.
            self._open.pop(impression.seq, None)
            loop.counts["closed"] += 1
            loop.counts[Fate.NAMES[fate]] += 1
            journal.changed.add(loop.number)
            loop.compare(closing)
            if fate == Fate.LEARNED:
                learner.applied = seq
        return True

    def withdraw(self, impression: Impression) -> None:
        """Close an impression that nobody will see."""
        impression.shown = False
        self.close(impression)
