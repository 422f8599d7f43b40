"""Attempts to break what must always hold; each of them has once succeeded."""

from __future__ import annotations

from live_world import Clock, MakeStore, check_whole, crash, open_live

import rankloop as rl

ITEMS = ["a", "b", "c"]


def new_live(new_store: MakeStore, clock: Clock) -> rl.Live:
    live = open_live(new_store, clock)
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
