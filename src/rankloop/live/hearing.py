"""What users did: events find their impression, join it once, and are written for good."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankloop.live.entries import CLICK, OTHER, SHOWN, Arm, Event, Kind, pack_event, unpack_choice
from rankloop.live.events import check_event
from rankloop.live.impressions import Impression, Impressions
from rankloop.live.journal import Journal
from rankloop.live.loops import Loop, Loops, count
from rankloop.live.pages import Pins, page_of
from rankloop.live.tokens import Foreign, Signer, Unknown
from rankloop.live.warm import WarmLearners
from rankloop.wording import shorten


class Hearing:
    """Takes events; what it accepts is in the journal, and durable once the journal has been committed."""

    def __init__(
        self, journal: Journal, loops: Loops, learners: WarmLearners, impressions: Impressions, signer: Signer
    ) -> None:
        self._journal, self._loops, self._learners = journal, loops, learners
        self._impressions, self._signer = impressions, signer

    def take_all(self, given: Mapping[str, Any]) -> str:
        """Take an event as a client sends it, which may tell of a click and of how far the list was seen."""
        impression, item, events = check_event(given)
        fates = [self.take(impression, event, item) for event in events]
        return fates[0]

    def take(self, id_: Any, event: Event, item: str | None) -> str:
        """What becomes of an event; if it is accepted it is in the journal, though not yet durable."""
        impression, trouble, known = self.find(id_)
        if impression is None:
            self._count_stray(trouble, known)
            return trouble
        loop, now = impression.loop, self._journal.now()
        if now >= impression.deadline:
            self._impressions.close(impression)
            count(self._journal, loop, "late")
            return "late"
        if event.action == CLICK:
            position = self._position(impression, item)
            if event.type != loop.settings.counts or position is None:
                event = event._replace(action=OTHER, value=position or 0)
            else:
                event = event._replace(value=position)
        return self._join(impression, event, now)

    def _join(self, impression: Impression, event: Event, now: int) -> str:
        loop, body = impression.loop, pack_event(event)
        with self._journal.lock:
            self._journal.changed.add(loop.number)
            if impression.closed:
                loop.counts["late"] += 1
                return "late"
            if not impression.join(event, now):
                loop.counts["duplicates"] += 1
                return "duplicate"
            self._journal.add_held(now, Kind.EVENT, impression.learner, impression.seq, body)
            if event.action == SHOWN:
                loop.queue.append((impression.deadline, impression.seq))
            if event.action == OTHER:
                loop.counts["ignored"] += 1
                return "ignored"
            loop.counts["clicks"] += event.action == CLICK
        return "accepted"

    def _position(self, impression: Impression, item: str | None) -> int | None:
        """Where an item stands in what was shown; None if it was pinned there."""
        settings = impression.loop.settings
        pinned: Pins = ()
        shown: Sequence[Any] = () if impression.page is None else impression.page.items
        if settings.kind != "evaluate":
            choice = unpack_choice(impression.body)
            names = self._learners.names_of(choice.version, impression.learner)
            items: Sequence[int] = range(len(names)) if choice.arm == Arm.SHADOW else choice.items
            pinned = choice.pinned
            shown = page_of(names, items, pinned, settings.positions)
        if item not in shown:
            count(self._journal, impression.loop, "not_shown")
            raise ValueError(f"item {shorten(item)} was not shown in this impression, so nobody can have clicked it")
        position = shown.index(item)
        return None if any(position == place for place, _ in pinned) else position

    def find(self, id_: Any) -> tuple[Impression | None, str, Loop | None]:
        """The impression of an id, if it is open; else None, what is the matter, and the loop if it can be told."""
        try:
            ticket = self._signer.read(id_)
        except Unknown:
            return None, "unknown", None
        except Foreign:
            return None, "foreign", None
        impression, trouble = self._impressions.find(ticket)
        return impression, trouble, self._impressions.loop_of(ticket.learner) if impression is None else impression.loop

    def _count_stray(self, trouble: str, loop: Loop | None) -> None:
        """Count an event that found no open impression."""
        if loop is not None:
            count(self._journal, loop, trouble)
            return
        with self._journal.lock:
            self._loops.strange[trouble] += 1
            self._journal.changed.add(0)
