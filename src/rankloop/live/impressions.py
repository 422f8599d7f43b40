"""Impressions: open while their windows last, joined with their events, then closed and learned from, once.

An impression is in memory from when it is handed out. After a restart it comes back when an event asks for it, or with
the others that the last program left open, a few at a time; and one that a crash kept from the journal comes back by
its id.
"""

from __future__ import annotations

import hashlib
import heapq
import logging
from collections.abc import Iterable, Sequence

from rankloop.interleaving import Interleaving
from rankloop.live.entries import (
    CLICK,
    SEEN,
    SHOWN,
    Arm,
    Choice,
    Closing,
    Entry,
    Event,
    Fate,
    Kind,
    pack_closing,
    unpack_choice,
    unpack_event,
    unpack_json,
)
from rankloop.live.journal import Journal
from rankloop.live.learner import DuelLearner, Learner
from rankloop.live.loops import Loop, Loops
from rankloop.live.replay import policy_view
from rankloop.live.stores import StoreError
from rankloop.live.tokens import Ticket
from rankloop.live.warm import WarmLearners

logger = logging.getLogger("rankloop.live")

LOADED_AT_ONCE = 500
"""Entries that are looked at for impressions left open, while nobody else can write."""
CLOSED_AGAIN_AFTER = 1_000
"""Milliseconds until an impression that could not be closed is tried again."""


class Impression:
    """An open impression: what was shown, and what has come back so far."""

    __slots__ = ("at", "body", "clicks", "closed", "deadline", "learner", "loop", "page", "seen", "seq", "shown")

    def __init__(self, seq: int, at: int, learner: int, loop: Loop, body: bytes, shown: bool) -> None:
        self.seq, self.at, self.learner, self.loop, self.body = seq, at, learner, loop, body
        self.deadline = at + loop.window
        self.clicks = 0
        """One bit for each position that was clicked."""
        self.seen = -1
        self.shown = shown
        self.closed = False
        self.page: Interleaving | None = None

    def is_of(self, ticket: Ticket) -> bool:
        """Whether an id is this impression's, and not that of a list shown after the store's last backup was made."""
        return self.body == ticket.body and self.at == ticket.at and self.learner == ticket.learner

    def join(self, event: Event, at: int) -> bool:
        """Take in an event; False if it says nothing new."""
        if event.action == CLICK:
            bit = 1 << event.value
            if self.clicks & bit:
                return False
            self.clicks |= bit
            self.shown = True
        elif event.action == SEEN:
            if event.value <= self.seen:
                return False
            self.seen = event.value
        elif event.action == SHOWN:
            if self.shown:
                return False
            self.begin(at)
        return True

    def begin(self, at: int) -> None:
        """It is shown now: its window begins."""
        self.shown = True
        self.deadline = at + self.loop.window

    @property
    def clicked(self) -> tuple[int, ...]:
        """The positions that were clicked."""
        return tuple(k for k in range(self.clicks.bit_length()) if self.clicks >> k & 1)


