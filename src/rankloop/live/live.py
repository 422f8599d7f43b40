"""The loop with real users in it: lists out, clicks in, learned exactly once, all of it in a journal."""

from __future__ import annotations

import logging
import os
import secrets
import threading
import time
import weakref
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rankloop.live.catalogues import check_items_with_features
from rankloop.live.entries import (
    CLICK,
    OTHER,
    SHOWN,
    Arm,
    Choice,
    Event,
    Kind,
    pack_choice,
    pack_event,
    pack_json,
    pack_names,
    unpack_choice,
    unpack_closing,
)
from rankloop.live.events import check_event
from rankloop.live.explain import LiveExplanation, explain
from rankloop.live.export import export
from rankloop.live.impressions import Impression, Impressions
from rankloop.live.journal import Journal
from rankloop.live.learner import Learner
from rankloop.live.loops import Loop, Loops
from rankloop.live.pages import Pins, check_pinned, page_of
from rankloop.live.replaying import Replay
from rankloop.live.settings import Settings, check_name, check_names, duration, one_of, read_config, shorten, size
from rankloop.live.shown import LiveDuel, Shown
from rankloop.live.stores import Snapshot, Store, StoreError, StoreLost, open_store
from rankloop.live.tokens import Foreign, Signer, Ticket, Unknown
from rankloop.live.verify import Verification, Verifier
from rankloop.live.warm import WarmLearners
from rankloop.policies import SafetyReceipt

logger = logging.getLogger("rankloop.live")

MOST_UNWRITTEN = 500_000
"""Entries that may wait for the disk; beyond, lists are production's until it answers."""
LOOK_EVERY = 0.02
"""Seconds between two looks of the background thread."""
CHECKPOINT_EVERY = 20_000
"""Entries between checkpoints: what must be replayed, at most, after a crash."""
TRIM_EVERY = 3_600_000
"""Milliseconds between two looks for entries that are too old to keep."""
CLOSED_AT_ONCE = 16
"""Impressions whose windows have passed that one call closes on the way."""


