"""How long a large store takes to open, and how much memory many keys take.

First a loop runs over ever more keys in a memory that was set, each with a list and a click, and the program's size is
looked at on the way; some keys are asked for again at the end, and must be as they were. Then a store is filled with
impressions over many keys, an earlier program's: it is opened again as that program left it, once after it closed the
store and once after it was killed.

Filling does not wait for the disk (SQLite's `synchronous` is off meanwhile); what is timed does.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import rankloop as rl
from rankloop.live.sqlite import SQLiteStore
from rankloop.live.stores import Header

ITEMS = [f"item-{i}" for i in range(10)]
GROUP = 100


class Filling(SQLiteStore):
    """A store that does not wait for the disk."""

    def open(self) -> Header:
        """Open it, and let the operating system write when it likes."""
        header = super().open()
        self._query("PRAGMA synchronous = OFF")
        return header


def groups(n: int) -> Iterator[range]:
    for start in range(0, n, GROUP):
        yield range(start, min(start + GROUP, n))


def fill(path: Path, n_impressions: int, n_keys: int) -> tuple[str, Path]:
    """A store with so many impressions, a click on each; an old id, and a copy as a killed program leaves it."""
    killed = path.with_name("killed.db")
    clock = [1e9]
    with rl.Live(Filling(path), background=False, clock=lambda: clock[0]) as live:
        live.create("search", kind="rerank", holdout=0.0, seed=1, window="30 min")
        draw = random.Random(1)
        for numbers in groups(n_impressions):
            keys = [number if number < n_keys else draw.randrange(n_keys) for number in numbers]
            shown = [live.rank("search", f"query {key}", ITEMS) for key in keys]
            live.events([{"impression": each.id, "item": each.items[0]} for each in shown])
            clock[0] += 1800 * GROUP / (n_impressions / 4)  # a quarter of the impressions is open at any time
            if numbers[0] % 5_000 == 0:
                live.attend()
        for suffix in ("", "-wal"):
            shutil.copy(f"{path}{suffix}", f"{killed}{suffix}")
        return shown[0].id, killed


def time_opening(label: str, path: Path, n_impressions: int, old: str) -> None:
    """Print how long it takes until a list is shown, and until an old impression's click is written."""
    clock = [1e9 + 4 * 1800]
    start, cpu = time.perf_counter(), time.process_time()
    with rl.Live(path, clock=lambda: clock[0]) as live:
        opened = time.perf_counter()
        live.rank("search", "query 7", ITEMS)
        ranked = time.perf_counter()
        fate = live.click(old, "item-9")
        clicked = time.perf_counter()
        used = time.process_time() - cpu
        status = live.status("search")
    assert fate == "accepted", fate
    assert status["impressions"] == n_impressions + 1, status
    print(
        f"{label}: open after {opened - start:.2f} s, the first list after {ranked - opened:.3f} s more, a click on an "
        f"old impression after {clicked - ranked:.3f} s more; {used:.2f} s of processor time",
        flush=True,
    )


def resident() -> float:
    """MB that this process has in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def run_keys(path: Path, n_keys: int, memory: str) -> None:
    """Print the size of the process as the number of keys grows, and whether old keys are as they were."""
    with rl.Live(Filling(path.with_name("first.db"))) as live:  # compiled code has been loaded after this
        live.create("search", kind="rerank", seed=1)
        live.finish(live.rank("search", "query", ITEMS).id)
    gc.collect()
    before, looks = resident(), max(1, n_keys // 20)
    cpu = time.process_time()
    bests = {}
    with rl.Live(Filling(path), memory=memory) as live:
        live.create("search", kind="rerank", holdout=0.0, seed=1)
        for number in range(n_keys):
            shown = live.rank("search", f"query {number}", ITEMS)
            live.click(shown.id, shown.items[-1])
            if number % looks == 0:
                for _ in range(300):  # until something has been learned
                    shown = live.rank("search", f"query {number}", ITEMS)
                    live.events([{"impression": shown.id, "item": ITEMS[9]}])
                    live.finish(shown.id)
                bests[number] = live.best("search", f"query {number}"), live.receipt("search", f"query {number}")
            if (number + 1) % looks == 0:
                status = live.status("search")
                print(
                    f"{number + 1:9,} keys: {resident() - before:6.0f} MB more than before, {status['warm']:,} learners"
                    f" in memory, {status['open']:,} impressions open, {time.process_time() - cpu:.0f} s of processor",
                    flush=True,
                )
        used = time.process_time() - cpu
        for number, known in bests.items():
            assert (live.best("search", f"query {number}"), live.receipt("search", f"query {number}")) == known
        assert all(best != ITEMS for best, _ in bests.values()), "a key that was forgotten would not be noticed"
    print(f"{1e6 * used / n_keys:.0f} µs of processor time per key; {len(bests)} old keys are as they were")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--impressions", type=int, default=200_000, help="impressions of the store that is opened")
    parser.add_argument("--keys", type=int, default=20_000, help="keys of the store that is opened")
    parser.add_argument("--many", type=int, default=30_000, help="keys of the loop in a bounded memory")
    parser.add_argument("--memory", default="64 MB", help="memory of that loop")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if given.many:
            print(f"a loop in {given.memory}")
            run_keys(folder / "many.db", given.many, given.memory)
        if given.impressions:
            old, killed = fill(folder / "shop.db", given.impressions, given.keys)
            size = (folder / "shop.db").stat().st_size / 1e6
            print(f"{given.impressions:,} impressions, {given.keys:,} keys: {size:.0f} MB")
            time_opening("closed", folder / "shop.db", given.impressions, old)
            time_opening("killed", killed, given.impressions, old)


if __name__ == "__main__":
    main()
