"""The live loop for a thread that must not wait, such as an event loop: what can be answered from memory, at once.

Every method either does what `Live` does, or says that it would have to wait for the store or for a lock: the caller
then asks `Live` itself in another thread. Nothing here waits for a disk.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rankloop.live.entries import unpack_choice
from rankloop.live.events import check_event
from rankloop.live.impressions import Impression
from rankloop.live.live import Live
from rankloop.live.loops import count
from rankloop.live.pages import Pins, check_pinned, page_of
from rankloop.live.settings import check_name, check_names
from rankloop.live.shown import Shown
from rankloop.live.tokens import said_number
from rankloop.wording import shorten


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
        if target is None or target.catalogue is not None or self._live.over or not items:
            return None
        learner = self._learners.warm(target, key)
        if learner is None or not 0 < learner.version <= self._journal.durable:
            return None
        names: tuple[str, ...] = learner.names
        pins: Pins = ()
        if pinned or list(names) != items:
            names, pins = check_pinned(check_names("items", items), pinned)
            if names != learner.names:
                return None
        if len(names) < 2 or not learner.lock.acquire(blocking=False):
            return None
        try:
            if learner.gone:
                return None
            if user is not None:
                check_name("user", user)
            try:
                return self._showing.rank(target, key, names, user, pins, deferred, close=0)
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
        ready = self._ready(given, loops)
        if ready and ready != "unknown":
            return self._hearing.take_all(given)
        return ready

    def take_many(self, batch: Sequence[Any], loops: Collection[str] | None = None) -> list[str | None]:
        """The same for several events; one that makes no sense gets "invalid: " and the reason."""
        fates: list[str | None] = []
        for given in batch:
            try:
                fates.append(self._ready(given, loops))
            except ValueError as error:
                fates.append(f"invalid: {error}")
        places = [place for place, fate in enumerate(fates) if fate == "ready"]
        taken = self._hearing.take_many(batch[place] for place in places)
        for place, fate in zip(places, taken, strict=True):
            fates[place] = fate
        return fates

    def _ready(self, given: Any, loops: Collection[str] | None) -> str | None:
        """ "ready" if an event can be taken at once, "unknown" if it concerns a loop of others, None otherwise."""
        if not isinstance(given, Mapping):
            raise ValueError(f"an event is an object with an impression and an item, not {shorten(given)}")
        seq = said_number(given.get("impression"))
        if seq is None:  # what is no id at all is found out without looking anywhere
            return "ready"
        impression = self._impressions.in_memory(seq)
        if impression is None or not self._at_hand(impression):
            return None
        if loops is not None and impression.loop.name not in loops:
            check_event(given)
            self._hearing._count_stray("unknown", None)
            return "unknown"
        return "ready"

    @property
    def lag(self) -> float:
        """Seconds by which closing impressions, and learning from them, is behind."""
        return self._impressions.lag

    @property
    def since_checkpoint(self) -> tuple[int, float]:
        """Entries and seconds since all learners were last written."""
        return self._live._upkeep.since_checkpoint

    def _at_hand(self, impression: Impression) -> bool:
        """Whether an event about it can be joined without closing or reading anything."""
        if self._journal.now() >= impression.deadline:
            return False
        return impression.page is not None or self._learners.remembers(unpack_choice(impression.body).version)
