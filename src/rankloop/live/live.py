"""The loop with real users in it: lists out, clicks in, learned exactly once, all of it in a journal."""

from __future__ import annotations

import hashlib
import logging
import os
import secrets
import threading
import time
import weakref
import zlib
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from rankloop.interleaving import Interleaver, Interleaving
from rankloop.live.entries import (
    CLICK,
    OTHER,
    SEEN,
    SHOWN,
    Arm,
    Choice,
    Closing,
    Entry,
    Event,
    Fate,
    Kind,
    pack_choice,
    pack_closing,
    pack_event,
    pack_json,
    pack_names,
    unpack_choice,
    unpack_closing,
    unpack_event,
    unpack_json,
)
from rankloop.live.learners import Catalogue, DuelLearner, Learner, new_learner
from rankloop.live.replay import Sessions, apply, choice_in, policy_positions, policy_view, unpack_list
from rankloop.live.settings import (
    POLICIES,
    Settings,
    check_name,
    check_names,
    duration,
    one_of,
    read_config,
)
from rankloop.live.shown import LiveDuel, Shown
from rankloop.live.stores import Batch, Header, KnownLearner, Snapshot, Store, StoreError, StoreLost
from rankloop.live.tokens import Foreign, Signer, Ticket, Unknown
from rankloop.live.uplift import BUCKETS, Comparison

logger = logging.getLogger("rankloop.live")

GAP = 1_000_000
"""Numbers left out after a crash: more than can have been handed out without having been written."""
MOST_UNWRITTEN = 500_000
"""Entries that may wait for the disk; beyond, lists are production's until it answers."""
FLUSH_EVERY = 0.02
CHECKPOINT_EVERY = 20_000
"""Entries between checkpoints: what must be replayed, at most, after a crash."""
PACKED_AT_ONCE = 100
CLOSED_AT_ONCE = 16
"""Impressions whose windows have passed that one call closes on the way."""
LOADED_AT_ONCE = 500

COUNTS = (
    "keys", "impressions", "closed", "learned", "clicks", "events", "duplicates", "late", "expired", "foreign",
    "unknown", "ignored", "not_shown", "pinned", "fallbacks", "recovered", "holdout", *Fate.NAMES[1:],
)  # fmt: skip
"""What is counted for each loop."""


class Open:
    """An impression whose window has not passed."""

    __slots__ = ("at", "body", "clicks", "closed", "deadline", "learner", "loop", "page", "seen", "seq", "shown")

    def __init__(self, seq: int, at: int, learner: int, loop: Loop, body: bytes, shown: bool) -> None:
        self.seq, self.at, self.learner, self.loop, self.body = seq, at, learner, loop, body
        self.deadline = at + loop.window
        self.clicks = 0
        self.seen = -1
        self.shown = shown
        self.closed = False
        self.page: Interleaving | None = None


class Loop:
    """A loop as it runs: settings, counts, and the impressions that wait for their windows to pass."""

    def __init__(self, number: int, name: str, settings: Settings) -> None:
        self.number, self.name = number, name
        self.catalogue = Catalogue(settings) if settings.kind == "diversify" else None
        self.counts = dict.fromkeys(COUNTS, 0)
        self.queue: deque[tuple[int, int]] = deque()
        """Deadlines and numbers of open impressions, in order."""
        self.comparison = Comparison(settings.holdout)
        self.interleaver = Interleaver.known[settings.interleaver]()
        self.take(settings)

    def take(self, settings: Settings) -> None:
        """Take changed settings."""
        self.settings = settings
        self.window = round(settings.window * 1000)
        self.off = settings.paused or settings.mode == "off"
        self.shadow = settings.mode == "shadow"
        self.holdout_below = round(settings.holdout * BUCKETS)
        self.outside_from = BUCKETS - round((1 - settings.traffic) * (BUCKETS - self.holdout_below))

    def arm(self, bucket: int) -> int:
        """Who decides what a user of this bucket sees."""
        if self.off:
            return Arm.OFF
        if bucket < self.holdout_below:
            return Arm.HOLDOUT
        if bucket >= self.outside_from:
            return Arm.OUTSIDE
        return Arm.SHADOW if self.shadow else Arm.POLICY


