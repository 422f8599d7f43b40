"""The live loop for a thread that must not wait, such as an event loop: what can be answered from memory, at once.

Every method either does what `Live` does, or says that it would have to wait for the store or for a lock: the caller
then asks `Live` itself in another thread. Nothing here waits for a disk.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rankloop.live.live import Live
from rankloop.live.loops import count
from rankloop.live.names import check_name, check_names
from rankloop.live.pages import Pins, check_pinned, page_of
from rankloop.live.shown import Shown

CLOSED_AT_ONCE = 2
"""Impressions whose windows have passed that a list closes on the way: more than begin meanwhile."""


class Prompt:
    """Answers from memory.

    Parameters
    ----------
    live
        The open `Live` that it answers for.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with Live(pathlib.Path(tempfile.mkdtemp()) / "shop.db") as live:
    ...     live.create("search", kind="rerank")
    ...     prompt = Prompt(live)
    ...     first = prompt.rank("search", "laptop", ["sku-9", "sku-2"])  # the key is new, which must be written first
    ...     shown = live.rank("search", "laptop", ["sku-9", "sku-2"])
    ...     again = prompt.rank("search", "laptop", ["sku-9", "sku-2"])
    ...     fate = prompt.take({"impression": again.id, "item": "sku-2"})
    ...     live.commit(live.last)  # only now may anybody be told
    >>> first is None, sorted(again.items), fate
    (True, ['sku-2', 'sku-9'], 'accepted')
    """

    def __init__(self, live: Live) -> None:
        self._live = live
        self._loops, self._learners, self._journal = live._loops, live._learners, live._journal
        self._showing, self._hearing = live._showing, live._hearing
        self._impressions = live._impressions

    def rank(
        self, loop: str, key: str, items: Sequence[str], *, user: str | None = None,
        pinned: Mapping[int, str] | None = None, deferred: bool = False,
    ) -> Shown | None:  # fmt: skip
        """The list to show, as `Live.rank` answers; None if that would have to wait."""
        target = self._loops.by_name.get(loop)
        if target is None or target.items is not None or self._live.over or not items:
            return None
        learner = self._learners.warm(target, key)
        if learner is None or not 0 < learner.version <= self._journal.durable:
            return None
        self._impressions.close_at_hand(target, CLOSED_AT_ONCE)
        names: tuple[str, ...] = learner.names
        pins: Pins = ()
        if pinned or list(names) != items:
            given, pins = check_pinned(check_names("items", items), pinned)
            if given != names:
                return None
        if len(names) < 2 or not learner.lock.acquire(blocking=False):
            return None
        try:
            if learner.gone:
                return None
            if user is not None:
                check_name("user", user)
            try:
                self._showing.check_room()
                return self._showing.show(target, learner, names, user, pins, deferred)[0]
            except Exception as error:
                return self._showing.fall_back(target, key, names, pins, error)
        finally:
            learner.lock.release()

    def fall_back(
        self, loop: str, key: str, items: Sequence[str], *, pinned: Mapping[int, str] | None = None, reason: str
    ) -> Shown:
        """Production's list, where the caller cannot wait for `Live.rank`."""
        target = self._loops.named(loop)
        names, pins = check_pinned(check_names("items", items), pinned)
        count(self._journal, target, "fallbacks")
        page = page_of(names, range(len(names)), pins, target.settings.positions)
        return Shown("", page, loop, key, "fallback", reason=reason)

    def take(self, given: Mapping[str, Any], loops: Collection[str] | None = None) -> str | None:
        """What becomes of an event, as `Live.events` says; None if that would have to wait.

        An event that is accepted is in the journal, and may be acknowledged once `Live.commit` has written it.

        Parameters
        ----------
        given
            The event, as a client sends it.
        loops
            Names of the loops that the client may speak of; events of others are unknown. All if not given.
        """
        return self._hearing.take_at_once(given, loops)

    def take_many(self, batch: Sequence[Any], loops: Collection[str] | None = None) -> list[str | None]:
        """The same for several events; one that makes no sense gets "invalid: " and the reason."""
        return self._hearing.take_some_at_once(batch, loops)

    @property
    def lag(self) -> float:
        """Seconds by which closing impressions, and learning from them, is behind."""
        return self._impressions.lag

    @property
    def since_checkpoint(self) -> tuple[int, float]:
        """Entries and seconds since all learners were last written."""
        return self._live._upkeep.since_checkpoint
