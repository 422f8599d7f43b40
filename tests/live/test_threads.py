"""Threads, asyncio and forks."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from live_world import Clock, MakeStore, check_whole, close_all, crash, open_live, room_for

import rankloop as rl
from rankloop.live import impressions
from rankloop.live.sqlite import SQLiteStore
from rankloop.live.stores import Batch

THREADS = 8
PATIENCE = 120
"""Seconds after which a thread that has not ended is stuck."""


def run_threads(work: Any) -> None:
    """Run a function in several threads at once; what fails in one fails the test."""
    errors: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(number,), daemon=True) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    until = time.monotonic() + PATIENCE
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    assert not any(thread.is_alive() for thread in threads), "threads wait for each other"
    if errors:
        raise errors[0]


@pytest.mark.parametrize("n_keys", [2, 60])
def test_eight_threads(new_store: MakeStore, n_keys: int) -> None:
    """Lists, clicks, repeated clicks and closings in 8 threads, with room for few learners, beside a background thread.

    Every answer is counted, and must be what the loop has counted and the journal tells.
    """
    clock = Clock()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    turns = 60
    answers: list[dict[str, int]] = [{} for _ in range(THREADS)]
    handed_out: list[tuple[str, list[str]]] = []
    with rl.Live(new_store(), clock=clock, memory=room_for(5)) as live:
        live.create("search", kind="rerank", positions=3, window=60, holdout=0.1, seed=1)

        def work(number: int) -> None:
            generator, mine = random.Random(number), answers[number]
            for turn in range(turns):
                key = f"key {generator.randrange(n_keys)}"
                items = ["a", "b", "c", "d"] if generator.random() < 0.9 else ["d", "x", "a"]
                shown = live.rank("search", key, items)
                assert not shown.fallback, shown.reason
                handed_out.append((shown.id, shown.items))
                id_, items = generator.choice(handed_out[-20:])
                for _ in range(generator.randrange(3)):
                    fate = live.click(id_, generator.choice(items))
                    mine[fate] = mine.get(fate, 0) + 1
                if generator.random() < 0.5:
                    fate = live.finish(id_)
                    mine[f"finish {fate}"] = mine.get(f"finish {fate}", 0) + 1
                if turn % 20 == 10:
                    live.revert("search", key)
                    assert live.best("search", key)
                if generator.random() < 0.05:
                    clock.now += 40

        try:
            run_threads(work)
        finally:
            sys.setswitchinterval(interval)
        counted = {fate: sum(mine.get(fate, 0) for mine in answers) for mine in answers for fate in mine}
        status = live.status("search")
        assert status["impressions"] == THREADS * turns
        assert status["clicks"] == counted["accepted"]
        assert status["duplicates"] == counted["duplicate"]
        assert status["late"] == counted.get("late", 0)
        assert status["recovered"] == status["fallbacks"] == status["refused"] == 0
        assert len(live._learners) <= 8
        close_all(live, clock)
        told = check_whole(live)
        assert set(told.closings) == set(told.choices)
        assert live.status("search")["open"] == 0


def test_an_event_that_comes_while_its_impression_is_closed(
    new_store: MakeStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is late: it does not bring the impression back to be learned from a second time."""
    live = rl.Live(new_store(), clock=clock, background=False)
    live.create("search", kind="rerank", window=60, holdout=0.0, seed=1)
    shown = live.rank("search", "one", ["a", "b", "c"])
    learn, fates = impressions.learn_from, []

    def slow(*arguments: Any) -> Any:
        thread = threading.Thread(target=lambda: fates.append(live.click(shown.id, "a")))
        thread.start()
        thread.join(PATIENCE)
        return learn(*arguments)

    monkeypatch.setattr(impressions, "learn_from", slow)
    live.finish(shown.id)
    assert fates == ["late"]
    monkeypatch.undo()
    close_all(live, clock)
    assert live.status("search")["learned"] == 1
    check_whole(live)
    live.close()


class SlowStore(SQLiteStore):
    """A disk that takes its time."""

    def write(self, batch: Batch) -> None:
        time.sleep(0.2)
        super().write(batch)


def test_asyncio_goes_on_during_a_write(tmp_path: Path) -> None:
    """While the disk takes 0.2 s for each write, the event loop turns; counted in turns, not in seconds."""

    async def day() -> tuple[list[str], int]:
        async with rl.AsyncLive(SlowStore(tmp_path / "shop.db"), background=False) as live:
            await live.create("search", kind="rerank", holdout=0.0)
            lists = [await live.rank("search", "one", ["a", "b"]) for _ in range(4)]
            ended, turns = asyncio.Event(), 0

            async def tick() -> None:
                nonlocal turns
                while not ended.is_set():
                    await asyncio.sleep(0.001)
                    turns += 1

            ticking = asyncio.create_task(tick())
            fates = await asyncio.gather(*(live.click(shown.id, "a") for shown in lists))
            ended.set()
            await ticking
            found = await live.verify()
            assert found.ok
            return list(fates), turns

    fates, turns = asyncio.run(day())
    assert fates == ["accepted"] * 4
    assert turns > 5


FORKED = """
import os, sys
import rankloop as rl
live = rl.Live(sys.argv[1])
live.create("search", kind="rerank", holdout=0.0)
shown = live.rank("search", "one", ["a", "b"])
child = os.fork()
if child == 0:
    for call in (lambda: live.rank("search", "one", ["a", "b"]), lambda: live.click(shown.id, "a")):
        try:
            call()
        except rl.live.StoreError as error:
            print(error, flush=True)
    live.close()
    os._exit(0)
os.waitpid(child, 0)
print(live.click(shown.id, "a"))
print(live.verify().ok)
live.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_worker_gets_a_clear_error(tmp_path: Path) -> None:
    """It names the two ways out, and the parent's store is as it was."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED, str(tmp_path / "shop.db")],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 4, done.stdout + done.stderr
    for line in lines[:2]:
        assert "forked" in line
        assert "single worker" in line
        assert "rankloop serve" in line
    assert lines[2:] == ["accepted", "True"]


def test_a_checkpoint_in_the_middle_of_a_revert(
    new_store: MakeStore, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits for the learner: else a crash would leave a snapshot that lacks what the checkpoint says it holds."""
    live = open_live(new_store, clock)
    live.create("search", kind="rerank", window=60, holdout=0.0, seed=1)
    shown = live.rank("search", "one", ["a", "b", "c"])
    live._upkeep.checkpoint()
    learner = live._learners.warm(live._loops.by_name["search"], "one")
    revert = learner.revert
    checkpoint = threading.Thread(target=live._upkeep.checkpoint, daemon=True)

    def slow(seq: int) -> None:
        checkpoint.start()
        checkpoint.join(0.5)
        revert(seq)

    monkeypatch.setattr(learner, "revert", slow)
    live.revert("search", "one")
    checkpoint.join(PATIENCE)
    assert not checkpoint.is_alive()
    crash(live)
    live = open_live(new_store, clock)
    live.click(shown.id, "a")
    live.finish(shown.id)
    assert live.status("search")["reverted"] == 1
    check_whole(live)
    live.close()