class Live:
    """Policies in front of real users, on a store that keeps every choice and every event.

    All methods may be called from several threads. A list is answered without waiting for the disk; an event has been
    written for good when its call returns.

    Parameters
    ----------
    store
        Path of an SQLite file, which is made if it is not there, or `postgresql://...`.
    config
        Path of a `rankloop.toml` that declares loops, which are created if they are not there.
    clock
        Function that tells the time in seconds; for tests.
    memory
        Bytes that learners may take in memory, such as `"256 MB"`; beyond, those not used for longest are packed away.
    keep
        How long the journal is kept, such as `"90 days"`; for ever if not given.
    background
        Whether a thread writes, closes windows and packs learners between calls; without it, `attend` does.
    read_only
        Whether to look only, beside a program that writes: at what it has written so far.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "shop.db"
    >>> with Live(path) as live:
    ...     live.create("search", kind="rerank")
    ...     shown = live.rank("search", "laptop", ["sku-9", "sku-2", "sku-7"], user="u1")
    ...     live.click(shown.id, "sku-2")
    ...     live.click(shown.id, "sku-2")  # the same click, delivered twice
    'accepted'
    'duplicate'
    """

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
            one_of(f"setting of [live] in {config}", word, ("memory", "keep"))
        self._keep = None if told["keep"] is None else duration("keep", told["keep"])
        room = size("memory", told["memory"])
        checked = {name: Settings.checked(**loop) for name, loop in declared.get("loops", {}).items()}
        self._closed = self._forked = False
        self._read_only = read_only
        self._loops = Loops()
        self._store = open_store(store, read_only=read_only)
        self._journal = Journal(self._store, clock, self._loops.totals)
        try:
            self._signer = Signer(self._journal.header.store, self._journal.header.secret)
            self._learners = WarmLearners(self._journal, self._loops, room)
            self._impressions = Impressions(self._journal, self._loops, self._learners)
            self._begin()
            for name, settings in checked.items():
                self._create(name, settings)
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
            self._thread = threading.Thread(target=_attend, args=(mine, self._wake), daemon=True, name="rankloop")
            self._thread.start()

    def _begin(self) -> None:
        """Take over what the store holds."""
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
        self._checkpoint = header.checkpoint
        self._looked_at = 0
        for entry in self._store.entries(header.checkpoint):
            if entry.learner:
                self._learners.tail.setdefault(entry.learner, []).append(entry)
        for number, entries in self._learners.tail.items():
            loop = self._loops.by_number[self._learners.known(number).loop]
            for entry in entries:
                if entry.kind == Kind.CLOSE and entry.seq > covered[loop.number]:
                    loop.compare(unpack_closing(entry.body))
        if self._read_only:
            return
        opened: dict[str, int] = {}
        if header.last and not header.clean:
            self._journal.leave_gap()
            opened["seed"] = secrets.randbits(62)
        seq = self._journal.add(Kind.OPENED, 0, None, pack_json(opened))
        if opened:
            self._loops.sessions.append((seq, opened["seed"]))

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
        try:
            if not self._read_only:
                self._write_checkpoint(clean=True)
        finally:
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check_writable(self) -> None:
        self._check_usable()
        if self._read_only:
            raise StoreError(f"{self._store.name} was opened to look only: nothing can be changed or shown from here")

    def _check_usable(self) -> None:
        if self._forked:
            raise StoreError(
                f"{self._store.name} was opened before this process was forked, and has one writer at a time: "
                "open it in a single worker after the fork, or let all workers talk to one `rankloop serve`"
            )
        if self._closed:
            raise StoreError(f"{self._store.name} is closed: open it again with rl.Live(...)")

    # -- loops ---------------------------------------------------------------------------------------------------

    def create(self, loop: str, *, kind: str, **settings: Any) -> None:
        """Create a loop; nothing happens if it is there with the same settings.

        The settings are those of `rankloop.live.Settings`, and all have defaults; parameters of the policy may stand
        among them.
        """
        self._check_writable()
        self._create(loop, Settings.checked(kind=kind, **settings))
        self._journal.commit(self._journal.seq)

    def _create(self, name: str, settings: Settings) -> None:
        check_name("the name of a loop", name)
        with self._journal.writing:
            known = self._loops.by_name.get(name)
            if known is not None:
                known.check_same(settings)
                return
            loop = self._loops.add(name, settings)
            self._journal.add(Kind.LOOP, 0, None, loop.to_entry())

    def change(self, loop: str, **settings: Any) -> None:
        """Change the mode, the share of traffic or the rankers of a running loop."""
        self._check_writable()
        target = self._loops.named(loop)
        with self._journal.writing:
            target.take(target.settings.changed(**settings))
            seq = self._journal.add(Kind.LOOP, 0, None, target.to_entry())
        self._journal.commit(seq)

    def pause(self, loop: str) -> None:
        """Show production's lists from now on, and learn nothing from them."""
        self.change(loop, paused=True)

    def resume(self, loop: str) -> None:
        """Let the policy choose again."""
        self.change(loop, paused=False)

    @property
    def loops(self) -> tuple[str, ...]:
        """The names of all loops."""
        return tuple(self._loops.by_name)

    def put_items(self, loop: str, items: Mapping[str, Mapping[str, Any]]) -> None:
        """Give the features of items, new or changed, to a loop that diversifies.

        Each item has `relevance`, a list of numbers, and `topics`, how much of each topic it covers, from 0 to 1.
        """
        self._check_writable()
        target = self._loops.named(loop, "diversify")
        assert target.catalogue is not None
        names, relevance, topics = check_items_with_features(target.settings, items)
        body = {"loop": target.number, "names": names, "relevance": relevance, "topics": topics}
        with target.catalogue.lock:
            seq = self._journal.add(Kind.ITEMS, 0, None, pack_json(body))
            target.catalogue.put(seq, names, relevance, topics)
        self._journal.commit(seq)

    # -- lists out -----------------------------------------------------------------------------------------------

    def rank(
        self,
        loop: str,
        key: str,
        items: Sequence[str],
        *,
        user: str | None = None,
        pinned: Mapping[int, str] | None = None,
        deferred: bool = False,
    ) -> Shown:
        """The list to show, from production's list (or, in a loop that diversifies, from the candidates).

        Whatever fails inside, the answer is a list: production's, with `fallback` set. Bad arguments raise ValueError.

        Parameters
        ----------
        loop
            Name of the loop.
        key
            What has a learner of its own: a query, a page, a segment, a user.
        items
            Production's list, the best first.
        user
            Whose page it is: decides about the holdout. Without it every impression is assigned by itself.
        pinned
            Items that stand where production put them, by position from 0: they are shown and not learned from.
        deferred
            Whether the list is prepared only: it counts once `shown` is called.
        """
        self._check_writable()
        target = self._loops.named(loop, "rerank", "follow", "diversify")
        check_name("key", key)
        if user is not None:
            check_name("user", user)
        pins: Pins = ()
        warm = self._learners.warm(target, key)
        if warm is not None and not pinned and list(warm.names) == items:
            names = warm.names
        else:
            names, pins = check_pinned(check_names("items", items), pinned)
            if target.catalogue is not None:
                target.catalogue.check(target.name, names)
        try:
            return self._rank(target, key, names, user, pins, deferred)
        except Exception as error:
            return self._fall_back(target, key, names, pins, error)

    def _rank(
        self, target: Loop, key: str, names: tuple[str, ...], user: str | None, pins: Pins, deferred: bool
    ) -> Shown:
        self._impressions.close_due(CLOSED_AT_ONCE)
        journal = self._journal
        if len(journal.rows) > MOST_UNWRITTEN:
            raise StoreLost(f"{self._store.name} has not taken {len(journal.rows):,} entries")
        bucket = target.bucket(user, journal.header.secret)
        arm = target.arm(bucket)
        if len(names) < 2:  # there is nothing to decide, nor to learn: the page stands as it is
            pins = tuple(enumerate(page_of(names, range(len(names)), pins, target.settings.positions)))
            names, arm = (), Arm.OFF
        chooses = arm in (Arm.POLICY, Arm.SHADOW)
        production = tuple(range(min(target.settings.positions, len(names))))
        with self._learners.hold(target, key) as learner:
            if names:
                self._list(target, learner, names)
            items, notes = self._choose(learner) if chooses else (production, ())
            body = pack_choice(Choice(arm, bucket, learner.version, items, notes, deferred, pins))
            now = journal.now()
            with journal.lock:
                seq = journal.add_held(now, Kind.CHOICE, learner.number, None, body)
                begun = self._impressions.open_held(seq, now, learner.number, target, body, shown=not deferred)
                target.counts["holdout"] += arm == Arm.HOLDOUT
                if chooses:
                    learner.applied = seq
            needed = learner.version or learner.applied
        if needed > journal.durable:  # names are written before anybody sees them: an id need not carry them
            try:
                journal.commit(needed)
            except BaseException:  # nobody will see this list
                begun.shown = False
                self._impressions.close(begun)
                raise
        page = page_of(names, production if arm == Arm.SHADOW else items, pins, target.settings.positions)
        ticket = Ticket(seq, now, learner.number, body)
        return Shown(self._signer.write(ticket), page, target.name, key, Arm.NAMES[arm])

    def _list(self, target: Loop, learner: Learner, names: tuple[str, ...]) -> None:
        """Let a learner take production's list of today, if it is another one."""
        rows: tuple[int, ...] = ()
        if target.catalogue is not None:
            rows = tuple(target.catalogue.row[name] for name in names)
        if learner.version and learner.names == names and learner.rows == rows:
            return
        try:
            learner.relist(learner.version, names, rows)
        except BaseException:
            self._learners.discard(learner)
            raise
        body = pack_json({"names": names, "rows": rows}) if rows else pack_names(names)
        version = self._journal.add(Kind.LIST, learner.number, None, body)
        learner.version = learner.applied = version
        self._learners.remember(version, names)
        self._learners.recount(learner)

    def _choose(self, learner: Learner) -> tuple[tuple[int, ...], tuple[float, ...]]:
        try:
            if self._loops.sessions and learner.session != self._loops.sessions[-1][0]:
                learner.reseed(*self._loops.sessions[-1])
            return learner.choose()
        except BaseException:
            self._learners.discard(learner)
            raise

    def _fall_back(self, target: Loop, key: str, names: tuple[str, ...], pins: Pins, error: Exception) -> Shown:
        logger.error("loop %s answers with production's list: %s", target.name, error, exc_info=error)
        self._count(target, "fallbacks")
        page = page_of(names, range(len(names)), pins, target.settings.positions)
        return Shown("", page, target.name, key, "fallback", reason=str(error))

    def shown(self, impression: str) -> str:
        """Say that a deferred list has been shown: its window begins now."""
        return self._one(impression, Event(SHOWN, 0, 0, "shown"))

    # -- duels ---------------------------------------------------------------------------------------------------

    def duel(self, loop: str, key: str = "", *, user: str | None = None) -> LiveDuel:
        """The two rankers to run for the next user; give their lists to `interleave`.

        While the loop is off or paused, and for users outside of its traffic, both are the first ranker.
        """
        self._check_writable()
        target = self._loops.named(loop, "evaluate")
        if key:
            check_name("key", key)
        if user is not None:
            check_name("user", user)
        self._impressions.close_due(CLOSED_AT_ONCE)
        journal = self._journal
        bucket = target.bucket(user, journal.header.secret)
        rankers = target.settings.rankers
        with self._learners.hold(target, key) as learner:
            self._list(target, learner, rankers)
            arm = target.arm(bucket)
            chooses = arm in (Arm.POLICY, Arm.SHADOW)
            pair, notes = self._choose(learner) if chooses else ((0, 0), ())
            body = pack_choice(Choice(arm, bucket, learner.version, pair, notes, deferred=True))
            now = journal.now()
            with journal.lock:
                seq = journal.add_held(now, Kind.CHOICE, learner.number, None, body)
                self._impressions.open_held(seq, now, learner.number, target, body, shown=False)
                if chooses:
                    learner.applied = seq
            version = learner.version
        journal.commit(version)
        ticket = Ticket(seq, now, learner.number, body)
        return LiveDuel(self._signer.write(ticket), (rankers[pair[0]], rankers[pair[1]]), target.name)

    def interleave(self, duel: str, lists: Mapping[str, Sequence[str]], *, positions: int | None = None) -> Shown:
        """One list of the two rankers' lists, whose clicks decide the duel.

        Parameters
        ----------
        duel
            Id of the duel.
        lists
            The list of each of its rankers, by name.
        positions
            Number of items to show; as the loop's settings say if not given.
        """
        self._check_writable()
        try:
            ticket = self._signer.read(duel)
        except (Unknown, Foreign):
            raise ValueError(f"there is no duel {shorten(duel)} here: give the id of a duel of this store") from None
        impression, trouble = self._impressions.find(ticket)
        if impression is not None and self._journal.now() >= impression.deadline:
            self._impressions.close(impression)
            impression, trouble = None, "late"
        if impression is None or impression.loop.settings.kind != "evaluate":
            raise ValueError(
                f"this is no duel that can still be shown ({trouble or 'it is a list'}): ask for a new one"
            )
        loop, before = impression.loop, impression.page
        length = check_length(loop.settings.positions if positions is None else positions)
        pair = self._lists_of_rankers(impression, lists, length)
        if before is None:
            page = loop.interleaver.interleave(pair, length=length, seed=secrets.randbits(53))
        else:
            page = loop.interleaver.extend(before, pair, length=length)
        content = {"lists": pair, "length": length, "items": page.items, "notes": page.notes, "seed": page.seed}
        body, now = pack_json(content), self._journal.now()
        with self._journal.lock:
            if impression.closed or impression.page is not before:
                raise ValueError("the duel's window has passed, or it is being shown elsewhere: ask for a new one")
            seq = self._journal.add_held(now, Kind.PAGE, impression.learner, impression.seq, body)
            impression.page = page
            if not impression.shown:
                impression.begin(now)
                loop.queue.append((impression.deadline, impression.seq))
        try:
            self._journal.commit(seq)
        except BaseException:
            with self._journal.lock:  # nobody will see this page: who asks again gets one in its place
                if impression.page is page:
                    impression.page = before
            raise
        return Shown(
            duel, list(map(str, page.items[0 if before is None else len(before) :])), loop.name, "", "policy",
            following=lambda: self.interleave(duel, lists, positions=positions),
        )  # fmt: skip

    def _lists_of_rankers(
        self, impression: Impression, lists: Mapping[str, Sequence[str]], length: int
    ) -> list[tuple[str, ...]]:
        """The lists of a duel's two rankers, as far as this page can need them."""
        choice = unpack_choice(impression.body)
        names = self._learners.names_of(choice.version, impression.learner)
        rankers = [names[ranker] for ranker in choice.items]
        if not isinstance(lists, Mapping) or set(lists) != set(rankers):
            given = sorted(map(str, lists)) if isinstance(lists, Mapping) else lists
            raise ValueError(f"give the lists of the rankers {rankers[0]!r} and {rankers[1]!r}, not {shorten(given)}")
        pair = [check_names(f"the list of {ranker}", lists[ranker]) for ranker in rankers]
        if impression.loop.settings.interleaver == "probabilistic":
            return pair
        enough = length + (0 if impression.page is None else len(impression.page)) + len(pair)
        return [names[:enough] for names in pair]

    # -- events in -----------------------------------------------------------------------------------------------

    def click(
        self, impression: str, item: str, *, seen: int | None = None, at: float | None = None, event: str = ""
    ) -> str:
        """Tell of a click; what became of it: "accepted", "duplicate", "late", "unknown", ...

        When the call returns, an accepted click has been written for good. One that was delivered before is a
        duplicate, and is learned once.

        Parameters
        ----------
        impression
            Id of the impression.
        item
            What was clicked.
        seen
            Number of positions that came into view, where that is known.
        at
            Time of the click in seconds, if it is not now.
        event
            Id of the event, if it has one.
        """
        given = {"impression": impression, "item": item, "seen": seen, "at": at, "id": event}
        self._check_writable()
        fate = self._take_all(given)
        self._journal.commit(self._journal.seq)
        return fate

    def seen(self, impression: str, positions: int) -> str:
        """Tell that the first positions of an impression came into view, and no more; the largest number counts."""
        given = {"impression": impression, "type": "seen", "seen": positions}
        self._check_writable()
        fate = self._take_all(given)
        self._journal.commit(self._journal.seq)
        return fate

    def events(self, batch: Iterable[Mapping[str, Any]]) -> list[str]:
        """Tell of many events at once, objects with `impression`, `item` and, if known, `type`, `id`, `at`, `seen`.

        What became of each comes back in the same order. All that was accepted has been written for good when the call
        returns; an event that makes no sense gets "invalid: " and the reason, and does not keep the others back.
        """
        self._check_writable()
        fates = []
        for given in batch:
            try:
                fates.append(self._take_all(given))
            except ValueError as error:
                fates.append(f"invalid: {error}")
        self._journal.commit(self._journal.seq)
        return fates

    def _one(self, impression: str, event: Event) -> str:
        self._check_writable()
        fate = self._take(impression, event, None)
        self._journal.commit(self._journal.seq)
        return fate

    def _take_all(self, given: Mapping[str, Any]) -> str:
        """Take an event as a client sends it, which may tell of a click and of how far the list was seen."""
        impression, item, events = check_event(given)
        fates = [self._take(impression, event, item) for event in events]
        return fates[0]

    def _take(self, id_: Any, event: Event, item: str | None) -> str:
        """What becomes of an event; if it is accepted it is in the journal, though not yet durable."""
        try:
            ticket = self._signer.read(id_)
        except Unknown:
            return self._count_strange("unknown")
        except Foreign:
            return self._count_strange("foreign")
        impression, trouble = self._impressions.find(ticket)
        if impression is None:
            self._count(self._impressions.loop_of(ticket.learner), trouble)
            return trouble
        loop, now = impression.loop, self._journal.now()
        if now >= impression.deadline:
            self._impressions.close(impression)
            self._count(loop, "late")
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
            self._count(impression.loop, "not_shown")
            raise ValueError(f"item {shorten(item)} was not shown in this impression, so nobody can have clicked it")
        position = shown.index(item)
        return None if any(position == place for place, _ in pinned) else position

    def _count(self, loop: Loop | None, name: str) -> None:
        if loop is None:
            self._count_strange("unknown")
            return
        with self._journal.lock:
            loop.counts[name] += 1
            self._journal.changed.add(loop.number)

    def _count_strange(self, name: str) -> str:
        with self._journal.lock:
            self._loops.strange[name] += 1
            self._journal.changed.add(0)
        return name

    def finish(self, impression: str, *, seen: int | None = None) -> str:
        """Close an impression before its window has passed, and learn from it now."""
        self._check_writable()
        if seen is not None:
            self.seen(impression, seen)
        try:
            ticket = self._signer.read(impression)
        except Unknown:
            return self._count_strange("unknown")
        except Foreign:
            return self._count_strange("foreign")
        found, trouble = self._impressions.find(ticket)
        if found is None:
            return trouble
        self._impressions.close(found)
        self._journal.commit(self._journal.seq)
        return "accepted"

    # -- what is known -------------------------------------------------------------------------------------------

    def status(self, loop: str | None = None) -> dict[str, Any]:
        """What a loop has counted and found; all loops by name if none is given."""
        self._check_usable()
        if loop is None:
            return {name: self.status(name) for name in self._loops.by_name}
        target = self._loops.named(loop)
        if not self._read_only:
            self._impressions.close_due()
        settings = target.settings
        with self._journal.lock:
            counts = dict(target.counts)
            for name, strange in self._loops.strange.items():
                counts[name] += strange
        status: dict[str, Any] = {
            "loop": target.name,
            "kind": settings.kind,
            "policy": settings.policy,
            "mode": "paused" if settings.paused else settings.mode,
            "traffic": settings.traffic,
            **counts,
            "open": counts["impressions"] - counts["closed"],
            "unwritten": len(self._journal.rows),
            "warm": len(self._learners),
        }
        status |= self._standings(target) if settings.kind == "evaluate" else {"uplift": target.comparison.uplift()}
        return status

    def _standings(self, target: Loop) -> dict[str, Any]:
        rankers = target.settings.rankers
        if self._learners.find(target, "") is None:
            return {"survivors": list(rankers), "winner": None, "best": None}
        with self._learners.hold(target, "") as learner:
            policy, names = learner.policy, learner.names
            if policy is None:
                return {"survivors": list(rankers), "winner": None, "best": None}
            winner = policy.winner
            return {
                "survivors": [name for i, name in enumerate(names) if not policy.eliminated(i)],
                "winner": None if winner is None else names[winner],
                "best": names[policy.best],
            }

    def best(self, loop: str, key: str = "") -> list[str]:
        """The list that looks best for a key now, with nothing shown for the sake of learning; or the best ranker."""
        target = self._asked_for(loop, key)
        with self._learners.hold(target, key) as learner:
            if learner.policy is None:
                raise self._nothing_to_say(loop, key)
            return learner.best()

    def receipt(self, loop: str, key: str) -> SafetyReceipt:
        """What BubbleRank has decided for a key, on what evidence, and what is guaranteed."""
        target = self._asked_for(loop, key)
        if target.settings.policy != "BubbleRank":
            raise ValueError(f"only BubbleRank gives a receipt; loop {loop!r} runs {target.settings.policy}")
        with self._learners.hold(target, key) as learner:
            if learner.policy is None:
                raise self._nothing_to_say(loop, key)
            return learner.policy.receipt().named(learner.names)

    def revert(self, loop: str, key: str) -> None:
        """Set a key back to production's list, and forget all evidence; lists shown before are not learned from."""
        self._check_writable()
        target = self._asked_for(loop, key)
        with self._learners.hold(target, key) as learner:
            seq = self._journal.add(Kind.REVERT, learner.number, None, b"")
            learner.revert(seq)
            learner.applied = seq
        self._journal.commit(seq)

    def _asked_for(self, loop: str, key: str) -> Loop:
        """A loop that has been asked for a key."""
        self._check_usable()
        target = self._loops.named(loop)
        if key or target.settings.kind != "evaluate":
            check_name("key", key)
        if self._learners.find(target, key) is None:
            raise self._nothing_to_say(loop, key)
        return target

    def _nothing_to_say(self, loop: str, key: str) -> ValueError:
        return ValueError(f"loop {loop!r} has not been asked for {shorten(key)} yet: it has nothing to say of it")

    def verify(self, progress: Callable[[int], None] | None = None) -> Verification:
        """Replay the journal: derive every list and every learned state anew, and compare.

        Lists go on being served meanwhile; what happens after the call began is left for the next one.
        """
        self._check_usable()
        with self._journal.writing:
            self._journal.flush()
            upto = self._journal.durable
            states = self._learners.states()
        return Verifier(self._store, self._impressions.trimmed, upto, states).run(progress)

    def explain(self, impression: str) -> LiveExplanation:
        """Why this list: who decided, what was exchanged, the evidence at that moment, what was learned from it."""
        self._check_usable()
        try:
            ticket = self._signer.read(impression)
        except (Unknown, Foreign):
            raise ValueError(f"there is no impression {shorten(impression)} here: give an id of this store") from None
        self._journal.flush()
        return explain(self._store, self._impressions.trimmed, self._journal.durable, ticket)

    def export(self, path: str | Path, progress: Callable[[int], None] | None = None) -> int:
        """Write the whole journal to a file, `.jsonl` or `.parquet`; the number of rows."""
        self._check_usable()
        self._journal.flush()
        return export(self._store, path, self._journal.durable, progress)

    # -- looking after itself ------------------------------------------------------------------------------------

    def attend(self) -> None:
        """Write, close windows and pack learners, as the background thread does between calls."""
        self._check_writable()
        self._journal.flush()
        self._impressions.load_some()
        self._impressions.close_due(1000)
        self._learners.pack_away()
        if self._journal.durable - self._checkpoint > CHECKPOINT_EVERY:
            self._write_checkpoint()
        if self._keep is not None and self._journal.now() - self._looked_at > TRIM_EVERY:
            self._looked_at = self._journal.now()
            self.trim()

    def trim(self) -> int:
        """Remove entries that are older than the journal is kept; the number of the last one removed.

        Learners are replayed up to there first, so that the journal that is left can still be verified whole.
        """
        self._check_writable()
        trimmed = self._impressions.trimmed
        if self._keep is None:
            return trimmed
        kept = max(round(self._keep * 1000), *(2 * loop.window for loop in self._loops), 0)
        with self._journal.writing:
            self._journal.flush()
            upto = self._last_before(self._journal.now() - kept)
            if upto > trimmed:
                replay = Replay(self._store, trimmed, upto)
                for _ in replay:
                    pass
                self._store.trim(upto, replay.bases())
                self._impressions.trimmed = upto
        return self._impressions.trimmed

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

    def _write_checkpoint(self, *, clean: bool = False) -> None:
        """Write all learners that have changed, so that a later start need not replay what happened until now."""
        self._journal.flush()
        upto = self._journal.durable
        whole = self._learners.write_all(with_tail=clean)
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
            self._checkpoint = upto

    def warm_up(self) -> None:
        """Compile what the loops need, or load it from the cache, before traffic comes."""
        self._check_usable()
        for loop in self._loops:
            settings = loop.settings
            n = len(settings.rankers) if settings.kind == "evaluate" else max(2, settings.positions)
            settings.make_policy(n).warm_up()


def check_length(positions: Any) -> int:
    """A number of positions."""
    if isinstance(positions, bool) or not isinstance(positions, int) or positions < 1:
        raise ValueError(f"positions must be a whole number of at least 1, not {positions!r}")
    return positions


def _mark_forked(reference: weakref.ref[Live]) -> None:
    live = reference()
    if live is not None:
        live._forked = True


def _attend(reference: weakref.ref[Live], wake: threading.Event) -> None:
    """The background thread, which ends with its Live."""
    pause = LOOK_EVERY
    while not wake.wait(pause):
        live = reference()
        if live is None or live._closed or live._forked:
            return
        try:
            live.attend()
            pause = LOOK_EVERY
        except Exception as error:
            expected = isinstance(error, StoreLost)
            logger.error("the store is attended to again later: %s", error, exc_info=None if expected else error)
            pause = min(2.0, 2 * pause)
        del live
