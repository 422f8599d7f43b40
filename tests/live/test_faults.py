"""Fault injection: every write of a scripted day fails once, in three ways, at every point.

The call raises or answers production's list; afterwards the state equals replay, nothing acknowledged is lost, and
nothing is learned twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from live_world import (
    Clock,
    MakeStore,
    Told,
    check_whole,
    close_all,
    crash,
    in_journal,
    open_live,
    room_for,
    sequence_of,
)

import rankloop as rl
from rankloop.live.sqlite import SQLiteStore
from rankloop.live.stores import Batch, Store, StoreError, StoreLost

ITEMS = ["a", "b", "c", "d"]
BEFORE, AFTER, LASTING = "before", "after", "lasting"
"""A write fails before it takes place; it takes place, but the answer is lost; or it and the next two fail."""


class Faulty:
    """A store whose nth write fails."""

    def __init__(self, inner: Store, how: str, nth: int) -> None:
        self._inner, self._how, self._nth = inner, how, nth
        self.writes = self.failures = 0
        self.name = inner.name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def write(self, batch: Batch) -> None:
        self.writes += 1
        late = self.writes - self._nth
        if late == 0 or (self._how == LASTING and 0 < late < 3):
            self.failures += 1
            if self._how == AFTER:
                self._inner.write(batch)
                raise StoreLost("the connection was lost before an answer came")
            raise StoreLost("the disk is full")
        self._inner.write(batch)


READS = ("entries", "entry", "of_impressions", "find_learner", "learner", "snapshot", "base")


class Unreadable(Faulty):
    """A store whose nth question is not answered, nor are some of the next."""

    def __init__(self, inner: Store, how: str, nth: int) -> None:
        super().__init__(inner, how, 0)
        self.reads, self._unread = 0, nth

    def __getattr__(self, name: str) -> Any:
        asked = getattr(self._inner, name)
        if name not in READS:
            return asked

        def answer(*args: Any, **kwargs: Any) -> Any:
            self.reads += 1
            late = self.reads - self._unread
            if late == 0 or (self._how == LASTING and 0 < late < 3):
                self.failures += 1
                raise StoreLost("the connection was lost")
            return asked(*args, **kwargs)

        return answer


class Day:
    """A scripted day, whose steps may fail; what was acknowledged is kept."""

    def __init__(self, make: MakeStore, clock: Clock) -> None:
        self.make, self.clock = make, clock
        self.acknowledged: set[tuple[int, int]] = set()
        self.fallbacks = self.failures = 0
        self.ids: list[tuple[str, list[str]]] = []

    def run(self, store: Faulty) -> rl.Live | None:
        try:
            live = open_live(lambda: store, self.clock, memory=room_for(2))
        except StoreLost:
            self.failures += 1
            store._inner.close()
            return None
        self.attempt(lambda: live.create("search", kind="rerank", positions=3, window=60, holdout=0.0, seed=1))
        self.attempt(lambda: live.create("rankers", kind="evaluate", rankers=["p", "q"], window=60, seed=2))
        for turn, key in enumerate(["one", "two", "one", "three"]):
            self.rank(live, key, ITEMS if turn < 2 else ["b", "a", "x", "d"], deferred=turn == 1)
            self.attempt(live.attend)
            self.click_all(live)
        self.duel(live)
        self.attempt(lambda: live.revert("search", "one"))
        self.rank(live, "one", ITEMS)
        self.attempt(lambda: live.pause("search"))
        self.rank(live, "two", ITEMS)
        self.attempt(lambda: live.resume("search"))
        self.attempt(live._upkeep.checkpoint)
        if self.ids:
            self.attempt(lambda: live.finish(self.ids[0][0]))
        self.rank(live, "two", ITEMS)
        self.clock.now += 61
        self.attempt(live.attend)
        self.rank(live, "one", ITEMS)
        self.click_all(live)
        return live

    def attempt(self, call: Callable[[], Any]) -> Any:
        """A call that may fail because the store is away, and is then made again, as clients do."""
        try:
            return call()
        except StoreLost:
            self.failures += 1
        try:
            return call()
        except StoreLost:
            return None

    def rank(self, live: rl.Live, key: str, items: list[str], *, deferred: bool = False) -> None:
        try:
            shown = live.rank("search", key, items, deferred=deferred)
        except ValueError:  # the loop could not be created
            assert self.failures
            return
        if shown.fallback:
            self.fallbacks += 1
            assert shown.items == items[:3]
            assert shown.id == ""
            assert "disk" in shown.reason or "connection" in shown.reason
        else:
            self.ids.append((shown.id, shown.items))
            if deferred:
                self.attempt(lambda: live.shown(shown.id))

    def duel(self, live: rl.Live) -> None:
        try:
            duel = self.attempt(lambda: live.duel("rankers"))
        except ValueError:
            assert self.failures
            return
        if duel is None:
            return
        lists = {ranker: list("abcdefg" if ranker == "p" else "gfedcba") for ranker in duel.rankers}
        page = self.attempt(lambda: live.interleave(duel.id, lists, positions=3))
        if page is not None:
            assert set(page.items) & {"a", "g"}  # the first page, also when the first call failed
            self.ids.append((duel.id, page.items))
            self.click_all(live)

    def click_all(self, live: rl.Live) -> None:
        """Every client sends its clicks again and again."""
        for id_, items in self.ids:
            for item in items[1:]:
                fate = self.attempt(lambda id_=id_, item=item: live.click(id_, item))
                if fate in ("accepted", "duplicate"):
                    self.acknowledged.add((sequence_of(live, id_), items.index(item)))

    def check(self, live: rl.Live) -> Told:
        told = check_whole(live)
        assert self.acknowledged <= set(told.clicks)
        return told


def test_the_day_without_faults(new_store: MakeStore, clock: Clock) -> None:
    store = Faulty(new_store(), BEFORE, 0)
    day = Day(new_store, clock)
    live = day.run(store)
    assert live is not None
    assert (day.failures, day.fallbacks) == (0, 0)
    assert len(day.acknowledged) >= 10
    day.check(live)
    live.close()


@pytest.mark.parametrize("how", [BEFORE, AFTER, LASTING])
def test_every_write_fails_once(new_place: Callable[[], MakeStore], how: str, caplog: pytest.LogCaptureFixture) -> None:
    """Whichever write fails: nothing acknowledged is lost, nothing is learned twice, and the state equals replay."""
    caplog.set_level(logging.CRITICAL, "rankloop.live")
    failed = nth = 0
    while failed == nth:
        nth += 1
        make, clock = new_place(), Clock()
        store, day = Faulty(make(), how, nth), Day(make, clock)
        live = day.run(store)
        failed += store.failures > 0
        store.writes = 1_000_000  # the store is well again
        if live is None:
            live = open_live(make, clock)
        else:
            day.check(live)
            if nth % 2:
                live.close()
            else:
                crash(live)
            live = open_live(make, clock)
        day.check(live)
        close_all(live, clock)
        told = day.check(live)
        assert set(told.closings) == set(told.choices)
        live.close()
    assert nth > 15  # and the last day saw no fault, since it had fewer writes


@pytest.mark.parametrize("nth", [1, 2, 5, 30, 100, 200])
def test_reads_fail(tmp_path: Path, nth: int, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever the store does not answer: no event is refused for good, and the state equals replay."""
    caplog.set_level(logging.CRITICAL, "rankloop.live")
    make: MakeStore = lambda: SQLiteStore(tmp_path / "shop.db")  # noqa: E731
    clock = Clock()
    before = Day(make, clock)
    crash(before.run(Faulty(make(), BEFORE, 0)) or pytest.fail("the day could not begin"))
    store, day = Unreadable(make(), LASTING, nth), Day(make, clock)
    day.ids = before.ids[-3:]
    live = day.run(store)
    assert store.failures
    store.reads = 1_000_000  # the store is well again
    if live is None:
        live = open_live(make, clock)
    day.acknowledged |= before.acknowledged
    day.check(live)
    assert live.status("search")["unknown"] == 0
    close_all(live, clock)
    day.check(live)
    live.close()


