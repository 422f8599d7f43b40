"""The loop with real users in it: lists out, clicks in, learned exactly once, all of it in a journal."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Self

from rankloop.checks import check_known, parse_duration, parse_size
from rankloop.live.choosing import Showing
from rankloop.live.entries import Entry, Kind, pack_json
from rankloop.live.event_joining import Hearing
from rankloop.live.explain import LiveExplanation, explain
from rankloop.live.export import rows, write_table
from rankloop.live.impressions import Impressions
from rankloop.live.journal import Journal
from rankloop.live.learner_cache import WarmLearners
from rankloop.live.loop_items import check_items_with_features
from rankloop.live.loops import Loop, Loops
from rankloop.live.names import check_name, check_names
from rankloop.live.opening import open_store
from rankloop.live.pages import Pins, check_pinned
from rankloop.live.settings import Settings, read_config
from rankloop.live.shown import LiveDuel, Shown
from rankloop.live.stores import Store, StoreError
from rankloop.live.tokens import Foreign, Signer, Unknown
from rankloop.live.upkeep import Upkeep, attend
from rankloop.live.verify import Verification, Verifier
from rankloop.policies import SafetyReceipt
from rankloop.wording import shorten


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
        Bytes that learners and open impressions may take in memory, such as `"256 MB"`; beyond, those not used for
        longest leave it, and come back from the store.
    keep
        How long the journal is kept, such as `"90 days"`; for ever if not given.
    background
        Whether a thread writes, closes windows and packs learners between calls; without it, `attend` does.
    read_only
        Whether the store is only read, beside a program that writes: at what it has written so far.

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
            check_known(f"setting of [live] in {config}", word, ("memory", "keep"))
        kept = None if told["keep"] is None else parse_duration("keep", told["keep"])
        room = parse_size("memory", told["memory"])
        checked = {name: Settings.checked(**loop) for name, loop in declared.get("loops", {}).items()}
        self._closed = self._forked = False
        self._reader: Store | None = None
        self._read_only = read_only
        self._loops = Loops()
        self._store = open_store(store, read_only=read_only)
        try:
            self._journal = Journal(self._store, clock, self._loops.totals)
            self._signer = Signer(self._journal.header.store, self._journal.header.secret)
            self._learners = WarmLearners(self._journal, self._loops, int(0.8 * room))
            self._impressions = Impressions(self._journal, self._loops, self._learners, int(0.2 * room))
            parts = (self._journal, self._loops, self._learners, self._impressions)
            self._showing = Showing(*parts, self._signer)
            self._hearing = Hearing(*parts, self._signer)
            self._upkeep = Upkeep(*parts, kept)
            self._upkeep.begin(read_only=read_only)
            for name, settings in checked.items():
                self._create(name, settings, declared["loops"][name])
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
            self._thread = threading.Thread(target=attend, args=(mine, self._wake), daemon=True, name="rankloop")
            self._thread.start()

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
        with self._journal.writing:
            if self._reader is not None:
                self._reader.close()
        try:
            if not self._read_only:
                self._upkeep.checkpoint(clean=True)
        finally:
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def over(self) -> bool:
        """Whether it has been closed, belongs to the process that this one was forked from, or lost its store."""
        return self._closed or self._forked or self._journal.ended is not None

    def _check_writable(self) -> None:
        self._check_usable()
        if self._read_only:
            raise StoreError(f"{self._store.name} was opened read-only: nothing can be changed or shown from here")

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
        self._create(loop, Settings.checked(kind=kind, **settings), settings)
        self._journal.commit(self._journal.seq)

    def _create(self, name: str, settings: Settings, stated: Collection[str]) -> None:
        check_name("the name of a loop", name)
        with self._journal.writing:
            known = self._loops.by_name.get(name)
            if known is not None:
                known.check_same(settings, stated)
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
        assert target.items is not None
        names, relevance, topics = check_items_with_features(target.settings, items)
        body = {"loop": target.number, "names": names, "relevance": relevance, "topics": topics}
        with target.items.lock:
            seq = self._journal.add(Kind.ITEMS, 0, None, pack_json(body))
            target.items.put(seq, names, relevance, topics)
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
        names = () if warm is None else warm.names  # once: another thread may give it another list
        if not names or pinned or list(names) != items:
            names, pins = check_pinned(check_names("items", items), pinned)
            if target.items is not None:
                target.items.check(target.name, names)
        try:
            return self._showing.rank(target, key, names, user, pins, deferred)
        except Exception as error:
            return self._showing.fall_back(target, key, names, pins, error)

    def shown(self, impression: str) -> str:
        """Say that a deferred list has been shown: its window begins now."""
        return self._tell({"impression": impression, "type": "shown"})

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
        return self._showing.duel(target, key, user)

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

        def following() -> Shown:
            return self.interleave(duel, lists, positions=positions)

        return self._showing.interleave(duel, impression, lists, positions, following)

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
        return self._tell({"impression": impression, "item": item, "seen": seen, "at": at, "id": event})

    def seen(self, impression: str, positions: int) -> str:
        """Tell that the first positions of an impression came into view, and no more; the largest number counts."""
        return self._tell({"impression": impression, "type": "seen", "seen": positions})

    def events(self, batch: Iterable[Mapping[str, Any]]) -> list[str]:
        """Tell of many events at once, objects with `impression`, `item` and, if known, `type`, `id`, `at`, `seen`.

        What became of each comes back in the same order. All that was accepted has been written for good when the call
        returns; an event that makes no sense gets "invalid: " and the reason, and does not keep the others back.
        """
        self._check_writable()
        if isinstance(batch, str | bytes | Mapping) or not isinstance(batch, Iterable):
            raise ValueError(f"events are given as a list of objects, not {shorten(batch)}")
        fates = self._hearing.take_many(batch)
        self._journal.commit(self._journal.seq)
        return fates

    def _tell(self, event: Mapping[str, Any]) -> str:
        self._check_writable()
        fate = self._hearing.take_all(event)
        self._journal.commit(self._journal.seq)
        return fate

    def finish(self, impression: str, *, seen: int | None = None) -> str:
        """Close an impression before its window has passed, and learn from it now."""
        self._check_writable()
        if seen is not None:
            self.seen(impression, seen)
        found, trouble, _ = self._hearing.find(impression)
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
            seq = self._journal.add_to(learner, Kind.REVERT, b"")
            try:
                learner.revert(seq)
            except BaseException:
                self._learners.discard(learner)
                raise
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
        with self._upkeep.reading:
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
        with self._upkeep.reading:
            return explain(self.reader, self._impressions.trimmed, self._journal.durable, ticket)

    def export(self, path: str | Path, progress: Callable[[int], None] | None = None) -> int:
        """Write the whole journal to a file, `.jsonl` or `.parquet`; the number of rows."""
        return write_table(self.rows(), path, progress)

    def rows(self) -> Iterator[dict[str, Any]]:
        """The whole journal as mappings from column to value."""
        self._check_usable()
        self._journal.flush()
        with self._upkeep.reading:
            yield from rows(self._store, self._journal.durable)

    # -- for programs that serve others ---------------------------------------------------------------------------

    @property
    def last(self) -> int:
        """Number of the last entry of the journal, which may not be durable yet."""
        return self._journal.seq

    @property
    def durable(self) -> int:
        """Number of the entry up to which the journal has been written for good."""
        return self._journal.durable

    def commit(self, upto: int) -> None:
        """Return once the journal has been written for good up to this entry."""
        self._check_writable()
        self._journal.commit(upto)

    @property
    def adopted(self) -> int:
        """Number of the last change that was taken over from what several workers share."""
        return self._loops.adopted

    def adopt(self, version: int, kind: int, body: dict[str, Any]) -> None:
        """Take over a change of loops that all partitions of a store take over, once; it is not durable yet."""
        self._check_writable()
        with self._journal.writing:
            if version <= self._loops.adopted:
                return
            content = pack_json({**body, "adopted": version})
            loop = self._loops.by_number.get(body.get("loop", 0))
            with nullcontext() if loop is None or loop.items is None else loop.items.lock:
                seq = self._journal.add(kind, 0, None, content)
                self._loops.take(Entry(seq, 0, kind, 0, None, content))

    def withdraw(self, impression: str) -> None:
        """Say that a list will not be shown to anybody: nothing is learned from it."""
        self._check_writable()
        found, _, _ = self._hearing.find(impression)
        if found is not None:
            self._impressions.withdraw(found)

    def loop_of(self, impression: str) -> str | None:
        """The name of the loop that an impression belongs to; None if it is none of this store's."""
        self._check_usable()
        try:
            loop = self._impressions.loop_of(self._signer.read(impression).learner)
        except (Unknown, Foreign):
            return None
        return None if loop is None else loop.name

    def settings(self, loop: str) -> Settings:
        """What a loop was told."""
        return self._loops.named(loop).settings

    def comparison(self, loop: str) -> bytes:
        """The packed counts of the comparison between a loop and its holdout."""
        target = self._loops.named(loop)
        with self._journal.lock:
            return target.comparison.pack()

    @property
    def mark(self) -> bytes:
        """Four bytes that stand in every id of this store, or of this partition of one."""
        return self._journal.header.store

    @property
    def store(self) -> Store:
        """Where the journal is kept."""
        return self._store

    @property
    def reader(self) -> Store:
        """The store read-only, over a connection of its own: nobody who writes waits for a long look."""
        self._check_usable()
        if self._read_only:
            return self._store
        with self._journal.writing:
            self._check_usable()
            if self._reader is None:
                reader = self._store.reader()
                reader.open()
                self._reader = reader
            return self._reader

    # -- looking after itself ------------------------------------------------------------------------------------

    def attend(self, *, pause: float = 0.0) -> None:
        """Write, close windows and pack learners, as the background thread does between calls.

        Parameters
        ----------
        pause
            Seconds to wait between parts of the work, in which other threads get on; what others are writing anyway is
            then left to them.
        """
        self._check_writable()
        self._upkeep.attend(pause)

    def trim(self) -> int:
        """Remove entries that are older than the journal is kept; the number of the last one removed.

        Learners are replayed up to there first, so that the journal that is left can still be verified whole.
        """
        self._check_writable()
        return self._upkeep.trim()

    def warm_up(self) -> None:
        """Compile what the loops need, or load it from the cache, before traffic comes."""
        self._check_usable()
        for loop in self._loops:
            loop.settings.warm_up()


def _mark_forked(reference: weakref.ref[Live]) -> None:
    live = reference()
    if live is not None:
        live._forked = True
