"""Attempts to break what must always hold; each of them has once succeeded."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from live_world import Clock, MakeStore, check_whole, crash, in_journal, open_live

import rankloop as rl
from rankloop.live import upkeep
from rankloop.live.sqlite import SQLiteStore

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