def test_an_event_whose_learner_cannot_be_read_is_not_refused_for_good(
    new_store: MakeStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = open_live(new_store, clock)
    live.create("search", kind="rerank", positions=3, window=60, holdout=0.0, seed=1)
    shown = live.rank("search", "one", ITEMS)
    live.attend()
    crash(live)
    live = open_live(new_store, clock)
    with monkeypatch.context() as patch:

        def away(number: int) -> Any:
            raise StoreLost(f"learner {number} cannot be read now")

        patch.setattr(live._store, "learner", away)
        with pytest.raises(StoreLost):
            live.click(shown.id, shown.items[0])
    assert live.click(shown.id, shown.items[0]) == "accepted"
    live.close()


def test_a_list_that_was_not_answered_is_not_learned_from(new_store: MakeStore, clock: Clock) -> None:
    """Production's list was shown in its place, so that no clicks on it say nothing."""
    store = Faulty(new_store(), BEFORE, 3)
    live = open_live(lambda: store, clock)
    live.create("search", kind="rerank", positions=3, window=60, holdout=0.0, seed=1)
    assert live.rank("search", "one", ITEMS).fallback
    assert not live.rank("search", "one", ITEMS).fallback
    close_all(live, clock)
    status = live.status("search")
    assert (status["fallbacks"], status["impressions"], status["never_shown"], status["learned"]) == (1, 2, 1, 1)
    check_whole(live)
    live.close()


def test_names_are_durable_before_a_list_is_answered(new_store: MakeStore, clock: Clock) -> None:
    """Also where the write that was to make them so has failed: else a crash would leave ids that nobody can read."""
    store = Faulty(new_store(), BEFORE, 3)
    live = open_live(lambda: store, clock)
    live.create("search", kind="rerank", positions=3, window=60, holdout=0.0, seed=1)
    assert live.rank("search", "one", ITEMS).fallback
    shown = live.rank("search", "one", ITEMS)
    crash(live)
    live = open_live(new_store, clock)
    assert live.click(shown.id, shown.items[0]) == "accepted"
    assert live.rank("search", "two", ["x", "y"]).items
    assert live._learners.known(1).key == "one"
    check_whole(live)
    live.close()


def test_a_write_whose_answer_was_lost_is_not_written_twice(new_store: MakeStore, clock: Clock) -> None:
    store = Faulty(new_store(), AFTER, 0)
    live = open_live(lambda: store, clock)
    live.create("search", kind="rerank", positions=3, window=60, holdout=0.0, seed=1)
    shown = live.rank("search", "one", ITEMS)
    store._nth = store.writes + 1
    with pytest.raises(StoreLost, match="before an answer came"):
        live.click(shown.id, "a" if "a" in shown.items else shown.items[0])
    assert store.failures == 1
    n = len(in_journal(live))
    assert live.click(shown.id, "a" if "a" in shown.items else shown.items[0]) == "duplicate"
    assert len(in_journal(live)) == n
    check_whole(live)
    live.close()


def test_windows_are_closed_when_the_store_is_back(
    new_store: MakeStore, clock: Clock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An impression of a learner that cannot be read now is closed later, and other keys get their lists meanwhile."""
    caplog.set_level(logging.CRITICAL, "rankloop.live")
    live = open_live(new_store, clock, memory=room_for(1))
    live.create("search", kind="rerank", positions=3, window=60, holdout=0.0, seed=1)
    live.rank("search", "one", ITEMS)
    live.rank("search", "two", ITEMS)
    live.rank("search", "two", ITEMS)
    assert live._learners.warm(live._loops.by_name["search"], "one") is None
    clock.now += 61

    def away(learner: int) -> Any:
        raise StoreLost("the store is away")

    with monkeypatch.context() as patch:
        patch.setattr(live._store, "snapshot", away)
        assert not live.rank("search", "two", ITEMS).fallback
        assert live.status("search")["closed"] == 2
    clock.now += 2
    assert live.status("search")["closed"] == 3
    check_whole(live)
    live.close()


def test_a_program_that_lost_its_store_for_good_shows_production_lists(tmp_path: Path) -> None:
    class TakenOver(SQLiteStore):
        over = False

        def write(self, batch: Batch) -> None:
            if self.over:
                raise StoreError("another program has taken over")
            super().write(batch)

    store = TakenOver(tmp_path / "shop.db")
    live = rl.Live(store, background=False)
    live.create("search", kind="rerank", holdout=0.0, seed=1)
    live.create("rankers", kind="evaluate", rankers=["a", "b"], seed=1)
    first = live.rank("search", "laptop", ["a", "b", "c"])
    store.over = True
    with pytest.raises(StoreError, match="taken over"):
        live.click(first.id, "a")
    again = live.rank("search", "laptop", ["a", "b", "c"])
    assert again.fallback
    assert again.items == ["a", "b", "c"]
    assert "taken over" in again.reason
    with pytest.raises(StoreError, match="taken over"):
        live.duel("rankers")
    assert live.over
    store.close()
