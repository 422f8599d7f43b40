"""The loops of a store as they run: settings, counts, items, and who decides for whom."""

from __future__ import annotations

import hashlib
import logging
import secrets
from collections.abc import Collection, Iterator
from dataclasses import replace

from rankloop.checks import check_known
from rankloop.interleaving import Interleaver
from rankloop.live.apply_entries import Sessions
from rankloop.live.deadlines import Deadlines
from rankloop.live.entries import Arm, Closing, Entry, Fate, Kind, pack_json, unpack_json
from rankloop.live.journal import Journal
from rankloop.live.loop_items import LoopItems
from rankloop.live.settings import CHANGEABLE, Settings
from rankloop.live.uplift import BUCKETS, HoldoutCounts

logger = logging.getLogger("rankloop.live")

EVENTS = ("clicks", "duplicates", "late", "expired", "foreign", "unknown", "ignored", "not_shown", "pinned")
"""What can become of an event."""
COUNTS = ("keys", "impressions", "holdout", "fallbacks", "recovered", "closed", *Fate.NAMES, *EVENTS)


class Loop:
    """One loop.

    Parameters
    ----------
    number
        Number of the loop in its store.
    name
        Name that users give it.
    settings
        What it was told.
    """

    def __init__(self, number: int, name: str, settings: Settings) -> None:
        self.number, self.name = number, name
        self.items = LoopItems(settings) if settings.kind == "diversify" else None
        self.counts = dict.fromkeys(COUNTS, 0)
        self.counted_at: dict[str, int] = {}
        """When something that is counted one by one last happened, in milliseconds, since this program began."""
        self.queue = Deadlines()
        """When the windows of open impressions end."""
        self.returned = Deadlines()
        """The same of those that were brought back from the journal."""
        self.comparison = HoldoutCounts(settings.holdout)
        self.interleaver = Interleaver.known[settings.interleaver]()
        self.take(settings)

    def take(self, settings: Settings) -> None:
        """Take settings, new or changed."""
        self.settings = settings
        self.window = round(settings.window * 1000)
        self._holdout_below = round(settings.holdout * BUCKETS)
        self._outside_from = BUCKETS - round((1 - settings.traffic) * (BUCKETS - self._holdout_below))

    def arm(self, bucket: int) -> int:
        """Who decides what a user of this bucket sees."""
        if self.settings.paused or self.settings.mode == "off":
            return Arm.OFF
        if bucket < self._holdout_below:
            return Arm.HOLDOUT
        if bucket >= self._outside_from:
            return Arm.OUTSIDE
        return Arm.SHADOW if self.settings.mode == "shadow" else Arm.POLICY

    def bucket(self, user: str | None, secret: bytes) -> int:
        """The bucket of a user, always the same; of nobody in particular, a random one."""
        if user is None:
            return secrets.randbelow(BUCKETS)
        salt = self.number.to_bytes(16, "little")
        digest = hashlib.blake2b(user.encode(), key=secret, salt=salt, digest_size=2).digest()
        return digest[0] | digest[1] << 8

    def compare(self, closing: Closing) -> None:
        """Count an impression for the comparison of loop and holdout."""
        if closing.arm in (Arm.POLICY, Arm.HOLDOUT) and closing.fate != Fate.NEVER_SHOWN:
            self.comparison.count(closing.bucket, bool(closing.clicks))

    def check_same(self, settings: Settings, stated: Collection[str]) -> None:
        """Refuse to be created again with other settings; of one that was stated and may change, say if it has."""
        there, given = self.settings.to_json(), settings.to_json()
        for word, value in given.items():
            if word in CHANGEABLE and word in stated and there[word] != value:
                logger.warning(
                    "loop %s goes on with %s = %r, not %r: live.change changes it", self.name, word, there[word], value
                )
            loose = word in CHANGEABLE or (word == "seed" and value is None)
            if not loose and there[word] != value:
                raise ValueError(
                    f"loop {self.name!r} is there with {word} = {there[word]!r}, not {value!r}: "
                    "give it the same settings, or another name"
                )

    def to_entry(self) -> bytes:
        """The body of its LOOP entry."""
        return pack_json({"number": self.number, "name": self.name, "settings": self.settings.to_json()})


class Loops:
    """All loops of a store, and what its journal says that concerns no single learner."""

    def __init__(self) -> None:
        self.by_name: dict[str, Loop] = {}
        self.by_number: dict[int, Loop] = {}
        self.sessions: Sessions = []
        self.adopted = 0
        """Number of the last change that was taken over from what several workers share."""
        self.strange = {"unknown": 0, "foreign": 0}
        """Events that belong to no loop that could be told."""

    def __iter__(self) -> Iterator[Loop]:
        return iter(list(self.by_number.values()))

    def add(self, name: str, settings: Settings) -> Loop:
        """A new loop; one without a seed gets one, so that it can be replayed."""
        if settings.seed is None:
            settings = replace(settings, seed=secrets.randbits(48))
        return self._keep(Loop(max(self.by_number, default=0) + 1, name, settings))

    def _keep(self, loop: Loop) -> Loop:
        self.by_name[loop.name] = self.by_number[loop.number] = loop
        return loop

    def take(self, entry: Entry) -> None:
        """Take an entry that concerns no single learner."""
        body = unpack_json(entry.body)
        self.adopted = max(self.adopted, body.get("adopted", 0))
        if entry.kind == Kind.OPENED:
            if "seed" in body:
                self.sessions.append((entry.seq, body["seed"]))
        elif entry.kind == Kind.LOOP:
            settings = Settings.from_json(body["settings"])
            loop = self.by_number.get(body["number"])
            if loop is None:
                self._keep(Loop(body["number"], body["name"], settings))
            else:
                loop.take(settings)
        elif entry.kind == Kind.ITEMS:
            items = self.by_number[body["loop"]].items
            assert items is not None
            items.put(entry.seq, body["names"], body["relevance"], body["topics"])

    def named(self, name: str, *kinds: str) -> Loop:
        """A loop by its name, of one of some kinds."""
        loop = self.by_name.get(name) if isinstance(name, str) else None
        if loop is None:
            check_known("loop", name, self.by_name)
        assert loop is not None
        if kinds and loop.settings.kind not in kinds:
            wanted = "duel" if loop.settings.kind == "evaluate" else "rank"
            only = f"loop {name!r} is of kind {loop.settings.kind}"
            if kinds == ("diversify",):
                raise ValueError(f"{only}: only a loop of kind diversify has a catalogue")
            raise ValueError(f"{only}: use {wanted} with it")
        return loop

    def totals(self, number: int) -> bytes:
        """The counts of a loop, or of what belongs to none, as bytes."""
        counts = self.strange if number == 0 else self.by_number[number].counts
        # As pack_json would, a good deal faster: every commit writes them.
        return ("{" + ",".join([f'"{name}":{n}' for name, n in counts.items()]) + "}").encode()

    def take_totals(self, number: int, counts: bytes) -> None:
        """Take over counts as they were written."""
        if number == 0:
            self.strange.update(unpack_json(counts))
        else:
            self.by_number[number].counts.update(unpack_json(counts))


def count(journal: Journal, loop: Loop, name: str) -> None:
    """Count something that happened to a loop."""
    with journal.lock:
        loop.counts[name] += 1
        loop.counted_at[name] = journal.now()
        journal.changed.add(loop.number)
