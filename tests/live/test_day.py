"""A short form of a day in fast motion; `make day` runs the whole one."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
from live_day import BYTES_PER_IMPRESSION, BYTES_PER_KEY, HOURS, Day
from live_world import Clock, open_live

import rankloop.live.sqlite
import rankloop.live.upkeep
from rankloop.live.sqlite import SQLiteStore

IMPRESSIONS, KEYS, MEMORY = 12_000, 100, 700_000


@pytest.fixture
def sooner(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Snapshots and moves into the file as often in a short day as in a long one."""
    monkeypatch.setattr(rankloop.live.upkeep, "CHECKPOINT_EVERY", 1_000)
    monkeypatch.setattr(rankloop.live.sqlite, "PAGES_BEFORE_MOVE", 100)
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("sooner")
def test_a_day_in_fast_motion(tmp_path: Path) -> None:
    day = Day(tmp_path / "shop.db", IMPRESSIONS, KEYS, MEMORY)
    day.run()
    day.check()
    settled = day.settled
    assert {hour.open for hour in settled} == {settled[0].open}
    assert max(hour.warm for hour in settled) < KEYS
    kept = [hour for hour in settled if hour.trimmed]
    assert len(kept) > HOURS / 2
    beside = rankloop.live.sqlite.PAGES_BEFORE_MOVE * 4_096  # what one commit may add to the pages beside the file
    assert max(hour.size for hour in kept[-3:]) < 1.1 * max(hour.size for hour in kept[:5]) + beside
    day.end()


def test_the_file_grows_as_documented(tmp_path: Path) -> None:
    n, items, clock = 5_000, [f"item-{i}" for i in range(10)], Clock()

    def size() -> int:
        return (tmp_path / "shop.db").stat().st_size

    with open_live(lambda: SQLiteStore(tmp_path / "shop.db"), clock) as live:
        live.create("search", kind="rerank", holdout=0.0, seed=1)
        for key in range(10):
            live.rank("search", f"query {key}", items)
    before = size()
    with open_live(lambda: SQLiteStore(tmp_path / "shop.db"), clock) as live:
        for start in range(0, n, 100):
            shown = [live.rank("search", f"query {key % 10}", items) for key in range(start, start + 100)]
            live.events([{"impression": each.id, "item": each.items[0]} for each in shown])
            clock.now += 60
        clock.now += 1_801
        live.attend()
        while live.status("search")["open"]:
            live.attend()
    assert 0.9 * BYTES_PER_IMPRESSION < (size() - before) / n < 1.1 * BYTES_PER_IMPRESSION
    documented = (Path(__file__).parents[2] / "docs" / "live.md").read_text()
    assert f"each key takes {BYTES_PER_KEY} bytes" in documented
    assert f"each impression {BYTES_PER_IMPRESSION} bytes with one\nclick" in documented
