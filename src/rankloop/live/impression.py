"""One impression: what was shown, what has come back so far, and what the journal says of it."""

from __future__ import annotations

from rankloop.interleaving import Interleaving
from rankloop.live.entries import CLICK, SEEN, SHOWN, Entry, Event, Kind, unpack_json
from rankloop.live.loops import Loop
from rankloop.live.tokens import Ticket


class Impression:
    """An open impression: what was shown, and what has come back so far."""

    __slots__ = (
        "at",
        "away",
        "body",
        "clicks",
        "closed",
        "deadline",
        "id",
        "learner",
        "loop",
        "page",
        "seen",
        "seq",
        "shown",
    )

    def __init__(self, seq: int, at: int, learner: int, loop: Loop, body: bytes, shown: bool) -> None:
        self.seq, self.at, self.learner, self.loop, self.body = seq, at, learner, loop, body
        self.deadline = at + loop.window
        self.clicks = 0
        """One bit for each position that was clicked."""
        self.seen = -1
        self.shown = shown
        self.closed = False
        self.away = False
        """Whether it has left memory, so that whoever still has it must ask for it again."""
        self.page: Interleaving | None = None
        self.id = ""
        """The text of its id, once that has been written or has proved genuine."""

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
    def ticket(self) -> Ticket:
        """What its id says."""
        return Ticket(self.seq, self.at, self.learner, self.body)

    @property
    def clicked(self) -> tuple[int, ...]:
        """The positions that were clicked."""
        return tuple(k for k in range(self.clicks.bit_length()) if self.clicks >> k & 1)


def ticket_in(entry: Entry) -> Ticket:
    """What the id of the impression says that a CHOICE or RECOVERED entry tells of."""
    if entry.kind == Kind.CHOICE:
        return Ticket(entry.seq, entry.at, entry.learner, entry.body)
    return Ticket(entry.impression or 0, int.from_bytes(entry.body[:8], "little"), entry.learner, entry.body[8:])


def page_in(entry: Entry, method: str) -> Interleaving:
    """The interleaved list of a PAGE entry, with all pages before it."""
    body = unpack_json(entry.body)
    notes = tuple(tuple(map(float, row)) for row in body["notes"])
    return Interleaving(method, tuple(body["items"]), notes, body["seed"])
