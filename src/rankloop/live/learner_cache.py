"""Learners in memory: brought back when they are asked for, packed away when they have not been used for longest."""

from __future__ import annotations

import logging
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from itertools import chain, islice

from rankloop.live.apply_entries import apply, choice_in
from rankloop.live.entries import Choice, Entry, Kind, pack_json
from rankloop.live.journal import Journal
from rankloop.live.learner import Learner, size_of_names
from rankloop.live.learner_kinds import new_learner
from rankloop.live.loops import Loop, Loops
from rankloop.live.replay import names_in_store, open_in_base, split_base
from rankloop.live.stores import KnownLearner, Snapshot, StoreError

logger = logging.getLogger("rankloop.live")

PACKED_AT_ONCE = 100
WRITTEN_AT_ONCE = 25
"""Learners in one transaction of a checkpoint, for which others that write wait."""
SHARE_OF_LISTS = 0.1
"""Part of the memory for lists at hand, those of learners in memory included."""


class WarmLearners:
    """The learners that are in use.

    Parameters
    ----------
    journal
        Where what happens to them is written.
    loops
        The loops they belong to.
    memory
        Bytes that they may take.
    """

    def __init__(self, journal: Journal, loops: Loops, memory: int) -> None:
        self._journal, self._loops, self._memory = journal, loops, memory
        self._store = journal.store
        self._warm: OrderedDict[int, Learner] = OrderedDict()
        self._numbers: dict[tuple[int, str], int] = {}
        self._size = 0
        self._lock = threading.Lock()
        self._last = journal.header.last_learner
        self._lists: OrderedDict[int, tuple[str, ...]] = OrderedDict()
        self._size_of_lists = 0
        self._rebuild: set[int] = set()
        """Learners whose state is not to be trusted: they are made anew from the journal."""
        self.tail: dict[int, list[Entry]] = {}
        """What happened after the last checkpoint to learners that have not been brought back yet."""

    def __len__(self) -> int:
        return len(self._warm)

    def warm(self, loop: Loop, key: str) -> Learner | None:
        """The learner of a key, if it is in memory."""
        number = self._numbers.get((loop.number, key))
        return None if number is None else self._warm.get(number)

    def take_free(self, number: int) -> Learner | None:
        """A learner with its lock held, if it is in memory and nobody uses it; the caller releases it."""
        learner = self._warm.get(number)
        if learner is None or not learner.lock.acquire(blocking=False):
            return None
        if learner.gone:
            learner.lock.release()
            return None
        return learner

    def get(self, loop: Loop, key: str) -> Learner:
        """The learner of a key: from memory, from the store, or a new one."""
        learner = self.warm(loop, key)
        if learner is not None:
            with self._lock:
                if learner.number in self._warm:
                    self._warm.move_to_end(learner.number)
            return learner
        with self._journal.writing:
            learner = self.warm(loop, key)
            if learner is not None:
                return learner
            known = self.find(loop, key)
            learner = self._new(loop, key) if known is None else self._load(loop, known)
            with self._lock:
                self._numbers[loop.number, key] = learner.number
                self._warm[learner.number] = learner
            self.recount(learner)
            self.pack_away(keep=learner)
            return learner

    def find(self, loop: Loop, key: str) -> KnownLearner | None:
        """The number of a key's learner, if it has one."""
        number = self._numbers.get((loop.number, key))
        if number is not None:
            return KnownLearner(number, loop.number, key)
        with self._journal.lock:
            for new in self._journal.new_learners:
                if new[1:] == (loop.number, key):
                    return new
        return self._store.find_learner(loop.number, key)

    def known(self, number: int) -> KnownLearner:
        """Which loop and key a learner belongs to."""
        learner = self._warm.get(number)
        if learner is not None:
            return KnownLearner(number, learner.loop, learner.key)
        with self._journal.lock:
            new = next((new for new in self._journal.new_learners if new.number == number), None)
        known = new or self._store.learner(number)
        if known is None:
            raise StoreError(f"{self._store.name} has no learner {number}: it is damaged")
        return known

    def hold(self, loop: Loop, key: str) -> Hold:
        """The learner of a key with its lock held: `with warm.hold(loop, key) as learner`."""
        return Hold(self, loop, key)

    # -- making and bringing back --------------------------------------------------------------------------------

    def _new(self, loop: Loop, key: str) -> Learner:
        seed = (loop.settings.seed or 0) + loop.counts["keys"]
        self._last += 1
        learner = new_learner(self._last, loop.number, key, loop.settings, seed, loop.items)
        learner.session = self._loops.sessions[-1][0] if self._loops.sessions else 0
        body = pack_json({"loop": loop.number, "key": key, "seed": seed})
        now = self._journal.now()
        with self._journal.lock:
            self._journal.new_learners.append(KnownLearner(learner.number, loop.number, key))
            learner.applied = self._journal.add_held(now, Kind.LEARNER, learner.number, None, body)
            loop.counts["keys"] += 1
            self._journal.changed.add(loop.number)
        return learner

    def _load(self, loop: Loop, known: KnownLearner) -> Learner:
        """A learner as it was: its last snapshot, and what has happened since."""
        number = known.number
        learner = self._unpacked(loop, known)
        since: Iterable[Entry] = self.tail.get(number, ())
        if number in self._rebuild:
            self._journal.flush()
            since = self._store.entries(learner.applied, learner=number)

        def choice_of(impression: int) -> Choice:
            return self.choice_of(impression, number)

        def names_of(version: int) -> tuple[str, ...]:
            return self.names_of(version, number)

        for entry in since:
            if entry.seq > learner.applied:
                apply(learner, entry, self._loops.sessions, choice_of, names_of)
        self._rebuild.discard(number)
        self.tail.pop(number, None)
        return learner

    def _unpacked(self, loop: Loop, known: KnownLearner) -> Learner:
        """A learner as it was last packed; one that another version packed is made anew from the journal."""
        number = known.number

        def blank() -> Learner:
            return new_learner(number, loop.number, known.key, loop.settings, None, loop.items)

        learner, snapshot = blank(), self._store.snapshot(number)
        if snapshot is not None:
            try:
                learner.unpack(snapshot.state)
                return learner
            except (ValueError, KeyError, TypeError, zlib.error) as error:
                logger.warning("%s: %s; it is made anew from the journal", known.key, error)
                learner = blank()
                self._rebuild.add(number)
        base = self._store.base(number)
        if base is not None:
            learner.unpack(split_base(base.state)[0])
        return learner

    def choice_of(self, impression: int, learner: int) -> Choice:
        """The choice that began an impression."""
        entry = self._store.entry(impression)
        if entry is None:
            later = self._store.of_impressions(impression, impression)
            entry = next((e for e in later if e.kind == Kind.RECOVERED), None)
        if entry is not None:
            return choice_in(entry)
        base = self._store.base(learner)  # its entry has been removed
        begun = {} if base is None else open_in_base(base.state)
        if impression not in begun:
            raise StoreError(f"{self._store.name} has no impression {impression}: it is damaged")
        return begun[impression]

    def names_of(self, version: int, learner: int) -> tuple[str, ...]:
        """The names in a list that a learner had."""
        if version == 0:
            return ()  # before its first list
        names = self._lists.get(version)
        if names is None:
            self._journal.commit(version)  # it may have left memory before it was written
            names = names_in_store(self._store, learner, version)
            self.remember(version, names)
        return names

    def names_at_hand(self, version: int) -> tuple[str, ...] | None:
        """The names in a list, if they are in memory."""
        return () if version == 0 else self._lists.get(version)

    def remember(self, version: int, names: tuple[str, ...]) -> None:
        """Keep the names of a list at hand: every click on it asks for them."""
        with self._lock:
            if version not in self._lists:
                self._lists[version] = names
                self._size_of_lists += size_of_names(names)
            while self._size_of_lists > SHARE_OF_LISTS * self._memory and len(self._lists) > 1:
                self._size_of_lists -= size_of_names(self._lists.popitem(last=False)[1])

    def discard(self, learner: Learner) -> None:
        """Give up a learner in an unknown state: the journal has all that it takes to make it anew."""
        with self._lock:
            learner.gone = True
            if self._warm.pop(learner.number, None) is not None:
                self._size -= learner.counted
            self._rebuild.add(learner.number)

    # -- packing -------------------------------------------------------------------------------------------------

    def pack_away(self, keep: Learner | None = None) -> None:
        """Pack learners that have not been used for longest, until the rest fits into memory again."""
        while self._size > self._memory and len(self._warm) > 1:
            with self._journal.writing:
                held = self._hold_oldest(keep)
                if not held:
                    return  # all are in use: another call will find them free
                try:
                    self.write(held)
                    with self._lock:
                        for learner in held:
                            learner.gone = True
                            if self._warm.pop(learner.number, None) is not None:
                                self._size -= learner.counted
                            self._numbers.pop((learner.loop, learner.key), None)
                finally:
                    for learner in held:
                        learner.lock.release()

    def _hold_oldest(self, keep: Learner | None) -> list[Learner]:
        with self._lock:
            oldest = [learner for learner, _ in zip(self._warm.values(), range(PACKED_AT_ONCE), strict=False)]
        held = []
        left = self._size - int(0.95 * self._memory)
        for learner in oldest:
            if left <= 0:
                break
            if learner is not keep and learner.lock.acquire(blocking=False):
                held.append(learner)
                left -= learner.counted
        return held

    def recount(self, learner: Learner) -> None:
        """Count a learner's memory anew, after its list has changed."""
        size = learner.size
        with self._lock:
            if not learner.gone:
                self._size += size - learner.counted
                learner.counted = size

    def write(self, learners: Sequence[Learner]) -> None:
        """Write snapshots of learners whose locks are held."""
        packed = [
            Snapshot(learner.number, learner.applied, learner.pack())
            for learner in learners
            if learner.applied > learner.packed and not learner.gone
        ]
        self._journal.flush(packed)
        written = {snapshot.learner: snapshot.seq for snapshot in packed}
        for learner in learners:
            learner.packed = max(learner.packed, written.get(learner.number, 0))

    def bring_back(self, most: int | None = None) -> bool:
        """Bring learners up to date that nobody has asked for since a crash, a limited number of them if so asked.

        Whether none is left.
        """
        for number in list(islice(chain(list(self.tail), list(self._rebuild)), most)):
            known = self.known(number)
            self.get(self._loops.by_number[known.loop], known.key)
        return not (self.tail or self._rebuild)

    def write_all(self, pause: float = 0.0) -> bool:
        """Write snapshots of all that have changed, with pauses of so many seconds, in which others get on.

        Whether every learner's snapshot now covers what had happened to it before the call.
        """
        with self._journal.writing, self._lock:
            whole = not (self.tail or self._rebuild)
            changed = [learner for learner in self._warm.values() if learner.applied > learner.packed]
        for start in range(0, len(changed), WRITTEN_AT_ONCE):
            packed = []
            for learner in changed[start : start + WRITTEN_AT_ONCE]:
                with learner.lock:  # one at a time and nobody else's: lists are shown and clicks written meanwhile
                    packed.append((learner, Snapshot(learner.number, learner.applied, learner.pack())))
            with self._journal.writing:
                # A learner that has been packed away or given up meanwhile is somebody else's now, and whoever did
                # that has written more of it than is here.
                still = [(learner, each) for learner, each in packed if each.seq > learner.packed and not learner.gone]
                self._journal.flush([snapshot for _, snapshot in still])
                for learner, snapshot in still:
                    learner.packed = snapshot.seq
            if pause:
                time.sleep(pause)
        return whole and not any(learner.gone and learner.applied > learner.packed for learner in changed)

    def states(self) -> dict[int, tuple[int, bytes]]:
        """The packed states of all that are in memory, with the entry after which they are so."""
        with self._lock:
            learners = list(self._warm.values())
        found = {}
        for learner in learners:
            with learner.lock:
                if not learner.gone:
                    found[learner.number] = (learner.applied, learner.pack())
        return found


class Hold:
    """A learner with its lock held, for a `with` statement."""

    __slots__ = ("_key", "_learner", "_loop", "_warm")

    def __init__(self, warm: WarmLearners, loop: Loop, key: str) -> None:
        self._warm, self._loop, self._key = warm, loop, key

    def __enter__(self) -> Learner:
        while True:
            learner = self._warm.get(self._loop, self._key)
            learner.lock.acquire()
            if not learner.gone:
                self._learner = learner
                return learner
            learner.lock.release()

    def __exit__(self, *_: object) -> None:
        self._learner.lock.release()
