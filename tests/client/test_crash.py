"""A service that is killed and started again under both clients: every click counts, and counts once."""

from __future__ import annotations

import asyncio
import random
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import processes
from service_client import ADMIN

import rankloop as rl

ITEMS = ["a", "b", "c", "d"]
THREADS, TASKS = 3, 3
CLICKS_BEFORE_THE_END, CLICKS_AFTERWARDS = 100, 60
PATIENCE = 120.0


class Traffic:
    """Users who click on what they are shown, and count what became of it."""

    def __init__(self) -> None:
        self.clicks: list[tuple[str, str, str]] = []
        self.fallbacks = 0
        self.enough, self.over = threading.Event(), threading.Event()

    def note(self, shown: Any, item: str, fate: str) -> None:
        if shown.fallback:
            assert shown.items == ITEMS
            assert fate == "ignored"
            self.fallbacks += 1
            return
        self.clicks.append((shown.id, item, fate))
        if len(self.clicks) >= CLICKS_BEFORE_THE_END:
            self.enough.set()

    def threads(self, address: str) -> list[threading.Thread]:
        return [threading.Thread(target=self._in_a_thread, args=(address, number)) for number in range(THREADS)] + [
            threading.Thread(target=lambda: asyncio.run(self._in_tasks(address)))
        ]

    def _in_a_thread(self, address: str, number: int) -> None:
        chance = random.Random(number)
        with rl.Client(address, ADMIN, patience=PATIENCE, retries=1_000, timeout=1.0) as client:
            while not self.over.wait(0.005):
                shown = client.rank("search", f"q{chance.randrange(10)}", ITEMS)
                item = chance.choice(ITEMS)
                self.note(shown, item, client.click(shown.id, item))

    async def _in_tasks(self, address: str) -> None:
        async with rl.AsyncClient(address, ADMIN, patience=PATIENCE, retries=1_000, timeout=1.0) as client:

            async def clicking(number: int) -> None:
                chance = random.Random(100 + number)
                while not self.over.is_set():
                    await asyncio.sleep(0.005)
                    shown = await client.rank("search", f"q{chance.randrange(10)}", ITEMS)
                    item = chance.choice(ITEMS)
                    self.note(shown, item, await client.click(shown.id, item))

            await asyncio.gather(*map(clicking, range(TASKS)))


def start(store: Path, port: int) -> Any:
    command = [sys.executable, "-m", "rankloop", "serve", "--port", str(port), "--store", str(store)]
    return processes.started(command, env=processes.environment(RANKLOOP_ADMIN_KEY=ADMIN))


def test_killed_under_both_clients(tmp_path: Path) -> None:
    store, traffic = tmp_path / "shop.db", Traffic()
    with start(store, 0) as process:
        address = process.stdout.readline().split()[-1]
        with rl.Client(address, ADMIN, patience=PATIENCE, retries=1_000) as client:
            client.create("search", kind="rerank", holdout=0)
        threads = traffic.threads(address)
        for thread in threads:
            thread.start()
        assert traffic.enough.wait(processes.LIMIT)
        process.kill()
        process.wait(processes.LIMIT)
    before = len(traffic.clicks)
    with start(store, int(address.rpartition(":")[2])) as process:
        while len(traffic.clicks) < before + CLICKS_AFTERWARDS:
            assert any(thread.is_alive() for thread in threads)
            assert process.poll() is None
            threading.Event().wait(0.02)
        traffic.over.set()
        for thread in threads:
            thread.join(processes.LIMIT)
            assert not thread.is_alive()
        process.terminate()
        process.wait(processes.LIMIT)
    assert traffic.fallbacks > 0
    fates = Counter(fate for _, _, fate in traffic.clicks)
    assert fates.keys() <= {"accepted", "duplicate"}  # a duplicate is one whose first answer was lost
    assert fates["duplicate"] <= THREADS + TASKS
    pairs = {(id_, item) for id_, item, _ in traffic.clicks}
    assert len(pairs) == len(traffic.clicks)
    with rl.Live(store, background=False, read_only=True) as live:
        assert live.status("search")["clicks"] == len(pairs)
        assert live.verify().ok
