"""Many keys in little memory: learners are packed away, and come back as they were."""

from __future__ import annotations

from pathlib import Path

from live_world import Clock, check_whole, open_live

from rankloop.live.sqlite import SQLiteStore

KEYS = 20_000
WARM = 1_000
BYTES_PER_LEARNER = 10_000


def test_keys_are_packed_away_and_come_back(tmp_path: Path) -> None:
    """20,000 keys with room for 1,000: what is in memory stays bounded, and each key goes on where it was."""
    clock = Clock()
    items = [f"item {i}" for i in range(10)]
    live = open_live(lambda: SQLiteStore(tmp_path / "shop.db"), clock, memory=WARM * BYTES_PER_LEARNER)
    live.create("search", kind="rerank", window=60, holdout=0.0, seed=1)
    loop = live._loops.by_name["search"]
    live._journal.commit = lambda upto: None  # many keys in one write: the test would wait for the disk 20,000 times
    most = 0
    for number in range(KEYS):
        live.rank("search", f"key {number}", items)
        most = max(most, len(live._learners))
    assert WARM / 2 < most < 2 * WARM
    del live._journal.commit
    some = range(0, KEYS, 500)
    for number in some:
        assert live._learners.warm(loop, f"key {number}") is None or number > KEYS - 2 * WARM
        shown = live.rank("search", f"key {number}", items)
        live.click(shown.id, items[number % 3])
        live.finish(shown.id)
    assert len(live._learners) < 2 * WARM
    assert live._learners._size <= WARM * BYTES_PER_LEARNER
    told = check_whole(live)
    assert told.counts["keys"] == KEYS
    assert told.counts["learned"] == len(some)
    live.close()
    live = open_live(lambda: SQLiteStore(tmp_path / "shop.db"), clock)
    assert live._learners.warm(loop, "key 500") is None
    assert live.best("search", "key 500")
    assert live.receipt("search", "key 500")
    live.close()
