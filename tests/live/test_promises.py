"""Attempts to break what must always hold; each of them has once succeeded."""

from __future__ import annotations

import asyncio
import gc
import itertools
import logging
import shutil
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from live_world import Clock, MakeStore, check_whole, crash, in_journal, open_live, sequence_of

import rankloop as rl
from rankloop.live import upkeep
from rankloop.live.entries import Kind
from rankloop.live.replay import Replay, bases_at
from rankloop.live.sqlite import SQLiteStore
from rankloop.live.stores import Snapshot, Store, StoreLost

ITEMS = ["a", "b", "c"]
PATIENCE = 60


def new_live(new_store: MakeStore, clock: Clock, **more: Any) -> rl.Live:
    live = open_live(new_store, clock, **more)
    live.create("search", kind="rerank", window=60, holdout=0.0, seed=1)
    return live


def test_a_lost_list_comes_back_after_production_has_changed_its_list(new_store: MakeStore, clock: Clock) -> None:
    """The replay knows the names of a list that nothing in the journal refers to until its id comes back."""
    live = new_live(new_store, clock)
    live.finish(live.rank("search", "one", ITEMS).id)
    lost = live.rank("search", "one", ITEMS)
    crash(live)
    live = open_live(new_store, clock)
    live.finish(live.rank("search", "one", ["c", "x", "a"]).id)
    assert live.click(lost.id, "a") == "accepted"
    live.finish(lost.id)
    assert live.status("search")["learned"] == 3
    check_whole(live)
    live.close()


def test_entries_are_removed_between_a_lost_list_and_its_return(new_store: MakeStore, clock: Clock) -> None:
    """The base that is left keeps the names of a list for as long as a lost impression can come back to it."""
    live = new_live(new_store, clock)
    live.finish(live.rank("search", "one", ITEMS).id)
    lost = live.rank("search", "one", ITEMS)
    crash(live)
    live = open_live(new_store, clock, keep="10 min")
    live.finish(live.rank("search", "one", ["c", "x", "a"]).id)
    clock.now += 30
    assert live.click(lost.id, "a") == "accepted"
    live.finish(lost.id)
    live._upkeep.checkpoint()
    clock.now += 600 - 15
    assert live.trim() > 0
    found = live.verify()
    assert found.ok, found.differences
    clock.now += 600
    live.finish(live.rank("search", "one", ["c", "x", "a"]).id)
    live._upkeep.checkpoint()
    live.trim()
    found = live.verify()
    assert found.ok, found.differences
    live.close()


def test_the_clock_is_set_back_between_two_programs(new_store: MakeStore, clock: Clock) -> None:
    """Time goes on from where the last program left it: else windows would not end."""
    with new_live(new_store, clock) as live:
        shown = live.rank("search", "one", ITEMS)
    clock.now -= 86_400
    with open_live(new_store, clock) as live:
        clock.now += 61
        assert live.click(shown.id, "a") == "late"
        ats = [entry.at for entry in in_journal(live)]
        assert ats == sorted(ats)


