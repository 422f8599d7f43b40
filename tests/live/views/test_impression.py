"""What came back to an impression, with times."""

from __future__ import annotations

from live_world import Clock, MakeStore, open_live
from views_world import LIST


def test_what_was_heard(new_store: MakeStore, clock: Clock) -> None:
    with open_live(new_store, clock) as live:
        live.create("search", kind="rerank", holdout=0)
        begun = clock.now
        shown = live.rank("search", "laptop", LIST, user="u1")
        clock.now += 1.0
        live.click(shown.id, shown.items[1])
        clock.now += 1.0
        live.seen(shown.id, 3)
        live.events([{"impression": shown.id, "item": shown.items[0], "type": "zoom"}])
        found = live.explain(shown.id).to_json()
        assert found["heard"] == [
            {"at": begun + 1, "type": "click", "position": 1, "item": shown.items[1]},
            {"at": begun + 2, "type": "seen", "positions": 3},
            {"at": begun + 2, "type": "zoom"},
        ]
        assert (found["shown_at"], found["closed_at"], found["learned"]) == (begun, None, None)
        clock.now += 1.0
        live.finish(shown.id)
        found = live.explain(shown.id).to_json()
        assert (found["closed_at"], found["learned"]) == (begun + 3, True)
        outside = live.rank("search", "laptop", LIST, user="u1")
        live.revert("search", "laptop")
        live.finish(outside.id)
        assert live.explain(outside.id).learned is False


def test_old_looks_count_for_less(new_store: MakeStore, clock: Clock) -> None:
    """What CascadeDUCB knew is told in looks, not in the units that it counts in."""
    with open_live(new_store, clock) as live:
        live.create("home", kind="follow", positions=2, holdout=0, gamma=0.5)
        for _ in range(50):
            shown = live.rank("home", "front", ["a", "b"])
            live.click(shown.id, "a")
            live.finish(shown.id)
        looks = {row["item"]: row["looks"] for row in live.explain(shown.id).evidence}
        assert 1.9 < looks["a"] <= 2.0  # 1 + 1/2 + 1/4 + ...
