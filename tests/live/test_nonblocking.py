"""Answers from memory: what they close on the way, and what they leave to those who may wait."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from live_world import Clock, open_live

from rankloop.live import Live
from rankloop.live.nonblocking import CLOSED_AT_ONCE, Prompt
from rankloop.live.sqlite import SQLiteStore

ITEMS = ["a", "b", "c", "d"]
SECONDS = 60.0


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def live(tmp_path: Path, clock: Clock) -> Iterator[Live]:
    with open_live(lambda: SQLiteStore(tmp_path / "shop.db"), clock) as live:
        live.create("search", kind="rerank", window=60, holdout=0.0, seed=1)
        for key in ("laptop", "phone"):
            live.rank("search", key, ITEMS)
        yield live


def test_lists_close_what_is_due(live: Live, clock: Clock) -> None:
    prompt = Prompt(live)
    for _ in range(10):
        shown = prompt.rank("search", "laptop", ITEMS)
        assert shown is not None
        assert prompt.take({"impression": shown.id, "item": "c"}) == "accepted"
    counts = live._loops.by_name["search"].counts
    assert counts["closed"] == 0
    clock.now += 61
    for closed in range(CLOSED_AT_ONCE, 12 + 1, CLOSED_AT_ONCE):
        assert prompt.rank("search", "phone", ITEMS) is not None
        assert counts["closed"] == counts["learned"] == closed
    assert prompt.rank("search", "phone", ITEMS) is not None
    assert counts["closed"] == 12
    assert live.verify().ok


def test_what_is_in_use_is_closed_later(live: Live, clock: Clock) -> None:
    """A learner that another thread holds is not waited for, and its impressions are closed once, by others."""
    prompt = Prompt(live)
    held, done = threading.Event(), threading.Event()
    loop = live._loops.by_name["search"]
    learner = live._learners.warm(loop, "laptop")
    assert learner is not None

    def hold() -> None:
        with learner.lock:
            held.set()
            done.wait(SECONDS)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(SECONDS)
    clock.now += 61
    assert prompt.rank("search", "phone", ITEMS) is not None  # closes the phone's, not the laptop's
    assert loop.counts["closed"] == 1
    assert prompt.rank("search", "laptop", ITEMS) is None
    done.set()
    thread.join(SECONDS)
    live.attend()
    assert loop.counts["closed"] == loop.counts["learned"] == 2
    assert live.verify().ok


def test_an_id_is_known_by_every_letter(live: Live) -> None:
    """An id that this store did not write is unknown, whichever of its letters is another."""
    prompt = Prompt(live)
    shown = prompt.rank("search", "laptop", ITEMS)
    assert shown is not None
    for place, letter in enumerate(shown.id):
        for other in {"A", "z", "-", "é"} - {letter}:
            forged = shown.id[:place] + other + shown.id[place + 1 :]
            assert prompt.take({"impression": forged, "item": "b"}) in ("unknown", "foreign", None), place
    for forged in (shown.id + "A", shown.id + "=", shown.id[:-1], " " + shown.id, shown.id + "\n"):
        assert prompt.take({"impression": forged, "item": "b"}) in ("unknown", "foreign", None)
    assert live.status("search")["clicks"] == 0
    assert prompt.take({"impression": shown.id, "item": "b"}) == "accepted"


def test_events_of_a_batch_fare_as_they_would_alone(live: Live, clock: Clock) -> None:
    prompt = Prompt(live)
    old = prompt.rank("search", "phone", ITEMS)
    clock.now += 30
    shown = prompt.rank("search", "laptop", ITEMS)
    clock.now += 31
    assert shown is not None
    assert old is not None
    batch = [
        {"impression": shown.id, "item": "b"},
        {"impression": shown.id, "item": "b"},
        {"impression": shown.id, "item": "nothing"},
        {"impression": shown.id, "item": 7},
        {"impression": shown.id, "item": "c", "id": "e1", "at": 5.0, "seen": 3},
        {"impression": shown.id, "type": "seen", "seen": 2},
        {"impression": shown.id, "item": "a", "type": "bookmark"},
        {"impression": old.id, "item": "b"},
        {"impression": "forged", "item": "b"},
        {"impression": shown.id},
        "no event at all",
    ]
    fates = prompt.take_many(batch)
    kinds = [fate if fate is None else fate.partition(":")[0] for fate in fates]
    assert kinds == [
        "accepted", "duplicate", "invalid", "invalid", "accepted", "duplicate", "ignored", None, "unknown", "invalid",
        "invalid",
    ]  # fmt: skip
    others = prompt.take_many([{"impression": shown.id, "item": "d"}], loops=("another",))
    assert others == ["unknown"]
    live.commit(live.last)
    assert live.status("search")["clicks"] == 2
    assert live.verify().ok
