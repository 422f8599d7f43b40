"""How a key came to be what it is: its journal replayed, a bounded time with each look, and what changed on the way."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from rankloop.live.entries import CLICK, Entry, Kind
from rankloop.live.learner import Learner
from rankloop.live.learner_kinds import DuelLearner, FeatureLearner, ListLearner
from rankloop.live.live import Live
from rankloop.live.replay import Replay
from rankloop.live.stores import Store, StoreError
from rankloop.live.views.key import attractions
from rankloop.live.views.view_cache import Looking, known_key, looking_at

SECONDS = 0.15
"""How long one look may replay: some 4,000 lists, so that 10,000 of them take three looks."""
LASTING = 30
"""Lists in a row, learned from, for which another item must look best before that counts as a change."""
DRAWN_FROM = 20
"""Lists that must have been learned from before attractions are told over time: those of fewer are mostly chance."""
CHANGES = 100
"""Changes that are remembered."""
POINTS = 240
"""Points of a series; beyond, each two become one."""
ITEMS = 20
"""Items whose attraction is told over time."""
WATCHED = 50
"""Items whose attraction is remembered at each point."""
SCANNED = 500_000
"""Numbers of entries among which one query looks for those of a key."""
KEYS = 16
"""Keys whose replay is kept, to go on with."""


def history(live: Live, loop: str, key: str) -> dict[str, Any]:
    """What happened to a key so far; poll again while its progress is not complete.

    Parameters
    ----------
    live
        The open `Live`.
    loop
        Name of the loop.
    key
        The key; ValueError if the loop has not been asked for it.
    """
    target = live._loops.named(loop)
    known = known_key(live, target, key)
    looking = looking_at(live)
    replayed = _replayed(looking, known.number)
    with replayed.lock:
        try:
            replayed.advance(live)
        except StoreError:
            raise
        except Exception:  # such as where entries are removed meanwhile: it begins anew
            looking.histories.pop(known.number, None)
            raise StoreError(f"the journal of key {key[:80]!r} changed while it was read: ask again") from None
        return {"loop": loop, "key": key, "kind": target.settings.kind, **replayed.to_json()}


def _replayed(looking: Looking, learner: int) -> KeyHistory:
    trimmed = looking.live._impressions.trimmed
    with looking.lock:
        found: KeyHistory | None = looking.histories.get(learner)
        if found is None or found.done < trimmed:
            found = looking.histories[learner] = KeyHistory(looking.following.store, learner, trimmed)
        looking.histories.move_to_end(learner)
        while len(looking.histories) > KEYS:
            looking.histories.popitem(last=False)
        return found


@dataclass
class Rival:
    """An item that looks better than the one that has looked best for long."""

    item: str
    since: Entry
    upto: int
    """Impressions before it did."""
    lists: int = 0
    """Lists in a row that were learned from since, and did not change that."""


class KeyHistory:
    """One learner replayed as far as there has been time.

    Parameters
    ----------
    store
        The store.
    learner
        Number of the learner.
    trimmed
        Number of the entry up to which entries have been removed.
    """

    def __init__(self, store: Store, learner: int, trimmed: int) -> None:
        self.lock = threading.Lock()
        self._replay = Replay(store, trimmed, trimmed, only=learner)
        self._learner: Learner | None = None
        self._complete = False
        self._entries = self._learned = 0
        self._clicked = bytearray()
        """Of each impression, in their order, whether it has been clicked."""
        self._open: dict[int, int] = {}
        """The place of each open impression in that order."""
        self._since: int | None = None
        self._upto: int | None = None
        self._names: tuple[str, ...] = ()
        self._first: str | None = None
        """The item that has looked best for long enough to count."""
        self._rival: Rival | None = None
        self._changes: deque[dict[str, Any]] = deque(maxlen=CHANGES)
        self._n_changes = 0
        self._points: list[dict[str, Any]] = []
        self._stride = 1
        """Impressions between two points, at least."""

    @property
    def done(self) -> int:
        """Number of the entry up to which everything has been replayed."""
        return self._replay.done

    def advance(self, live: Live, seconds: float = SECONDS) -> None:
        """Replay for so long, or up to the end."""
        end, last = time.monotonic() + seconds, live.durable
        self._replay.store = live.reader
        if not live._upkeep.reading.acquire(timeout=seconds):
            return  # a verification, say: what is known already will do
        try:
            while self.done < last:
                for entry, replayed, _ in self._replay.through(min(self.done + SCANNED, last)):
                    if replayed is not None:
                        self._learner = replayed.learner
                        self._see(entry, replayed.learner)
                    if time.monotonic() > end:
                        self._complete = False
                        return
            self._complete = True
        finally:
            live._upkeep.reading.release()

    def _see(self, entry: Entry, learner: Learner) -> None:
        self._entries += 1
        self._since = entry.at if self._since is None else self._since
        self._upto = entry.at
        if entry.kind in (Kind.CHOICE, Kind.RECOVERED):
            if self._impressions - (self._points[-1]["upto"] if self._points else 0) >= self._stride:
                self._add_point(learner)
            self._open[entry.seq if entry.kind == Kind.CHOICE else entry.impression or 0] = self._impressions
            self._clicked.append(0)
        elif entry.kind == Kind.EVENT:
            place = self._open.get(entry.impression or 0)  # none if it began before the journal does
            if place is not None and entry.body[0] == CLICK:
                self._clicked[place] = 1
        else:
            self._see_change(entry, learner)

    def _see_change(self, entry: Entry, learner: Learner) -> None:
        if entry.kind == Kind.CLOSE:
            self._open.pop(entry.impression or 0, None)
        if learner.policy is None:
            return
        if entry.kind == Kind.LIST:
            self._see_list(entry, learner)
        elif entry.kind == Kind.REVERT:
            self._change(entry, learner, "reverted")
            self._begin_anew(learner)
        elif entry.kind == Kind.CLOSE and learner.applied == entry.seq:
            self._see_learned(entry, learner)

    def _see_list(self, entry: Entry, learner: Learner) -> None:
        before, self._names = self._names, learner.names
        if before and not isinstance(learner, FeatureLearner):  # there candidates change from list to list
            added = [name for name in learner.names if name not in before]
            removed = [name for name in before if name not in learner.names]
            self._change(entry, learner, "listed", added=added, removed=removed)
        self._begin_anew(learner)

    def _begin_anew(self, learner: Learner) -> None:
        """Whatever looks best now is what a change is measured against."""
        self._first = learner.best()[0] if _follows(learner) else None
        self._rival = None

    def _see_learned(self, entry: Entry, learner: Learner) -> None:
        self._learned += 1
        news = learner.news()
        if news is not None:
            for better, worse in news.pairs:
                names: dict[str, Any] = {"raised": learner.names[better], "lowered": learner.names[worse]}
                if isinstance(learner, DuelLearner):
                    kind = "eliminated" if better != worse else "winner"
                    self._change(entry, learner, kind, **names)
                else:
                    self._change(entry, learner, "exchange", **names, **_evidence(learner, better, worse))
        elif _follows(learner):
            self._see_first(entry, learner)

    def _see_first(self, entry: Entry, learner: Learner) -> None:
        """Look whether another item looks best, and has done so for long enough; it is told from when on it did."""
        item = learner.best()[0]
        if item == self._first:
            self._rival = None
            return
        if self._rival is None or self._rival.item != item:
            self._rival = Rival(item, entry, self._impressions)
        self._rival.lists += 1
        if self._rival.lists < LASTING:
            return
        known = {name: each["attraction"] for name, each in zip(learner.names, attractions(learner), strict=False)}
        compared = [known.get(item), known.get(self._first or "")]
        names: dict[str, Any] = {"raised": item, "lowered": self._first}
        self._change(self._rival.since, learner, "first", self._rival.upto, **names, attractions=compared)
        self._first, self._rival = item, None

    def _change(self, entry: Entry, learner: Learner, kind: str, upto: int | None = None, **more: Any) -> None:
        self._n_changes += 1
        best = [] if isinstance(learner, FeatureLearner) else learner.best()
        place = self._impressions if upto is None else upto
        self._changes.append({"at": entry.at / 1000, "kind": kind, **more, "best": best, "upto": place})

    def _add_point(self, learner: Learner) -> None:
        """Note where things stand."""
        self._points.append(self._point(learner))
        if len(self._points) > POINTS:
            self._points = self._points[1::2]
            self._stride *= 2

    def _point(self, learner: Learner) -> dict[str, Any]:
        point: dict[str, Any] = {"at": (self._upto or 0) / 1000, "upto": self._impressions}
        if learner.policy is not None and isinstance(learner, ListLearner):
            known = zip(learner.names, attractions(learner)[:WATCHED], strict=False)
            is_drawn = self._learned >= DRAWN_FROM
            point["items"] = {name: each["attraction"] if is_drawn else None for name, each in known}
        elif learner.policy is not None and isinstance(learner, FeatureLearner):
            point["topics"] = learner.policy.theta.tolist()
        return point

    @property
    def _impressions(self) -> int:
        return len(self._clicked)

    def _traffic(self, one: int, other: int) -> dict[str, int]:
        """The impressions from one place in their order up to another."""
        return {"impressions": other - one, "clicked": self._clicked.count(1, one, other)}

    def to_json(self) -> dict[str, Any]:
        """What was found so far."""
        changes = []
        ends = [0, *(each["upto"] for each in self._changes), self._impressions]
        for n, each in enumerate(self._changes):
            told = {word: value for word, value in each.items() if word != "upto"}
            told["before"] = self._traffic(ends[n], ends[n + 1]) if n or self._n_changes <= CHANGES else None
            changes.append({**told, "after": self._traffic(ends[n + 1], ends[n + 2])})
        times = [None if at is None else at / 1000 for at in (self._since, self._upto)]
        return {
            "progress": {"complete": self._complete, "entries": self._entries, "since": times[0], "upto": times[1]},
            "changes": changes,
            "dropped": self._n_changes - len(changes),
            "series": self._series(),
        }

    def _series(self) -> dict[str, Any]:
        learner, points = self._learner, list(self._points)
        if learner is not None:
            points.append(self._point(learner))
        names: list[str] = []
        topics: Sequence[str] = ()
        if learner is not None and learner.policy is not None and points[-1].get("items"):
            now = points[-1]["items"]
            names = [name for name in dict.fromkeys([*learner.best(), *now]) if name in now][:ITEMS]
        if isinstance(learner, FeatureLearner) and learner.policy is not None and len(learner.policy.theta):
            topics = learner.settings.topics
        counts = [self._traffic(*pair) for pair in pairwise([0, *(point["upto"] for point in points)])]
        return {
            "at": [point["at"] for point in points],
            **{word: [each[word] for each in counts] for word in ("impressions", "clicked")},
            "items": [
                {"item": name, "attraction": [point.get("items", {}).get(name) for point in points]} for name in names
            ],
            "topics": [
                {"topic": topic, "weight": [point["topics"][i] if "topics" in point else None for point in points]}
                for i, topic in enumerate(topics)
            ],
        }


def _follows(learner: Learner) -> bool:
    """Whether a learner's best list changes without a decision that would be news."""
    return isinstance(learner, ListLearner) and not hasattr(learner.policy, "n_decisions")


def _evidence(learner: Learner, better: int, worse: int) -> dict[str, Any]:
    """What BubbleRank knew of two items when it exchanged them."""
    state = learner.policy.state
    n = int(state.duels[better, worse])
    needs = 2 * math.sqrt(n * float(state.log_inverse_delta[0]))
    return {"lead": int(state.lead[better, worse]), "of": n, "needs": needs}