class Live:
    """Policies in front of real users, on a store that keeps every choice and every event.

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
        Whether a thread writes, closes windows and packs learners between calls; without it, calls do.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "shop.db"
    >>> with Live(path) as live:
    ...     live.create("search", kind="rerank", holdout=0.0, seed=1)
    ...     shown = live.rank("search", "laptop", ["sku-9", "sku-2", "sku-7"], user="u1")
    ...     fate = live.click(shown.id, "sku-2")
    ...     live.finish(shown.id)
    ...     live.status("search")["learned"]
    1
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
    ) -> None:
        declared = {} if config is None else read_config(config)
        told = declared.get("live", {})
        for word in told:
            one_of(f"setting of [live] in {config}", word, ("memory", "keep"))
        self._memory = size("memory", told.get("memory", memory))
        keep = told.get("keep", keep)
        self._keep = None if keep is None else duration("keep", keep)
        checked = {name: Settings.checked(**loop) for name, loop in declared.get("loops", {}).items()}
        self._clock = clock
        self._time = 0
        self._store = open_store(store)
        self._books = threading.Lock()
        self._commit_lock = threading.RLock()
        self._warm: OrderedDict[int, Learner] = OrderedDict()
        self._numbers: dict[tuple[int, str], int] = {}
        self._warm_size = 0
        self._warm_lock = threading.RLock()
        self._loops: dict[str, Loop] = {}
        self._by_number: dict[int, Loop] = {}
        self._open: dict[int, Open] = {}
        self._versions: OrderedDict[int, tuple[str, ...]] = OrderedDict()
        self._rows: list[Entry] = []
        self._new_learners: list[KnownLearner] = []
        self._changed: set[int] = set()
        self._all = dict.fromkeys(("unknown", "foreign"), 0)
        """What cannot be told to belong to any loop."""
        self._sessions: Sessions = []
        self._tail: dict[int, list[Entry]] = {}
        self._rebuild: set[int] = set()
        self._closing = False
        self._forked = False
        header = self._store.open()
        try:
            self._begin(header)
            for name, settings in checked.items():
                self._create(name, settings, declared=True)
            self._commit(self._seq)
        except BaseException:
            self._store.close()
            raise
        reference = weakref.ref(self)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=lambda: _mark_forked(reference))
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        if background:
            self._thread = threading.Thread(target=_attend, args=(reference, self._wake), daemon=True, name="rankloop")
            self._thread.start()

    # -- opening and closing -------------------------------------------------------------------------------------

    def _begin(self, header: Header) -> None:
        self._signer = Signer(header.store, header.secret)
        self._secret = header.secret
        self._seq = self._durable = header.last
        self._last_learner = header.last_learner
        self._trimmed = header.trimmed
        self._checkpoint, self._written_checkpoint = header.checkpoint, header.checkpoint
        self._cursor = header.cursor
        for entry in self._store.entries(0, learner=0):
            self._take_shared(entry)
        for number, counts in self._store.totals().items():
            values = unpack_json(counts)
            if number == 0:
                self._all.update(values)
            elif number in self._by_number:
                self._by_number[number].counts.update(values)
        for loop in self._by_number.values():
            packed = self._store.snapshot(-loop.number)
            covered = 0
            if packed is not None:
                covered = packed.seq
                loop.comparison.unpack(zlib.decompress(packed.state))
            loop_covered = {loop.number: covered}
            self._covered = {**getattr(self, "_covered", {}), **loop_covered}
        for entry in self._store.entries(header.checkpoint):
            if entry.learner:
                self._tail.setdefault(entry.learner, []).append(entry)
        self._recount()
        self._unloaded = (header.cursor, self._seq)
        """Impressions that began after the first and up to the second may be open, and are not in memory yet."""
        if header.last and not header.clean:
            self._seq += GAP
            seed = secrets.randbits(62)
            seq = self._append(Kind.OPENED, 0, None, pack_json({"seed": seed}))
            self._sessions.append((seq, seed))
        else:
            self._append(Kind.OPENED, 0, None, pack_json({}))
        self._unclean = True

    def _take_shared(self, entry: Entry) -> None:
        """Entries that concern no single learner."""
        if entry.kind == Kind.OPENED:
            seed = unpack_json(entry.body).get("seed")
            if seed is not None:
                self._sessions.append((entry.seq, seed))
        elif entry.kind == Kind.LOOP:
            body = unpack_json(entry.body)
            settings = Settings.from_json(body["settings"])
            loop = self._by_number.get(body["number"])
            if loop is None:
                self._add_loop(Loop(body["number"], body["name"], settings))
            else:
                loop.take(settings)
        elif entry.kind == Kind.ITEMS:
            body = unpack_json(entry.body)
            catalogue = self._by_number[body["loop"]].catalogue
            assert catalogue is not None
            catalogue.put(entry.seq, body["names"], body["relevance"], body["topics"])

    def _recount(self) -> None:
        """Take into the comparisons what has been closed since they were packed."""
        for entries in self._tail.values():
            loop: Loop | None = None
            for entry in entries:
                if entry.kind == Kind.CLOSE:
                    known = self._store.learner(entry.learner) if loop is None else None
                    loop = loop or (self._by_number[known.loop] if known else None)
                    if loop is not None and entry.seq > self._covered[loop.number]:
                        self._compare(loop, unpack_closing(entry.body))

    @staticmethod
    def _compare(loop: Loop, closing: Closing) -> None:
        if closing.arm in (Arm.POLICY, Arm.HOLDOUT) and closing.fate != Fate.NEVER_SHOWN:
            loop.comparison.count(closing.bucket, bool(closing.clicks))

    def _add_loop(self, loop: Loop) -> None:
        self._loops[loop.name] = loop
        self._by_number[loop.number] = loop

    def close(self) -> None:
        """Write everything that is still to be written, and let go of the store."""
        if self._closing:
            return
        self._closing = True
        if self._thread is not None:
            self._wake.set()
            if threading.current_thread() is not self._thread:
                self._thread.join(timeout=30)
        if self._forked:
            return
        try:
            self._checkpoint_all(clean=True)
        finally:
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ready(self) -> None:
        if self._forked:
            raise StoreError(
                f"{self._store.name} was opened before this process was forked, and an SQLite store has one writer: "
                "open it after the fork in a single worker, or let all workers use `rankloop serve` or postgresql://"
            )
        if self._closing:
            raise StoreError(f"{self._store.name} is closed: open it with rl.Live(...)")

    # -- loops ---------------------------------------------------------------------------------------------------

    def create(self, loop: str, *, kind: str, **settings: Any) -> None:
        """Create a loop; nothing happens if it is there with the same settings.

        The settings, all of which have defaults, are those of `Settings`; parameters of the policy may stand among them.
        """
        self._ready()
        self._create(loop, Settings.checked(kind=kind, **settings))
        self._commit(self._seq)

    def _create(self, name: str, settings: Settings, *, declared: bool = False) -> None:
        check_name("the name of a loop", name)
        with self._commit_lock:
            known = self._loops.get(name)
            if known is not None:
                self._check_same(known, settings)
                return
            if settings.seed is None:
                settings = settings.__class__(**{**settings.__dict__, "seed": secrets.randbits(48)})
            loop = Loop(max(self._by_number, default=0) + 1, name, settings)
            self._append(Kind.LOOP, 0, None, self._loop_body(loop))
            self._add_loop(loop)

    @staticmethod
    def _loop_body(loop: Loop) -> bytes:
        return pack_json({"number": loop.number, "name": loop.name, "settings": loop.settings.to_json()})

    @staticmethod
    def _check_same(known: Loop, settings: Settings) -> None:
        there, given = known.settings.to_json(), settings.to_json()
        loose = {"mode", "traffic", "paused"} | ({"seed"} if settings.seed is None else set())
        if settings.kind == "evaluate":
            loose.add("rankers")
        for word, value in given.items():
            if word not in loose and there[word] != value:
                raise ValueError(
                    f"loop {known.name!r} is there with {word} = {there[word]!r}, not {value!r}: "
                    "give it the same settings, or another name"
                )

    def change(self, loop: str, **settings: Any) -> None:
        """Change the mode or the share of traffic of a running loop."""
        self._ready()
        target = self._target(loop)
        with self._commit_lock:
            target.take(target.settings.changed(**settings))
            seq = self._append(Kind.LOOP, 0, None, self._loop_body(target))
        self._commit(seq)

    def pause(self, loop: str) -> None:
        """Show production's lists from now on, and learn nothing from them."""
        self.change(loop, paused=True)

    def resume(self, loop: str) -> None:
        """Let the policy choose again."""
        self.change(loop, paused=False)

    @property
    def loops(self) -> tuple[str, ...]:
        """The names of all loops."""
        return tuple(self._loops)

    def _target(self, name: str, *kinds: str) -> Loop:
        loop = self._loops.get(name) if isinstance(name, str) else None
        if loop is None:
            one_of("loop", name, self._loops)
        assert loop is not None
        if kinds and loop.settings.kind not in kinds:
            call = {"evaluate": "duel", "diversify": "rank"}.get(loop.settings.kind, "rank")
            raise ValueError(f"loop {name!r} is of kind {loop.settings.kind}: use {call} with it")
        return loop

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
        self._ready()
        target = self._target(loop, "rerank", "follow", "diversify")
        check_name("key", key)
        learner = self._warm_learner(target, key)
        if learner is None or learner.names != items or pinned:
            names, pins = self._check_items(target, items, pinned)
        else:
            names, pins = learner.names, ()
        if user is not None:
            check_name("user", user)
        try:
            return self._rank(target, key, names, user, pins, deferred)
        except Exception as error:
            return self._fallback(target, names, pins, error)

    def _check_items(
        self, target: Loop, items: Sequence[str], pinned: Mapping[int, str] | None
    ) -> tuple[tuple[str, ...], tuple[tuple[int, str], ...]]:
        names = check_names("items", items)
        pins: tuple[tuple[int, str], ...] = ()
        if pinned:
            if not isinstance(pinned, Mapping):
                raise ValueError(f"pinned must give an item for each position, such as {{0: 'ad-1'}}, not {pinned!r}")
            for position in pinned:
                if isinstance(position, bool) or not isinstance(position, int) or position < 0:
                    raise ValueError(f"positions of pinned items count from 0, not {position!r}")
            check_names("pinned", list(pinned.values()))
            pins = tuple(sorted(pinned.items()))
            names = tuple(name for name in names if name not in set(pinned.values()))
            if not names:
                raise ValueError("items must not all be pinned: there is nothing left to rank")
        if target.catalogue is not None:
            for name in names:
                if name not in target.catalogue.row:
                    raise ValueError(
                        f"item {name!r} is not in the catalogue of loop {target.name!r}: give its features to "
                        "put_items first"
                    )
        return names, pins

    def _rank(
        self,
        target: Loop,
        key: str,
        names: tuple[str, ...],
        user: str | None,
        pins: tuple[tuple[int, str], ...],
        deferred: bool,
    ) -> Shown:
        self._close_due(CLOSED_AT_ONCE)
        if len(self._rows) > MOST_UNWRITTEN:
            raise StoreLost(f"{self._store.name} has not taken {len(self._rows):,} entries")
        bucket = self._bucket(target, user)
        arm = target.arm(bucket)
        listed = 0
        while True:
            learner = self._learner(target, key)
            with learner.lock:
                if learner.gone:
                    continue
                try:
                    if not self._is_current(target, learner, names):
                        listed = self._relist(target, learner, names)
                    shown = tuple(range(min(target.settings.positions, len(names))))
                    notes: tuple[float, ...] = ()
                    if arm in (Arm.POLICY, Arm.SHADOW):
                        self._renew(learner)
                        shown, notes = learner.choose()
                except BaseException:
                    self._discard(learner)
                    raise
                choice = Choice(arm, bucket, learner.version, shown, notes, deferred, pins)
                body = pack_choice(choice)
                now = self._now()
                with self._books:
                    self._seq = seq = self._seq + 1
                    self._rows.append(Entry(seq, now, Kind.CHOICE, learner.number, None, body))
                    self._open[seq] = opened = Open(seq, now, learner.number, target, body, not deferred)
                    target.queue.append((opened.deadline, seq))
                    target.counts["impressions"] += 1
                    if arm == Arm.HOLDOUT:
                        target.counts["holdout"] += 1
                    self._changed.add(target.number)
                    if arm in (Arm.POLICY, Arm.SHADOW):
                        learner.applied = seq
                break
        if listed:
            self._commit(listed)
        if arm == Arm.SHADOW:
            shown = tuple(range(min(target.settings.positions, len(names))))
        page = _page(names, shown, pins, target.settings.positions)
        return Shown(self._signer.write(Ticket(seq, now, learner.number, body)), page, target.name, key, Arm.NAMES[arm])

    def _is_current(self, target: Loop, learner: Learner, names: tuple[str, ...]) -> bool:
        if learner.names != names or not learner.version:
            return False
        if target.catalogue is None:
            return True
        rows: tuple[int, ...] = learner.rows  # type: ignore[attr-defined]
        return rows == tuple(target.catalogue.row[name] for name in names)

    def _relist(self, target: Loop, learner: Learner, names: tuple[str, ...]) -> int:
        rows: tuple[int, ...] = ()
        body = pack_names(names)
        if target.catalogue is not None:
            rows = tuple(target.catalogue.row[name] for name in names)
            body = pack_json({"names": names, "rows": rows})
        learner.relist(learner.version, names, rows)
        version = self._append(Kind.LIST, learner.number, None, body)
        learner.version = learner.applied = version
        self._remember_version(version, names)
        return version

    def _renew(self, learner: Learner) -> None:
        """New random numbers after a crash, for a learner that chose before it."""
        session, seed = self._sessions[-1] if self._sessions else (0, 0)
        if learner.session != session:
            learner.reseed(session, seed)

    def _fallback(
        self, target: Loop, names: tuple[str, ...], pins: tuple[tuple[int, str], ...], error: Exception
    ) -> Shown:
        logger.error("loop %s answers with production's list: %s", target.name, error, exc_info=error)
        with self._books:
            target.counts["fallbacks"] += 1
            self._changed.add(target.number)
        page = _page(names, tuple(range(len(names))), pins, target.settings.positions)
        return Shown("", page, target.name, "", "fallback", reason=str(error))

    def _bucket(self, target: Loop, user: str | None) -> int:
        if user is None:
            return secrets.randbelow(BUCKETS)
        digest = hashlib.blake2b(
            user.encode(), key=self._secret, salt=target.number.to_bytes(16, "little"), digest_size=2
        ).digest()
        return digest[0] | digest[1] << 8

    def shown(self, impression: str) -> str:
        """Say that a deferred list has been shown: its window begins now."""
        return self._one(impression, Event(SHOWN, 0, 0, "shown"), None)

    # -- duels ---------------------------------------------------------------------------------------------------

    def duel(self, loop: str, key: str = "", *, user: str | None = None) -> LiveDuel:
        """The two rankers to run for the next user; give their lists to `interleave`."""
        self._ready()
        target = self._target(loop, "evaluate")
        if key:
            check_name("key", key)
        if user is not None:
            check_name("user", user)
        self._close_due(CLOSED_AT_ONCE)
        bucket = self._bucket(target, user)
        listed = 0
        while True:
            learner = self._learner(target, key)
            with learner.lock:
                if learner.gone:
                    continue
                try:
                    if learner.names != target.settings.rankers or not learner.version:
                        listed = self._relist(target, learner, target.settings.rankers)
                    self._renew(learner)
                    pair, notes = learner.choose()
                except BaseException:
                    self._discard(learner)
                    raise
                arm = Arm.OFF if target.off else Arm.SHADOW if target.shadow else Arm.POLICY
                body = pack_choice(Choice(arm, bucket, learner.version, pair, notes, deferred=True))
                now = self._now()
                with self._books:
                    self._seq = seq = self._seq + 1
                    self._rows.append(Entry(seq, now, Kind.CHOICE, learner.number, None, body))
                    self._open[seq] = opened = Open(seq, now, learner.number, target, body, False)
                    target.queue.append((opened.deadline, seq))
                    target.counts["impressions"] += 1
                    self._changed.add(target.number)
                    learner.applied = seq
                break
        if listed:
            self._commit(listed)
        rankers = (target.settings.rankers[pair[0]], target.settings.rankers[pair[1]])
        return LiveDuel(self._signer.write(Ticket(seq, now, learner.number, body)), rankers, target.name)

    def interleave(
        self, duel: str, lists: Mapping[str, Sequence[str]], *, positions: int | None = None
    ) -> Shown:
        """One list of the two rankers' lists; clicks on it decide the duel."""
        self._ready()
        opened = self._open_duel(duel)
        return self._interleave(duel, opened, lists, positions)

    def _open_duel(self, duel: str) -> Open:
        try:
            ticket = self._signer.read(duel)
        except (Unknown, Foreign):
            raise ValueError(f"there is no duel {_short(duel)} here: give the id of a duel of this store") from None
        opened, fate = self._find(ticket)
        if opened is None or opened.loop.settings.kind != "evaluate":
            raise ValueError(f"the duel cannot be shown any more ({fate or 'it is a list'}): ask for a new one")
        return opened

    def _interleave(
        self, duel: str, opened: Open, lists: Mapping[str, Sequence[str]], positions: int | None
    ) -> Shown:
        loop = opened.loop
        length = loop.settings.positions if positions is None else positions
        if isinstance(length, bool) or not isinstance(length, int) or length < 1:
            raise ValueError(f"positions must be a whole number of at least 1, not {positions!r}")
        choice = unpack_choice(opened.body)
        names = self._names_of(choice.version, opened.learner)
        rankers = [names[ranker] for ranker in choice.items]
        if not isinstance(lists, Mapping) or set(lists) != set(rankers):
            given = sorted(map(str, lists)) if isinstance(lists, Mapping) else lists
            raise ValueError(f"give the lists of the rankers {rankers[0]!r} and {rankers[1]!r}, not {given!r}")
        before = opened.page
        total = length + (len(before) if before is not None else 0)
        enough = None if loop.settings.interleaver == "probabilistic" else total + 2
        pair = [check_names(f"the list of {ranker}", lists[ranker])[:enough] for ranker in rankers]
        if rankers[0] == rankers[1]:
            pair = [pair[0], pair[0]]
        if before is None:
            page = loop.interleaver.interleave(pair, length=length, seed=secrets.randbits(53))
        else:
            page = loop.interleaver.extend(before, pair, length=length)
        body = pack_json(
            {"lists": pair, "length": length, "items": page.items, "notes": page.notes, "seed": page.seed}
        )
        with self._books:
            if opened.closed:
                raise ValueError("the duel's window has passed: ask for a new one")
            now = self._now()
            self._seq = seq = self._seq + 1
            self._rows.append(Entry(seq, now, Kind.PAGE, opened.learner, opened.seq, body))
            opened.page = page
            if not opened.shown:
                opened.shown = True
                opened.deadline = now + loop.window
                loop.queue.append((opened.deadline, opened.seq))
        self._commit(seq)
        start = 0 if before is None else len(before)
        return Shown(
            duel, list(map(str, page.items[start:])), loop.name, "", "policy",
            following=lambda: self._interleave(duel, self._open_duel(duel), lists, positions),
        )  # fmt: skip

    # -- events in -----------------------------------------------------------------------------------------------

    def click(
        self, impression: str, item: str, *, seen: int | None = None, at: float | None = None, event: str = ""
    ) -> str:
        """A click on an item of an impression; what became of it: "accepted", "duplicate", "late", "unknown"...

        The call returns once the click is durable.
        """
        fate = self._one(impression, Event(CLICK, 0, _milliseconds(at), "click", event), item)
        if seen is not None:
            self.seen(impression, seen)
        return fate

    def seen(self, impression: str, positions: int) -> str:
        """Say that only the first positions of an impression came into view; the largest such number counts."""
        if isinstance(positions, bool) or not isinstance(positions, int) or not 0 <= positions < 2**16:
            raise ValueError(f"seen must be a whole number of at least 0, not {positions!r}")
        return self._one(impression, Event(SEEN, positions, 0, "seen"), None)

    def events(self, batch: Iterable[Mapping[str, Any]]) -> list[str]:
        """Many events at once, each `{"impression", "item", "type", "id", "at", "seen"}`; what became of each.

        All that was accepted is durable when the call returns. An event that makes no sense gets the fate "invalid: ...".
        """
        self._ready()
        fates = []
        for given in batch:
            try:
                fates.append(self._given_event(given))
            except ValueError as error:
                fates.append(f"invalid: {error}")
        self._commit(self._seq)
        return fates

    def _given_event(self, given: Mapping[str, Any]) -> str:
        if not isinstance(given, Mapping):
            raise ValueError(f"an event is an object with impression and item, not {given!r}")
        for word in given:
            one_of("field of an event", word, ("impression", "item", "type", "id", "at", "seen"))
        type_ = given.get("type", "click")
        check_name("type", type_)
        identity = given.get("id") or ""
        if identity:
            check_name("id", identity)
        at = _milliseconds(given.get("at"))
        seen = given.get("seen")
        if seen is not None and (isinstance(seen, bool) or not isinstance(seen, int) or not 0 <= seen < 2**16):
            raise ValueError(f"seen must be a whole number of at least 0, not {seen!r}")
        impression = given.get("impression")
        item = given.get("item")
        fate = ""
        if type_ == "shown":
            fate = self._take(impression, Event(SHOWN, 0, at, type_, identity), None)
        elif type_ == "seen" or item is None:
            if seen is None:
                raise ValueError("an event names the item, or says how many positions were seen")
        else:
            fate = self._take(impression, Event(CLICK, 0, at, type_, identity), item)
        if seen is not None:
            fate = self._take(impression, Event(SEEN, seen, at, "seen", identity), None) if not fate else fate
            if item is not None and type_ not in ("seen", "shown"):
                self._take(impression, Event(SEEN, seen, at, "seen", identity), None)
        return fate

    def _one(self, impression: str, event: Event, item: str | None) -> str:
        self._ready()
        fate = self._take(impression, event, item)
        self._commit(self._seq)
        return fate

    def _take(self, impression: Any, event: Event, item: Any) -> str:
        """What becomes of an event; what is accepted is in the journal, though not yet durable."""
        try:
            ticket = self._signer.read(impression)
        except Unknown:
            return self._count_strange("unknown")
        except Foreign:
            return self._count_strange("foreign")
        opened = self._open.get(ticket.seq)
        if opened is None:
            opened, fate = self._find(ticket)
            if opened is None:
                self._count(self._loop_of(ticket.learner), fate)
                return {"duplicates": "duplicate"}.get(fate, fate)
        loop = opened.loop
        now = self._now()
        if now >= opened.deadline:
            self._close(opened)
            self._count(loop, "late")
            return "late"
        if event.action == CLICK:
            if event.type != loop.settings.counts:
                return self._note_other(opened, event, item)
            position = self._position(opened, item)
            if position < 0:
                return self._note_other(opened, event, item, pinned=True)
            event = event._replace(value=position)
        body = pack_event(event)
        with self._books:
            if opened.closed:
                loop.counts["late"] += 1
                self._changed.add(loop.number)
                return "late"
            if not self._join(opened, event, now):
                loop.counts["duplicates"] += 1
                self._changed.add(loop.number)
                return "duplicate"
            self._seq = seq = self._seq + 1
            self._rows.append(Entry(seq, now, Kind.EVENT, opened.learner, opened.seq, body))
            loop.counts["events"] += 1
            if event.action == CLICK:
                loop.counts["clicks"] += 1
            self._changed.add(loop.number)
        return "accepted"

    @staticmethod
    def _join(opened: Open, event: Event, now: int) -> bool:
        """Take an event into its impression; False if it says nothing new."""
        if event.action == CLICK:
            bit = 1 << event.value
            if opened.clicks & bit:
                return False
            opened.clicks |= bit
            opened.shown = True
        elif event.action == SEEN:
            if event.value <= opened.seen:
                return False
            opened.seen = event.value
        elif event.action == SHOWN:
            if opened.shown:
                return False
            opened.shown = True
            opened.deadline = now + opened.loop.window
            opened.loop.queue.append((opened.deadline, opened.seq))
        return True

    def _note_other(self, opened: Open, event: Event, item: Any, *, pinned: bool = False) -> str:
        """Events that are kept and not learned from."""
        if item is not None:
            check_name("item", item)
        body = pack_event(event._replace(action=OTHER))
        with self._books:
            self._seq = seq = self._seq + 1
            self._rows.append(Entry(seq, self._now(), Kind.EVENT, opened.learner, opened.seq, body))
            opened.loop.counts["pinned" if pinned else "ignored"] += 1
            self._changed.add(opened.loop.number)
        return "pinned" if pinned else "ignored"

    def _position(self, opened: Open, item: Any) -> int:
        """Where an item stands in what was shown; -1 for a pinned one."""
        check_name("item", item)
        if opened.loop.settings.kind == "evaluate":
            shown: Sequence[str] = [] if opened.page is None else list(map(str, opened.page.items))
            if item in shown:
                return shown.index(item)
        else:
            choice = unpack_choice(opened.body)
            names = self._names_of(choice.version, opened.learner)
            positions = opened.loop.settings.positions
            items = choice.items
            if choice.arm == Arm.SHADOW:
                items = tuple(range(min(positions, len(names))))
            shown = _page(names, items, choice.pinned, positions)
            if item in shown:
                position = shown.index(item)
                return -1 if any(position == place for place, _ in choice.pinned) else position
        with self._books:
            opened.loop.counts["not_shown"] += 1
            self._changed.add(opened.loop.number)
        raise ValueError(f"item {_short(item)} was not shown in this impression, so it cannot have been clicked")

    def _count(self, loop: Loop | None, name: str) -> None:
        if loop is None:
            self._count_strange("unknown")
            return
        with self._books:
            loop.counts[name] += 1
            self._changed.add(loop.number)

    def _count_strange(self, name: str) -> str:
        with self._books:
            self._all[name] += 1
            self._changed.add(0)
        return name

    def finish(self, impression: str, *, seen: int | None = None) -> str:
        """Close an impression before its window has passed, and learn from it now."""
        self._ready()
        if seen is not None:
            self.seen(impression, seen)
        try:
            ticket = self._signer.read(impression)
        except Unknown:
            return self._count_strange("unknown")
        except Foreign:
            return self._count_strange("foreign")
        opened, fate = self._find(ticket)
        if opened is None:
            return fate
        self._close(opened)
        self._commit(self._seq)
        return "accepted"

    # -- impressions ---------------------------------------------------------------------------------------------

    def _find(self, ticket: Ticket) -> tuple[Open | None, str]:
        """An impression that is still open, from memory, the journal or its id; else what is the matter."""
        opened = self._open.get(ticket.seq)
        if opened is not None:
            return opened, ""
        loop = self._loop_of(ticket.learner)
        if loop is None:
            return None, "unknown"
        with self._commit_lock:  # nobody else looks it up meanwhile, and the buffer does not move
            opened = self._open.get(ticket.seq)
            if opened is not None:
                return opened, ""
            if self._rows:
                self._flush()
            row = self._store.entry(ticket.seq)
            later = list(self._store.of_impressions(ticket.seq, ticket.seq))
            if any(entry.kind == Kind.CLOSE for entry in later):
                return None, "late"
            if row is None and ticket.seq <= self._trimmed:
                return None, "expired"
            opened = self._reopen(ticket, loop, later)
            if row is None and not any(entry.kind == Kind.RECOVERED for entry in later):
                if self._now() >= opened.deadline:
                    return None, "late"
                self._recover(opened)
            with self._books:
                self._open[opened.seq] = opened
                loop.queue.append((opened.deadline, opened.seq))
            return opened, ""

    def _reopen(self, ticket: Ticket, loop: Loop, later: Iterable[Entry]) -> Open:
        choice = unpack_choice(ticket.body)
        opened = Open(ticket.seq, ticket.at, ticket.learner, loop, ticket.body, not choice.deferred)
        for entry in later:
            if entry.kind == Kind.EVENT:
                event = unpack_event(entry.body)
                if event.action == CLICK:
                    opened.clicks |= 1 << event.value
                    opened.shown = True
                elif event.action == SEEN:
                    opened.seen = max(opened.seen, event.value)
                elif event.action == SHOWN:
                    opened.shown, opened.deadline = True, entry.at + loop.window
            elif entry.kind == Kind.PAGE:
                body = unpack_json(entry.body)
                notes = tuple(tuple(map(float, row)) for row in body["notes"])
                opened.page = Interleaving(loop.settings.interleaver, tuple(body["items"]), notes, body["seed"])
                if not opened.shown:
                    opened.shown, opened.deadline = True, entry.at + loop.window
        return opened

    def _recover(self, opened: Open) -> None:
        """Write down an impression that a crash kept from the journal: its id says all that matters."""
        body = opened.at.to_bytes(8, "little") + opened.body
        with self._books:
            self._seq = seq = self._seq + 1
            self._rows.append(Entry(seq, self._now(), Kind.RECOVERED, opened.learner, opened.seq, body))
            opened.loop.counts["recovered"] += 1
            opened.loop.counts["impressions"] += 1
            self._changed.add(opened.loop.number)

    def _load_open(self) -> None:
        """Bring some of the impressions that an earlier program left open into memory."""
        first, last = self._unloaded
        if first >= last:
            return
        with self._commit_lock:
            rows = []
            for entry in self._store.entries(first, last):
                first = entry.seq
                if entry.kind == Kind.CHOICE:
                    rows.append(entry)
                if len(rows) == LOADED_AT_ONCE:
                    break
            else:
                first = last
            later: dict[int, list[Entry]] = {}
            if rows:
                for entry in self._store.of_impressions(rows[0].seq, rows[-1].seq):
                    later.setdefault(entry.impression or 0, []).append(entry)
            for row in rows:
                about = later.get(row.seq, [])
                loop = self._loop_of(row.learner)
                if row.seq in self._open or loop is None or any(entry.kind == Kind.CLOSE for entry in about):
                    continue
                opened = self._reopen(Ticket(row.seq, row.at, row.learner, row.body), loop, about)
                with self._books:
                    self._open[row.seq] = opened
                    loop.queue.append((opened.deadline, row.seq))
            self._unloaded = (first, last)
            if first >= last:
                for loop in self._by_number.values():
                    with self._books:
                        loop.queue = deque(sorted(loop.queue))

    def _close_due(self, most: int | None) -> None:
        """Close impressions whose windows have passed."""
        now = self._now()
        left = most
        for loop in list(self._by_number.values()):
            while loop.queue and loop.queue[0][0] <= now and left != 0:
                try:
                    deadline, seq = loop.queue.popleft()
                except IndexError:
                    break
                opened = self._open.get(seq)
                if opened is not None and opened.deadline <= deadline:
                    self._close(opened)
                    left = None if left is None else left - 1

    def _close(self, opened: Open) -> None:
        """End an impression's window, and learn from it."""
        loop = opened.loop
        choice = unpack_choice(opened.body)
        names = self._names_of(choice.version, opened.learner)
        known = self._known(opened.learner)
        while True:
            learner = self._learner(loop, known.key)
            with learner.lock:
                if learner.gone:
                    continue
                with self._books:
                    if opened.closed:
                        return
                    opened.closed = True
                    self._open.pop(opened.seq, None)
                clicks = tuple(k for k in range(opened.clicks.bit_length()) if opened.clicks >> k & 1)
                seen = None if opened.seen < 0 else max(opened.seen, clicks[-1] + 1 if clicks else 0)
                fate, winner = self._learn(loop, learner, opened, choice, names, clicks, seen)
                closing = Closing(fate, choice.arm, choice.bucket, clicks, seen, winner)
                now = self._now()
                with self._books:
                    self._seq = seq = self._seq + 1
                    self._rows.append(
                        Entry(seq, now, Kind.CLOSE, opened.learner, opened.seq, pack_closing(closing))
                    )
                    loop.counts["closed"] += 1
                    loop.counts[Fate.NAMES[fate]] += 1
                    self._changed.add(loop.number)
                    if fate == Fate.LEARNED:
                        learner.applied = seq
                self._compare(loop, closing)
                return

    def _learn(
        self,
        loop: Loop,
        learner: Learner,
        opened: Open,
        choice: Choice,
        names: Sequence[str],
        clicks: tuple[int, ...],
        seen: int | None,
    ) -> tuple[int, int]:
        if not opened.shown:
            return Fate.NEVER_SHOWN, -1
        if choice.arm != Arm.POLICY:
            return Fate.NOT_POLICY, -1
        if opened.seq < learner.reverted:
            return Fate.REVERTED, -1
        winner = -1
        try:
            if isinstance(learner, DuelLearner):
                winner = self._winner(opened, choice, clicks)
                if winner < 0:
                    return Fate.TIE, -1
                learned = learner.learn_winner(choice, names, winner)
            else:
                own, looked = policy_view(choice, loop.settings.positions, clicks, seen)
                learned = learner.learn(choice, names, own, looked)
        except Exception:
            logger.exception("loop %s: impression %d could not be learned from", loop.name, opened.seq)
            self._discard(learner)
            return Fate.REFUSED, -1
        return (Fate.LEARNED, winner) if learned else (Fate.OUTDATED, -1)

    def _winner(self, opened: Open, choice: Choice, clicks: tuple[int, ...]) -> int:
        """Which ranker the clicks speak for; where credit is a probability, a coin that anybody can toss again decides."""
        page = opened.page
        if page is None or choice.items[0] == choice.items[1]:
            return -1
        clicked = [int(k in clicks) for k in range(len(page))]
        outcome = page.outcome(clicked)
        if outcome.win + outcome.loss <= 0.0:
            return -1
        digest = hashlib.blake2b(opened.seq.to_bytes(8, "little"), key=self._secret, digest_size=8).digest()
        coin = int.from_bytes(digest, "little") / 2**64
        # With certain outcomes this is the winner; a tie of unequal chances is a loss of information, not of fairness.
        if coin >= outcome.win + outcome.loss:
            return -1
        return 0 if coin < outcome.win else 1

    # -- learners ------------------------------------------------------------------------------------------------

    def _warm_learner(self, loop: Loop, key: str) -> Learner | None:
        number = self._numbers.get((loop.number, key))
        return None if number is None else self._warm.get(number)

    def _learner(self, loop: Loop, key: str) -> Learner:
        """The learner of a key: from memory, from the store, or a new one."""
        learner = self._warm_learner(loop, key)
        if learner is not None:
            if self._warm_size > self._memory:
                self._warm.move_to_end(learner.number)
            return learner
        with self._commit_lock:
            learner = self._warm_learner(loop, key)
            if learner is not None:
                return learner
            known = self._store.find_learner(loop.number, key)
            if known is None:
                known = next((new for new in self._new_learners if new[1:] == (loop.number, key)), None)
            learner = self._new(loop, key) if known is None else self._load(loop, known)
            with self._warm_lock:
                self._numbers[loop.number, key] = learner.number
                self._warm[learner.number] = learner
                self._warm_size += learner.size
            if self._warm_size > self._memory:
                self._pack_away()
            return learner

    def _new(self, loop: Loop, key: str) -> Learner:
        seed = (loop.settings.seed or 0) + loop.counts["keys"]
        self._last_learner += 1
        learner = new_learner(self._last_learner, key, loop.settings, seed, loop.catalogue)
        learner.session = self._sessions[-1][0] if self._sessions else 0
        with self._books:
            self._new_learners.append(KnownLearner(learner.number, loop.number, key))
            self._seq = seq = self._seq + 1
            body = pack_json({"loop": loop.number, "key": key, "seed": seed})
            self._rows.append(Entry(seq, self._now(), Kind.LEARNER, learner.number, None, body))
            loop.counts["keys"] += 1
            self._changed.add(loop.number)
        learner.applied = seq
        return learner

    def _load(self, loop: Loop, known: KnownLearner) -> Learner:
        """A learner as it was: its last snapshot, and what has happened since."""
        number = known.number
        learner = new_learner(number, known.key, loop.settings, None, loop.catalogue)
        snapshot = self._store.snapshot(number) or self._store.base(number)
        if snapshot is not None:
            learner.unpack(snapshot.state)
        if number in self._rebuild:
            self._flush()
            since: Iterable[Entry] = self._store.entries(learner.applied, learner=number)
        else:
            since = self._tail.get(number, ())
        for entry in since:
            if entry.seq > learner.applied:
                apply(learner, entry, self._sessions, self._choice_of, lambda v: self._names_of(v, number))
        self._rebuild.discard(number)
        self._tail.pop(number, None)
        return learner

    def _choice_of(self, impression: int) -> Choice:
        entry = self._store.entry(impression)
        if entry is None:
            entry = next(e for e in self._store.of_impressions(impression, impression) if e.kind == Kind.RECOVERED)
        return choice_in(entry)

    def _discard(self, learner: Learner) -> None:
        """Give up a learner in an unknown state: the journal has all that it takes to make it anew."""
        with self._warm_lock:
            learner.gone = True
            if self._warm.pop(learner.number, None) is not None:
                self._warm_size -= learner.size
            self._rebuild.add(learner.number)

    def _pack_away(self) -> None:
        """Pack learners that have not been used for longest, until the rest fits into memory again."""
        with self._commit_lock:
            target = int(self._memory * 0.9)
            while self._warm_size > target and len(self._warm) > 1:
                victims = []
                size = self._warm_size
                for learner in list(self._warm.values())[: max(1, min(PACKED_AT_ONCE, len(self._warm) - 1))]:
                    if size <= target:
                        break
                    if learner.lock.acquire(blocking=False):
                        victims.append(learner)
                        size -= learner.size
                if not victims:
                    return
                try:
                    packed = [self._snapshot(learner) for learner in victims if learner.applied > learner.packed]
                    self._flush(packed)
                    with self._warm_lock:
                        for learner in victims:
                            learner.gone = True
                            self._warm_size -= learner.size
                            self._warm.pop(learner.number, None)
                            self._numbers.pop((self._known(learner.number).loop, learner.key), None)
                finally:
                    for learner in victims:
                        learner.lock.release()

    @staticmethod
    def _snapshot(learner: Learner) -> Snapshot:
        state = learner.pack()
        return Snapshot(learner.number, learner.applied, state)

    def _known(self, number: int) -> KnownLearner:
        learner = self._warm.get(number)
        if learner is not None:
            for loop in self._by_number.values():
                if self._numbers.get((loop.number, learner.key)) == number:
                    return KnownLearner(number, loop.number, learner.key)
        known = self._store.learner(number) or next((new for new in self._new_learners if new.number == number), None)
        if known is None:
            raise StoreError(f"{self._store.name} has no learner {number}: it is damaged")
        return known

    def _loop_of(self, number: int) -> Loop | None:
        try:
            return self._by_number.get(self._known(number).loop)
        except StoreError:
            return None

    def _names_of(self, version: int, learner: int) -> tuple[str, ...]:
        """The names of a LIST entry."""
        names = self._versions.get(version)
        if names is None:
            entry = self._store.entry(version)
            if entry is not None:
                names = tuple(unpack_list(entry.body)[0])
            else:
                packed = self._store.snapshot(learner) or self._store.base(learner)
                names = () if packed is None else packed_names(packed.state, version)
            self._remember_version(version, names)
        return names

    def _remember_version(self, version: int, names: tuple[str, ...]) -> None:
        with self._books:
            self._versions[version] = names
            while len(self._versions) > 50_000:
                self._versions.popitem(last=False)

    # -- the journal ---------------------------------------------------------------------------------------------

    def _now(self) -> int:
        """Milliseconds; never earlier than before, whatever the clock does."""
        now = int(self._clock() * 1000)
        if now > self._time:
            self._time = now
        return self._time

    def _append(self, kind: int, learner: int, impression: int | None, body: bytes) -> int:
        now = self._now()
        with self._books:
            self._seq = seq = self._seq + 1
            self._rows.append(Entry(seq, now, kind, learner, impression, body))
        return seq

    def _commit(self, upto: int) -> None:
        """Return once all entries up to this one are durable. Whoever comes first writes for all who wait."""
        if self._durable >= upto and not self._rows:
            return
        with self._commit_lock:
            if self._durable < upto:
                self._flush()

    def _flush(self, snapshots: Sequence[Snapshot] = (), **marks: Any) -> None:
        """Write what is there, in one transaction; on failure everything stays as it is, to be written later."""
        with self._commit_lock:
            with self._books:
                batch = Batch(
                    entries=self._rows,
                    learners=self._new_learners,
                    snapshots=list(snapshots),
                    totals={number: self._totals(number) for number in self._changed},
                    **marks,
                )
                changed = self._changed
                self._rows, self._new_learners, self._changed = [], [], set()
            if self._unclean:
                batch.clean = False if batch.clean is None else batch.clean
            if not (batch.entries or batch.learners or batch.snapshots or batch.totals or marks):
                return
            try:
                self._store.write(batch)
            except BaseException:
                with self._books:
                    self._rows = batch.entries + self._rows
                    self._new_learners = batch.learners + self._new_learners
                    self._changed |= changed
                raise
            self._unclean = False
            if batch.entries:
                self._durable = batch.entries[-1].seq
            for snapshot in batch.snapshots:
                learner = self._warm.get(snapshot.learner)
                if learner is not None:
                    learner.packed = snapshot.seq

    def _totals(self, number: int) -> bytes:
        return pack_json(self._all if number == 0 else self._by_number[number].counts)

    def _checkpoint_all(self, *, clean: bool = False) -> None:
        """Pack every learner that has changed, so that a later start need not replay what happened until now."""
        with self._commit_lock:
            self._flush()
            upto = self._durable
            dirty = [learner for learner in list(self._warm.values()) if learner.applied > learner.packed]
            if clean:  # learners that nobody asked for since the last crash are brought up to date, too
                for number in list(self._tail):
                    known = self._store.learner(number)
                    if known is not None:
                        dirty.append(self._learner(self._by_number[known.loop], known.key))
        for start in range(0, len(dirty), PACKED_AT_ONCE):
            with self._commit_lock:
                packed = []
                for learner in dirty[start : start + PACKED_AT_ONCE]:
                    with learner.lock:
                        if not learner.gone and learner.applied > learner.packed:
                            packed.append(self._snapshot(learner))
                self._flush(packed)
        with self._commit_lock:
            self._flush()
            packed = []
            for loop in self._by_number.values():
                with self._books:
                    packed.append(Snapshot(-loop.number, self._durable, zlib.compress(loop.comparison.pack(), 1)))
            first, last = self._unloaded
            oldest = min(self._open, default=self._seq + 1) - 1
            cursor = min(first, oldest) if first < last else oldest
            if self._tail:
                upto = min(upto, self._written_checkpoint)
            self._flush(packed, checkpoint=upto, cursor=cursor, clean=clean or None)
            self._written_checkpoint = upto

    def attend(self) -> None:
        """What the background thread does between calls: write, close windows, pack learners."""
        if self._closing or self._forked:
            return
        if self._rows:
            self._flush()
        if self._unloaded[0] < self._unloaded[1]:
            self._load_open()
        self._close_due(1000)
        if self._warm_size > self._memory:
            self._pack_away()
        if self._durable - self._written_checkpoint > CHECKPOINT_EVERY:
            self._checkpoint_all()

    # -- what is known -------------------------------------------------------------------------------------------

    def status(self, loop: str | None = None) -> dict[str, Any]:
        """Counts of a loop and what it has found; of all loops if none is named."""
        self._ready()
        if loop is None:
            return {name: self.status(name) for name in self._loops}
        target = self._target(loop)
        self._close_due(None)
        settings = target.settings
        with self._books:
            counts = dict(target.counts)
        counts["unknown"] += self._all["unknown"]
        counts["foreign"] += self._all["foreign"]
        status: dict[str, Any] = {
            "loop": target.name,
            "kind": settings.kind,
            "policy": settings.policy,
            "mode": "paused" if settings.paused else settings.mode,
            "traffic": settings.traffic,
            **counts,
            "open": counts["impressions"] - counts["closed"],
            "unwritten": len(self._rows),
            "warm": len(self._warm),
        }
        if settings.kind == "evaluate":
            status |= self._standings(target)
        else:
            status["uplift"] = target.comparison.uplift()
        return status

    def _standings(self, target: Loop) -> dict[str, Any]:
        with self._with_learner(target, "") as learner:
            policy = learner.policy
            if policy is None:
                return {"survivors": list(target.settings.rankers), "winner": None, "best": None}
            names = learner.names
            gone = [i for i in range(len(names)) if policy.eliminated(i)]
            winner = policy.winner
            return {
                "survivors": [name for i, name in enumerate(names) if i not in gone],
                "winner": None if winner is None else names[winner],
                "best": names[policy.best],
            }

    def _with_learner(self, target: Loop, key: str) -> Any:
        return _Held(self, target, key)

    def best(self, loop: str, key: str = "") -> list[str]:
        """The list that looks best for a key now, with nothing shown for the sake of learning; or the best ranker."""
        target, key = self._of_key(loop, key)
        with self._with_learner(target, key) as learner:
            if learner.policy is None:
                raise ValueError(f"loop {loop!r} has shown nothing for {key!r} yet")
            return list(learner.best())

    def receipt(self, loop: str, key: str) -> Any:
        """What BubbleRank has decided for a key, on what evidence, and what is guaranteed."""
        target, key = self._of_key(loop, key)
        if target.settings.policy != "BubbleRank":
            raise ValueError(f"only BubbleRank gives a receipt; loop {loop!r} runs {target.settings.policy}")
        with self._with_learner(target, key) as learner:
            if learner.policy is None:
                raise ValueError(f"loop {loop!r} has shown nothing for {key!r} yet")
            return learner.policy.receipt()

    def revert(self, loop: str, key: str) -> None:
        """Set a key back to production's list, and forget all evidence; lists shown before are not learned from."""
        target, key = self._of_key(loop, key)
        with self._with_learner(target, key) as learner:
            seq = self._append(Kind.REVERT, learner.number, None, b"")
            learner.revert(seq)
            learner.applied = seq
        self._commit(seq)

    def _of_key(self, loop: str, key: str) -> tuple[Loop, str]:
        self._ready()
        target = self._target(loop)
        if key or target.settings.kind != "evaluate":
            check_name("key", key)
        if self._warm_learner(target, key) is None and self._store.find_learner(target.number, key) is None:
            new = any(known[1:] == (target.number, key) for known in self._new_learners)
            if not new:
                raise ValueError(f"loop {loop!r} has not been asked for key {_short(key)} yet")
        return target, key

    def put_items(self, loop: str, items: Mapping[str, Mapping[str, Any]]) -> None:
        """Give the features of items, new or changed, to a loop that diversifies.

        Each item has `relevance`, a list of numbers, and `topics`, from 0 to 1 for each topic, as the loop's settings say.
        """
        self._ready()
        target = self._target(loop, "diversify")
        assert target.catalogue is not None
        names, relevance, topics = self._check_features(target, items)
        body = {"loop": target.number, "names": names, "relevance": relevance, "topics": topics}
        with target.catalogue.lock:
            seq = self._append(Kind.ITEMS, 0, None, pack_json(body))
            target.catalogue.put(seq, names, relevance, topics)
        self._commit(seq)

    def _check_features(self, target: Loop, items: Any) -> tuple[list[str], list[list[float]], list[list[float]]]:
        settings = target.settings
        if not isinstance(items, Mapping) or not items:
            raise ValueError("put_items takes an object with the features of each item, such as {'a1': {...}}")
        widths = {"relevance": settings.relevance, "topics": len(settings.topics)}
        columns: dict[str, list[list[float]]] = {"relevance": [], "topics": []}
        for name, given in items.items():
            check_name("item", name)
            if not isinstance(given, Mapping):
                raise ValueError(f"item {_short(name)} needs an object with relevance and topics, not {given!r}")
            for word in given:
                one_of("feature", word, widths)
            for word, width in widths.items():
                try:
                    row = [float(value) for value in given.get(word, ())]
                except (TypeError, ValueError):
                    raise ValueError(f"{word} of item {_short(name)} must be numbers, not {given[word]!r}") from None
                if len(row) != width:
                    raise ValueError(f"{word} of item {_short(name)} must have {width} numbers, not {len(row)}")
                if not np.isfinite(row).all():
                    raise ValueError(f"{word} of item {_short(name)} must be finite numbers, not {row}")
                if word == "topics" and any(not 0 <= value <= 1 for value in row):
                    raise ValueError(f"topics of item {_short(name)} must lie between 0 and 1, not {row}")
                columns[word].append(row)
        probe = (np.array(columns["relevance"]).reshape(len(items), -1), np.array(columns["topics"]))
        settings.make_policy(0, features=(probe[0], probe[1].reshape(len(items), -1)))
        return list(items), columns["relevance"], columns["topics"]

    def warm_up(self) -> None:
        """Compile, or load from the cache, what the loops need, before traffic comes."""
        self._ready()
        for loop in self._loops.values():
            settings = loop.settings
            n = max(2, len(settings.rankers)) if settings.kind == "evaluate" else settings.positions
            policy = settings.make_policy(n)
            if hasattr(policy, "warm_up"):
                policy.warm_up()