class Impressions:
    """All open impressions of a store."""

    def __init__(self, journal: Journal, loops: Loops, learners: WarmLearners) -> None:
        self._journal, self._loops, self._learners = journal, loops, learners
        self._store = journal.store
        self._secret = journal.header.secret
        self._open: dict[int, Impression] = {}
        self.trimmed = journal.header.trimmed
        """Entries up to this one have been removed."""
        self._unloaded = (journal.header.cursor, journal.header.last)
        """Impressions that began after the first and up to the second may be open without being in memory."""
        self._found: set[int] = set()
        """Those of them that an event has brought back; they may have been closed since."""

    def open_held(self, seq: int, now: int, learner: int, loop: Loop, body: bytes, *, shown: bool) -> Impression:
        """Begin an impression, where the journal's lock is held."""
        self._open[seq] = impression = Impression(seq, now, learner, loop, body, shown)
        loop.queue.append((impression.deadline, seq))
        loop.counts["impressions"] += 1
        self._journal.changed.add(loop.number)
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
            oldest = min(self._open, default=self._journal.seq + 1) - 1
        return min(first, oldest) if first < last else oldest

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
                if entry.kind == Kind.CHOICE:
                    self._load(Ticket(entry.seq, entry.at, entry.learner, entry.body), later.get(entry.seq, []))
                else:
                    seq, at = entry.impression or 0, int.from_bytes(entry.body[:8], "little")
                    about_it = list(self._store.of_impressions(seq, seq))
                    self._load(Ticket(seq, at, entry.learner, entry.body[8:]), about_it)
            self._unloaded = (upto, last)
            if upto >= last:
                self._found.clear()

    def _load(self, ticket: Ticket, later: Sequence[Entry]) -> None:
        known = ticket.seq in self._open or ticket.seq in self._found
        if known or any(entry.kind == Kind.CLOSE for entry in later):
            return
        loop = self.loop_of(ticket.learner)
        if loop is not None:
            self._bring_back(self._reopen(ticket, loop, later))

    def _bring_back(self, impression: Impression) -> None:
        with self._journal.lock:
            self._open[impression.seq] = impression
            heapq.heappush(impression.loop.returned, (impression.deadline, impression.seq))

    # -- closing -------------------------------------------------------------------------------------------------

    def close_due(self, most: int | None = None) -> None:
        """Close impressions whose windows have passed, a limited number of them if so asked."""
        now = self._journal.now()
        for loop in self._loops:
            while most != 0 and (due := self._due(loop, now)) is not None:
                deadline, seq = due
                impression = self._open.get(seq)
                if impression is not None and impression.deadline <= deadline:
                    most = None if most is None else most - 1
                    try:
                        self.close(impression)
                    except Exception as error:  # of another key than the caller's, perhaps: it is closed later
                        logger.error("loop %s: impression %d is closed later: %s", loop.name, seq, error)
                        with self._journal.lock:
                            heapq.heappush(loop.returned, (now + CLOSED_AGAIN_AFTER, seq))

    def _due(self, loop: Loop, now: int) -> tuple[int, int] | None:
        """Take the next impression whose window has passed."""
        for waiting in (loop.queue, loop.returned):
            if waiting and waiting[0][0] <= now:
                with self._journal.lock:  # another thread may have taken it meanwhile
                    if waiting and waiting[0][0] <= now:
                        return heapq.heappop(loop.returned) if waiting is loop.returned else loop.queue.popleft()
        return None

    def close(self, impression: Impression) -> None:
        """End an impression's window, and learn from it."""
        loop = impression.loop
        choice = unpack_choice(impression.body)
        names = self._learners.names_of(choice.version, impression.learner)
        with self._learners.hold(loop, self._learners.known(impression.learner).key) as learner:
            with self._journal.lock:
                if impression.closed:
                    return
                impression.closed = True
            try:
                clicks = impression.clicked
                seen = None if impression.seen < 0 else max(impression.seen, clicks[-1] + 1 if clicks else 0)
                fate, winner = self._learn(learner, impression, choice, names, clicks, seen)
                closing = Closing(fate, choice.arm, choice.bucket, clicks, seen, winner)
                body, now = pack_closing(closing), self._journal.now()
            except BaseException:  # such as KeyboardInterrupt: it may have been learned from in part
                impression.closed = False
                self._learners.discard(learner)
                raise
            with self._journal.lock:
                seq = self._journal.add_held(now, Kind.CLOSE, learner.number, impression.seq, body)
                # Only now: `find` looks here without the lock, and where it finds neither this nor a CLOSE entry, it
                # brings the impression back, to be learned from a second time.
                self._open.pop(impression.seq, None)
                loop.counts["closed"] += 1
                loop.counts[Fate.NAMES[fate]] += 1
                self._journal.changed.add(loop.number)
                loop.compare(closing)
                if fate == Fate.LEARNED:
                    learner.applied = seq

    def _learn(
        self,
        learner: Learner,
        impression: Impression,
        choice: Choice,
        names: Sequence[str],
        clicks: tuple[int, ...],
        seen: int | None,
    ) -> tuple[int, int]:
        """Learn from an impression; why it was not learned from otherwise, and who won a duel."""
        if not impression.shown:
            return Fate.NEVER_SHOWN, -1
        if choice.arm != Arm.POLICY:
            return Fate.NOT_POLICY, -1
        if impression.seq < learner.reverted:
            return Fate.REVERTED, -1
        winner = -1
        try:
            if isinstance(learner, DuelLearner):
                winner = self._winner(impression, choice, clicks)
                if winner < 0:
                    return Fate.TIE, -1
                learned = learner.learn_winner(choice, names, winner)
            else:
                own, looked = policy_view(choice, impression.loop.settings.positions, clicks, seen)
                learned = learner.learn(choice, names, own, looked)
        except Exception:
            logger.exception("loop %s: impression %d was not learned from", impression.loop.name, impression.seq)
            self._learners.discard(learner)
            return Fate.REFUSED, -1
        return (Fate.LEARNED, winner) if learned else (Fate.OUTDATED, -1)

    def _winner(self, impression: Impression, choice: Choice, clicks: tuple[int, ...]) -> int:
        """Which ranker the clicks speak for: 0 or 1, or -1 for neither.

        Where credit is a matter of probability, a coin decides that falls the same way whenever it is asked.
        """
        page = impression.page
        if page is None or choice.items[0] == choice.items[1]:
            return -1
        outcome = page.outcome([int(k in clicks) for k in range(len(page))])
        number = impression.seq.to_bytes(8, "little")
        coin = int.from_bytes(hashlib.blake2b(number, key=self._secret, digest_size=8).digest(), "little") / 2**64
        if coin < outcome.win:
            return 0
        return 1 if coin < outcome.win + outcome.loss else -1


def page_in(entry: Entry, method: str) -> Interleaving:
    """The interleaved list of a PAGE entry, with all pages before it."""
    body = unpack_json(entry.body)
    notes = tuple(tuple(map(float, row)) for row in body["notes"])
    return Interleaving(method, tuple(body["items"]), notes, body["seed"])
