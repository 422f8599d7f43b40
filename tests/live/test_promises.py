"""Attempts to break what must always hold; each of them has once succeeded."""

from __future__ import annotations

from typing import Any

from live_world import Clock, MakeStore, check_whole, crash, in_journal, open_live

import rankloop as rl

ITEMS = ["a", "b", "c"]


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
    """Time goes on from where the last program left it: else windows would not end, and the wrong entries be removed."""
    with new_live(new_store, clock) as live:
        shown = live.rank("search", "one", ITEMS)
    clock.now -= 86_400
    with open_live(new_store, clock) as live:
        clock.now += 61
        assert live.click(shown.id, "a") == "late"
        ats = [entry.at for entry in in_journal(live)]
        assert ats == sorted(ats)