class _Held:
    """A learner with its lock held."""

    def __init__(self, live: Live, loop: Loop, key: str) -> None:
        self._live, self._loop, self._key = live, loop, key

    def __enter__(self) -> Learner:
        while True:
            learner = self._live._learner(self._loop, self._key)
            learner.lock.acquire()
            if not learner.gone:
                self._learner = learner
                return learner
            learner.lock.release()

    def __exit__(self, *_: Any) -> None:
        self._learner.lock.release()


def _page(
    names: Sequence[str], items: Sequence[int], pins: Sequence[tuple[int, str]], positions: int
) -> list[str]:
    """What stands at each position: the policy's items in their order around the pinned ones."""
    if not pins:
        return [names[item] for item in items[:positions]]
    pinned = dict(pins)
    choice = Choice(0, 0, 0, tuple(items), (), False, tuple(pins))
    places = policy_positions(choice, positions)
    return [pinned[k] if place is None else names[items[place]] for k, place in enumerate(places)]


def _milliseconds(at: Any) -> int:
    if at is None:
        return 0
    if isinstance(at, bool) or not isinstance(at, int | float) or not abs(at) < 1e11:
        raise ValueError(f"at must be a time in seconds, not {at!r}")
    return int(at * 1000)


def _short(text: Any) -> str:
    return repr(text) if len(str(text)) <= 60 else repr(str(text)[:57] + "...")


