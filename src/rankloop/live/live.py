"""The loop with real users in it: lists out, clicks in, learned exactly once, all of it in a journal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from rankloop.live.entries import Entry, Kind, pack_json
from rankloop.live.loop_answers import LoopAnswers
from rankloop.live.loop_items import check_items_with_features
from rankloop.live.names import check_name, check_names
from rankloop.live.pages import Pins, check_pinned
from rankloop.live.settings import Settings
from rankloop.live.shown import LiveDuel, Shown
from rankloop.live.tokens import Foreign, Unknown
from rankloop.wording import shorten


class Live(LoopAnswers):
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

    # -- loops ---------------------------------------------------------------------------------------------------

    def create(self, loop: str, *, kind: str, **settings: Any) -> None:
        """Create a loop; nothing happens if it is there with the same settings.

        The settings are those of `rankloop.live.Settings`, and all have defaults; parameters of the policy may stand
        among them.
        """
        self._check_writable()
        self._create(loop, Settings.checked(kind=kind, **settings), settings)
        self._journal.commit(self._journal.seq)

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

    def withdraw(self, impression: str) -> None:
        """Say that a list will not be shown to anybody: nothing is learned from it."""
        self._check_writable()
        found, _, _ = self._hearing.find(impression)
        if found is not None:
            self._impressions.withdraw(found)

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

    # -- loops that several workers share ------------------------------------------------------------------------

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
