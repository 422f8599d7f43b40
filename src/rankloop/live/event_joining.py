"""What users did: events find their impression, join it once, and are written for good."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from rankloop.live.entries import (
    CLICK,
    OTHER,
    SHOWN,
    Arm,
    Event,
    Kind,
    pack_event,
    plain_click,
    unpack_choice,
    unpack_items,
    version_in,
)
from rankloop.live.events import PLAIN, check_event
from rankloop.live.impression import Impression
from rankloop.live.impressions import Impressions
from rankloop.live.journal import Journal
from rankloop.live.learner_cache import WarmLearners
from rankloop.live.loops import Loop, Loops, count
from rankloop.live.pages import Pins, page_of
from rankloop.live.tokens import Foreign, Signer, Unknown, said_number
from rankloop.wording import shorten

TAKEN_AT_ONCE = 200
"""Events that join their impressions while nobody else can write."""
Joining = tuple[int, Impression, Event, bytes]
"""Place of an event in its batch, its impression, what it says, and the same as bytes."""
Fates = list[str | None]
"""What became of each event of a batch; None: that cannot be told without waiting."""
_TO_JOIN: str | None = ""


class Hearing:
    """Takes events; what it accepts is in the journal, and durable once the journal has been committed."""

    def __init__(
        self, journal: Journal, loops: Loops, learners: WarmLearners, impressions: Impressions, signer: Signer
    ) -> None:
        self._journal, self._loops, self._learners = journal, loops, learners
        self._impressions, self._signer = impressions, signer

    def take_all(self, given: Mapping[str, Any]) -> str:
        """Take an event as a client sends it, which may tell of a click and of how far the list was seen."""
        fate = self._take(given, None, waiting=True)
        assert fate is not None
        return fate

    def take_many(self, batch: Iterable[Mapping[str, Any]]) -> list[str]:
        """Take events as clients send them; one that makes no sense gets "invalid: " and the reason."""
        fates: list[str] = []
        events = iter(batch)
        while some := list(islice(events, TAKEN_AT_ONCE)):
            fates += self._take_some(some, None, waiting=True)  # type: ignore[arg-type]
        return fates

    def take_at_once(self, given: Mapping[str, Any], loops: Collection[str] | None) -> str | None:
        """Take an event about one of some loops (None: all); None if one would have to wait for that."""
        return self._take(given, loops, waiting=False)

    def take_some_at_once(self, batch: Sequence[Any], loops: Collection[str] | None) -> list[str | None]:
        """The same for several events."""
        return self._take_some(batch, loops, waiting=False)

    def _take(self, given: Mapping[str, Any], loops: Collection[str] | None, *, waiting: bool) -> str | None:
        fates, joining = [_TO_JOIN], list[Joining]()
        self._look(given, 0, self._journal.now(), fates, joining, loops, waiting)
        if joining:
            self._join(joining, fates)
        return fates[0]

    def _take_some(self, batch: Sequence[Any], loops: Collection[str] | None, *, waiting: bool) -> list[str | None]:
        fates, joining = [_TO_JOIN] * len(batch), list[Joining]()
        now = self._journal.now()
        for place, given in enumerate(batch):
            try:
                self._look(given, place, now, fates, joining, loops, waiting)
            except ValueError as error:
                fates[place] = f"invalid: {error}"
        self._join(joining, fates)
        return fates

    def _look(
        self,
        given: Mapping[str, Any],
        place: int,
        now: int,
        fates: Fates,
        joining: list[Joining],
        loops: Collection[str] | None,
        waiting: bool,
    ) -> None:
        """Look at one event: either it is known now what becomes of it, or it is to join its impression."""
        id_, item, events = check_event(given)
        if not waiting and (seq := said_number(id_)) is not None and self._impressions.in_memory(seq) is None:
            fates[place] = None
            return
        impression, trouble, known = self.find(id_)
        if impression is None:
            for _ in events:
                self._count_stray(trouble, known)
            fates[place] = trouble
            return
        loop = impression.loop
        if not waiting and not self._is_at_hand(impression, now):
            fates[place] = None
            return
        if loops is not None and loop.name not in loops:
            self._count_stray("unknown", None)
            fates[place] = "unknown"
            return
        if now >= impression.deadline:
            self._impressions.close(impression)
            for _ in events:
                count(self._journal, loop, "late")
            fates[place] = "late"
            return
        for event in events:
            if event.action == CLICK:
                position = self._position(impression, item)
                if position is not None and event is PLAIN[0] and loop.settings.counts == "click":
                    joining.append((place, impression, *plain_click(position)))
                    continue
                action = OTHER if position is None or event.type != loop.settings.counts else CLICK
                event = Event(action, position or 0, event.at, event.type, event.id)
            joining.append((place, impression, event, pack_event(event)))

    def _is_at_hand(self, impression: Impression, now: int) -> bool:
        """Whether an event about it can be joined without closing or reading anything."""
        if now >= impression.deadline:
            return False
        return impression.page is not None or self._learners.names_at_hand(version_in(impression.body)) is not None

    def _join(self, joining: Iterable[Joining], fates: Fates) -> None:
        """Let events join their impressions; what becomes of each is noted at its place, of the first one there."""
        journal = self._journal
        now, away = journal.now(), list[Joining]()
        with journal.lock:
            for place, impression, event, body in joining:
                if impression.away:
                    away.append((place, impression, event, body))
                else:
                    fate = self._join_held(impression, event, body, now)
                    fates[place] = fates[place] or fate
        for place, impression, event, body in away:  # they have left memory since they were found
            found, _ = self._impressions.find(impression.ticket)
            if found is None:
                count(journal, impression.loop, "late")
                fates[place] = fates[place] or "late"
            else:
                self._join([(place, found, event, body)], fates)

    def _join_held(self, impression: Impression, event: Event, body: bytes, now: int) -> str:
        loop, counts = impression.loop, impression.loop.counts
        self._journal.changed.add(loop.number)
        if impression.closed:
            counts["late"] += 1
            return "late"
        if not impression.join(event, now):
            counts["duplicates"] += 1
            return "duplicate"
        self._journal.add_held(now, Kind.EVENT, impression.learner, impression.seq, body)
        if event.action == OTHER:
            counts["ignored"] += 1
            return "ignored"
        if event.action == CLICK:
            counts["clicks"] += 1
        elif event.action == SHOWN:
            loop.queue.push(impression.deadline, impression.seq)
        return "accepted"

    def _position(self, impression: Impression, item: str | None) -> int | None:
        """Where an item stands in what was shown; None if it was pinned there."""
        settings = impression.loop.settings
        pinned: Pins = ()
        shown: Sequence[Any] = () if impression.page is None else impression.page.items
        if settings.kind != "evaluate":
            arm, version, items = unpack_items(impression.body)
            names = self._learners.names_of(version, impression.learner)
            if arm != Arm.SHADOW and item in names:  # as nearly always
                number = names.index(item)
                if number in items:
                    return items.index(number)
            choice = unpack_choice(impression.body)
            whole: Sequence[int] = range(len(names)) if arm == Arm.SHADOW else choice.items
            pinned = choice.pinned
            shown = page_of(names, whole, pinned, settings.positions)
        if item not in shown:
            count(self._journal, impression.loop, "not_shown")
            raise ValueError(f"item {shorten(item)} was not shown in this impression, so nobody can have clicked it")
        position = shown.index(item)
        return None if any(position == place for place, _ in pinned) else position

    def find(self, id_: Any) -> tuple[Impression | None, str, Loop | None]:
        """The impression of an id, if it is open; else None, what is the matter, and the loop if it can be told."""
        known = self._impressions.known(id_)
        if known is not None:
            return known, "", known.loop
        try:
            ticket = self._signer.read(id_)
        except Unknown:
            return None, "unknown", None
        except Foreign:
            return None, "foreign", None
        impression, trouble = self._impressions.find(ticket)
        if impression is None:
            return None, trouble, self._impressions.loop_of(ticket.learner)
        impression.id = id_
        return impression, "", impression.loop

    def _count_stray(self, trouble: str, loop: Loop | None) -> None:
        """Count an event that found no open impression."""
        if loop is not None:
            count(self._journal, loop, trouble)
            return
        with self._journal.lock:
            self._loops.strange[trouble] += 1
            self._journal.changed.add(0)