def packed_names(state: bytes, version: int) -> tuple[str, ...]:
    """The names in a packed learner, if they are those of this version."""
    import json

    values = json.loads(zlib.decompress(state).partition(b"\n")[0])
    return tuple(values["names"]) if values["version"] == version else ()


def size(name: str, value: Any) -> int:
    """A number of bytes, from a number or a text such as "256 MB".

    >>> size("memory", "256 MB")
    256000000
    """
    units = {"kb": 1e3, "mb": 1e6, "gb": 1e9, "b": 1.0}
    if isinstance(value, str):
        number, unit = value.strip().lower().rstrip("bkmg "), value.strip().lower()[-2:].strip("0123456789. ")
        try:
            value = float(number) * units[unit]
        except (ValueError, KeyError):
            value = None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise ValueError(f'{name} must be a size such as "256 MB", not {value!r}')
    return int(value)


def open_store(store: str | Path | Store, *, read_only: bool = False) -> Store:
    """The store that a path or an address names."""
    if isinstance(store, Path) or (isinstance(store, str) and "://" not in store):
        if not str(store):
            raise ValueError("store must be a path or postgresql://..., not an empty text")
        from rankloop.live.sqlite import SQLiteStore

        return SQLiteStore(store, read_only=read_only)
    if isinstance(store, str):
        if store.split("://")[0] not in ("postgresql", "postgres"):
            raise ValueError(f"store must be a path or postgresql://..., not {store.split('://')[0]}://...")
        from rankloop.live.postgres import PostgresStore

        return PostgresStore(store, read_only=read_only)
    return store


def _mark_forked(reference: weakref.ref[Live]) -> None:
    live = reference()
    if live is not None:
        live._forked = True


def _attend(reference: weakref.ref[Live], wake: threading.Event) -> None:
    """The background thread: it ends when its Live does."""
    pause = FLUSH_EVERY
    while not wake.wait(pause):
        live = reference()
        if live is None or live._closing or live._forked:
            return
        try:
            live.attend()
            pause = FLUSH_EVERY
        except StoreLost as error:
            logger.warning("%s", error)
            pause = min(2.0, pause * 2)
        except Exception:
            logger.exception("the background thread goes on after an error")
            pause = min(2.0, pause * 2)
        del live


__all__ = ["POLICIES", "Live"]
