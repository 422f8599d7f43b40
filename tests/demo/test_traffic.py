"""Simulated visitors: each comes once, all events are sent, and errors are not swallowed."""

from __future__ import annotations

import random
import threading
from typing import Any

import pytest

from rankloop.demo.traffic import EVENTS_AT_ONCE, Visit, events_of, play


class TwoLoops:
    """A world whose visitors see two lists each."""

    title = "two"

    def __init__(self, fails_at: int | None = None) -> None:
        self.client: Any = self
        self.sent: list[dict[str, Any]] = []
        self.batches: list[int] = []
        self._fails_at, self._lock = fails_at, threading.Lock()

    def create(self) -> None: ...

    def visit(self, dice: random.Random, number: int) -> tuple[list[Visit], list[dict[str, Any]]]:
        if number == self._fails_at:
            raise OSError("gone")
        visits = [Visit("two", number, loop, "", "policy", dice.randrange(2), 0, 0) for loop in ("a", "b")]
        return visits, [event for loop in ("a", "b") for event in events_of(f"{loop} {number}", ["x"])]

    def events(self, batch: list[dict[str, Any]]) -> None:
        with self._lock:
            self.sent += batch
            self.batches.append(len(batch))


def test_everybody_comes_once_and_progress_counts_visitors() -> None:
    world, told = TwoLoops(), list[int]()
    found = play(world, 500, seed=1, tell=told.append)
    assert [(visit.number, visit.loop) for visit in found] == [(n, loop) for n in range(500) for loop in ("a", "b")]
    assert told == sorted(told)
    assert told[-1] == 500
    clicks = [event for event in world.sent if "item" in event]
    assert sorted(event["impression"] for event in clicks) == sorted(f"{loop} {n}" for n in range(500) for loop in "ab")
    assert len(world.sent) == 2 * len(clicks)
    assert max(world.batches) < EVENTS_AT_ONCE + 4


def test_an_error_ends_it_and_is_told() -> None:
    with pytest.raises(OSError, match="gone"):
        play(TwoLoops(fails_at=50), 10_000_000, seed=1)


def test_a_list_that_nobody_recorded_has_no_events() -> None:
    assert events_of("", ["x"]) == []
    assert events_of("id", []) == [{"impression": "id", "type": "finish"}]