def test_a_list_is_chosen_while_the_store_is_closed(
    new_store: MakeStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not handed out: nobody would write it, and the next program would give its number to another list."""
    live = new_live(new_store, clock)
    live.rank("search", "one", ITEMS)
    live._upkeep.checkpoint()
    choose = live._showing._choose

    def slowly(learner: Any) -> Any:
        chosen = choose(learner)
        closing = threading.Thread(target=live.close, daemon=True)
        closing.start()
        closing.join(PATIENCE)
        assert not closing.is_alive()
        return chosen

    monkeypatch.setattr(live._showing, "_choose", slowly)
    shown = live.rank("search", "one", ITEMS)
    assert shown.fallback
    assert "closed" in shown.reason
    with open_live(new_store, clock) as live:
        check_whole(live)


def test_ids_of_after_a_backup(tmp_path: Path, clock: Clock) -> None:
    """A store that was restored from a backup gives numbers again: ids from before do not get the lists of others."""
    path, backup = tmp_path / "shop.db", tmp_path / "backup.db"
    with new_live(lambda: SQLiteStore(path), clock):
        pass
    shutil.copy(path, backup)
    with open_live(lambda: SQLiteStore(path), clock) as live:
        before = [live.rank("search", "one", ITEMS) for _ in range(30)]
    shutil.copy(backup, path)
    with open_live(lambda: SQLiteStore(path), clock) as live:
        clock.now += 1
        after = [live.rank("search", "one", ITEMS) for _ in range(10)]
        assert {live.click(shown.id, "a") for shown in before} == {"unknown"}
        assert live.status("search")["unknown"] == 30
        assert {live.click(shown.id, "a") for shown in after} == {"accepted"}
        live.finish(after[0].id)
        assert {live.finish(shown.id) for shown in before} == {"unknown"}
        check_whole(live)


def test_after_a_crash_checkpoints_go_on(new_store: MakeStore, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where nobody asks for the keys again that had last changed: they are brought up to date a few at a time."""
    monkeypatch.setattr(upkeep, "BROUGHT_BACK_AT_ONCE", 2)
    live = new_live(new_store, clock)
    for i in range(5):
        live.rank("search", f"key {i}", ITEMS)
    live.attend()
    crash(live)
    live = open_live(new_store, clock)
    for _ in range(3):
        assert live._upkeep._checkpoint == 0
        live.attend()
    checkpoint = live._upkeep._checkpoint
    assert checkpoint > 0
    live.rank("search", "key 1", ITEMS)
    live.attend()
    assert live._upkeep._checkpoint == checkpoint  # it is due after many more entries only
    crash(live)
    with open_live(new_store, clock) as live:
        check_whole(live)


def test_a_forked_child_does_not_hold_the_file(tmp_path: Path) -> None:
    """A worker that was forked while a store was open does not keep its parent from opening it again."""
    script = (
        "import os, signal, sys\nimport rankloop as rl\n"
        "live = rl.Live(sys.argv[1], background=False)\n"
        "ready, done = os.pipe()\n"
        "child = os.fork()\n"
        "if child == 0:\n    os.write(done, b'.')\n    signal.pause()\n"
        "os.read(ready, 1)\n"
        "live.close()\n"
        "try:\n    rl.Live(sys.argv[1], background=False).close()\n    print('opened')\n"
        "finally:\n    os.kill(child, signal.SIGKILL)\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", script, str(tmp_path / "shop.db")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.stdout == "opened\n", done.stderr


def test_an_opening_that_is_given_up_lets_go_of_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """asyncio gives up waiting for a slow start: the store is closed once it is open."""
    go_on, closed, begun = threading.Event(), threading.Event(), threading.Event()
    open_file, close_file = SQLiteStore.open, SQLiteStore.close

    def slowly(store: SQLiteStore) -> Any:
        begun.set()
        go_on.wait(PATIENCE)
        return open_file(store)

    def close(store: SQLiteStore) -> None:
        close_file(store)
        closed.set()

    monkeypatch.setattr(SQLiteStore, "open", slowly)
    monkeypatch.setattr(SQLiteStore, "close", close)

    async def begin() -> None:
        opening = asyncio.ensure_future(rl.AsyncLive(tmp_path / "shop.db").__aenter__())
        while not begun.is_set():
            await asyncio.sleep(0.01)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening

    asyncio.run(begin())
    go_on.set()
    assert closed.wait(PATIENCE)
    rl.Live(tmp_path / "shop.db", background=False).close()


def test_the_disk_is_full(tmp_path: Path, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    """A real error of SQLite in the middle of a write, of a checkpoint and of a removal: all is there afterwards."""
    caplog.set_level(logging.CRITICAL, "rankloop.live")
    live = new_live(lambda: SQLiteStore(tmp_path / "shop.db"), clock, keep="10 min")
    acknowledged = [live.rank("search", "one", ITEMS)]
    live.click(acknowledged[0].id, "a")
    connection = live._store._connection  # type: ignore[attr-defined]
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}")
    fallbacks = 0
    for i in range(200):
        shown = live.rank("search", f"key {i} " + 200 * "x", ITEMS)
        fallbacks += shown.fallback
        if not shown.fallback:
            with suppress(StoreLost):
                live.click(shown.id, "a")
                acknowledged.append(shown)
    assert fallbacks > 50
    for call in (live._upkeep.checkpoint, live.attend):
        with pytest.raises(StoreLost, match="disk is full"):
            call()
    clock.now += 3_600
    with pytest.raises(StoreLost, match="disk is full"):
        live.trim()
    connection.execute("PRAGMA max_page_count = 1000000")
    told = check_whole(live)
    assert all((sequence_of(live, shown.id), shown.items.index("a")) in told.clicks for shown in acknowledged)
    live.attend()
    live._upkeep.checkpoint()
    assert live.trim() > 0
    assert live.verify().ok
    live.close()


def test_a_page_holds_the_items_it_was_given(
    new_store: MakeStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where another request gives the key another list at the same moment."""
    live = new_live(new_store, clock)
    live.rank("search", "one", ITEMS)
    learner = live._learners.warm(live._loops.by_name["search"], "one")

    class Changing(type(learner)):  # type: ignore[misc]
        looks = 0

        @property
        def names(self) -> tuple[str, ...]:
            Changing.looks += 1
            return tuple(ITEMS) if Changing.looks == 1 else ("x", "y")

    changing = Changing.__new__(Changing)
    with monkeypatch.context() as patch:
        patch.setattr(live._learners, "warm", lambda *_: changing if Changing.looks == 0 else learner)
        assert sorted(live.rank("search", "one", ITEMS).items) == sorted(ITEMS)
    live.close()


def test_entries_are_not_removed_while_they_are_read(new_store: MakeStore, clock: Clock) -> None:
    live = new_live(new_store, clock, keep="10 min")
    for i in range(3):
        live.finish(live.rank("search", f"key {i}", ITEMS).id)
    live._upkeep.checkpoint()
    clock.now += 3_600
    live._journal.add(Kind.OPENED, 0, None, b"{}")
    live._upkeep._looked_at = -(10**15)
    with live._upkeep.reading:  # as verify, explain and export do
        live.attend()
        assert live._impressions.trimmed == 0
    assert live.trim() > 0
    assert live.verify().ok
    live.close()


def test_entries_are_removed_in_parts_and_events_get_in_between(
    new_store: MakeStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Retention of a busy hour takes minutes: nobody may wait for all of it."""
    monkeypatch.setattr("rankloop.live.upkeep.TRIMMED_AT_ONCE", 7)
    live = new_live(new_store, clock, keep="10 min")
    for i in range(20):
        shown = live.rank("search", f"key {i % 3}", ITEMS)
        live.click(shown.id, "a")
        live.finish(shown.id)
    clock.now += 3_600
    live.rank("search", "key 0", ITEMS)
    live._upkeep.checkpoint()
    clock.now += 30
    parts, fates = [], []

    def bases_while_others_write(store: Store, after: int, upto: int) -> Iterator[Snapshot]:
        """Reads old entries while another thread sends an event."""
        parts.append((after, upto))
        shown = live.rank("search", "key 0", ITEMS)
        sending = threading.Thread(target=lambda: fates.append(live.click(shown.id, "b")))
        sending.start()
        sending.join(20)
        assert not sending.is_alive(), "an event waits until old entries have been removed"
        return bases_at(store, after, upto)

    monkeypatch.setattr("rankloop.live.upkeep.bases_at", bases_while_others_write)
    assert live.trim() == live._impressions.trimmed == parts[-1][1]
    assert len(parts) > 5
    assert all(before[1] == after[0] for before, after in itertools.pairwise(parts))
    assert fates == ["accepted"] * len(parts)
    found = live.verify()
    assert found.ok, found.differences
    assert found.choices == 1 + len(parts)
    assert live.status("search")["clicks"] == 20 + len(parts)
    live.close()


def test_few_learners_are_in_memory_while_entries_are_removed(
    new_store: MakeStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with new_live(new_store, clock) as live:
        for i in range(60):
            shown = live.rank("search", f"key {i % 12}", ITEMS[i % 2 :])
            live.click(shown.id, "c")
            if i % 5:
                live.finish(shown.id)
        live._journal.flush()
        upto = live._journal.durable
        at_once = sorted(bases_at(live.store, 0, upto))
        assert len(at_once) == 12
        replayed: list[weakref.ref[Replay]] = []

        class Watched(Replay):
            """Says how many of its kind are in memory."""

            def __init__(self, *given: Any, **more: Any) -> None:
                assert sum(each() is not None for each in replayed) <= 1, "parts before the last are still in memory"
                super().__init__(*given, **more)
                replayed.append(weakref.ref(self))

        monkeypatch.setattr("rankloop.live.replay.Replay", Watched)
        monkeypatch.setattr("rankloop.live.replay.LEARNERS_AT_ONCE", 3)
        gc.disable()
        try:
            assert sorted(bases_at(live.store, 0, upto)) == at_once
        finally:
            gc.enable()
        assert len(replayed) >= 4


def test_what_is_too_old_goes_little_by_little(
    new_store: MakeStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The background thread does other things in between, and does not wait an hour for the next part."""
    monkeypatch.setattr("rankloop.live.upkeep.TRIMMED_AT_ONCE", 7)
    live = new_live(new_store, clock, keep="10 min")
    for i in range(20):
        live.finish(live.rank("search", f"key {i % 3}", ITEMS).id)
    live._upkeep.checkpoint()
    clock.now += 3_600
    trimmed = [0]
    live._upkeep._looked_at = -(10**15)
    for _ in range(40):
        live.attend()
        trimmed.append(live._impressions.trimmed)
    assert 0 < trimmed[1] < trimmed[2] < trimmed[3] < trimmed[-1]
    assert trimmed[-2] == trimmed[-1] == live.trim()
    assert live.verify().ok
    live.close()


def test_settings_in_a_file_that_have_been_changed_since(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A mode that is stated in a file and not taken is worth a warning; one that is not stated is not."""
    path = tmp_path / "rankloop.toml"
    path.write_text('[loops.search]\nkind = "rerank"\n')
    with rl.Live(tmp_path / "shop.db", config=path, background=False) as live:
        live.change("search", traffic=0.5)
    rl.Live(tmp_path / "shop.db", config=path, background=False).close()
    assert "goes on with" not in caplog.text
    path.write_text('[loops.search]\nkind = "rerank"\nmode = "off"\n')
    with rl.Live(tmp_path / "shop.db", config=path, background=False) as live:
        assert live.status("search")["mode"] == "live"
    assert "loop search goes on with mode = 'live', not 'off'" in caplog.text


def test_a_policy_that_fails(new_store: MakeStore, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    """Production's list is answered, and what was not learned is told; afterwards the key goes on from its journal."""
    caplog.set_level(logging.CRITICAL, "rankloop.live")
    live = new_live(new_store, clock)
    shown = live.rank("search", "one", ITEMS)
    learner = live._learners.warm(live._loops.by_name["search"], "one")
    assert learner is not None
    for name, call in (
        ("choose", lambda: live.rank("search", "one", ITEMS)),
        ("relist", lambda: live.rank("search", "one", ["c", "x"])),
        ("learn", lambda: live.finish(shown.id)),
    ):
        learner = live._learners.get(live._loops.by_name["search"], "one")
        setattr(learner, name, None)  # which cannot be called
        answer = call()
        assert answer == "accepted" or answer.fallback
        check_whole_but_refused(live)
    assert live.status("search")["refused"] == 1
    assert not live.rank("search", "one", ITEMS).fallback
    check_whole_but_refused(live)
    live.close()


def check_whole_but_refused(live: rl.Live) -> None:
    found = live.verify()
    assert found.ok, found.differences


@pytest.mark.parametrize("batch", [5, None, "text", {"impression": "x", "item": "a"}])
def test_events_that_are_no_list(tmp_path: Path, batch: Any) -> None:
    with rl.Live(tmp_path / "shop.db", background=False) as live, pytest.raises(ValueError, match="list of objects"):
        live.events(batch)


def test_recur_rank_says_why_it_is_not_offered(tmp_path: Path) -> None:
    with (
        rl.Live(tmp_path / "shop.db", background=False) as live,
        pytest.raises(ValueError, match="one fixed set of items"),
    ):
        live.create("home", kind="diversify", policy="RecurRank", relevance=2, topics=["news"])
