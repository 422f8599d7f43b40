"""Durable rank + click pairs per second of the embedded live loop, and what Live adds to the policy's own steps.

BubbleRank with 10 items over 1,000 keys, SQLite with synchronous=FULL, one thread. The same run times the policy's
public calls alone and SQLite's bare commits, so that a noisy machine can be told from a slow loop; times of the
processor hardly depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import gc
import random
import sqlite3
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import rankloop as rl

ITEMS = [f"item-{i}" for i in range(10)]
KEYS = [f"query {i}" for i in range(1_000)]
GROUP = 100


@dataclass
class Spent:
    """Seconds on the clock, and seconds of the processor, which a busy machine does not add to."""

    clock: float = 0.0
    processor: float = 0.0

    @contextmanager
    def more(self) -> Iterator[None]:
        """Add what is spent within."""
        clock, processor = time.perf_counter(), time.process_time()
        yield
        self.clock += time.perf_counter() - clock
        self.processor += time.process_time() - processor


def bare_commits(folder: Path, n: int) -> float:
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE t (n INTEGER PRIMARY KEY, body BLOB)")
    start = time.perf_counter()
    for i in range(n):
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO t VALUES (?, ?)", (i, b"x" * 60))
        connection.execute("COMMIT")
    return (time.perf_counter() - start) / n


def policy_alone(n: int) -> tuple[float, float]:
    policy = rl.BubbleRank(list(range(10)), seed=1)
    policy.update(policy.rank(), [0] * 10)
    ranking, updating = Spent(), Spent()
    with ranking.more():
        rankings = [policy.rank() for _ in range(n)]
    with updating.more():
        for ranking_ in rankings:
            policy.update(ranking_, [0, 1, 0, 0, 0, 0, 0, 0, 0, 0])
    return ranking.processor / n, updating.processor / n


def pairs(folder: Path, n: int, group: int) -> tuple[Spent, Spent, Spent, float]:
    """What ranks, clicks and closings took, and the processor's seconds per entry of a replay of it all."""
    ranking, clicking, closing, replaying = Spent(), Spent(), Spent(), Spent()
    clock = [1e9]
    with rl.Live(folder / f"live-{group}.db", clock=lambda: clock[0]) as live:
        live.create("search", kind="rerank", holdout=0.0, seed=1)
        for key in KEYS:
            live.rank("search", key, ITEMS)
        users = random.Random(1)
        for _ in range(n // group):
            with ranking.more():
                shown = [live.rank("search", users.choice(KEYS), ITEMS, user="somebody") for _ in range(group)]
            with clicking.more():
                if group == 1:
                    live.click(shown[0].id, shown[0].items[0])
                else:
                    live.events([{"impression": each.id, "item": each.items[0]} for each in shown])
        with closing.more():
            clock[0] += 3600
            while live.status("search")["open"]:
                pass  # the background thread closes some
        with replaying.more():
            found = live.verify()
        assert found.ok, found
    return ranking, clicking, closing, replaying.processor / found.entries


def memory_per_key(folder: Path, n: int) -> float:
    """Bytes of a learner with its open impression, from the memory that Python has handed out."""
    with rl.Live(folder / "memory.db", background=False, memory="1 GB") as live:
        live.create("search", kind="rerank", seed=1)
        live.rank("search", "the first", ITEMS)
        live._journal.commit = lambda _: None  # type: ignore[method-assign]  # nobody waits for the disk here
        tracemalloc.start()
        for number in range(n):
            live.rank("search", f"query {number}", ITEMS)
        del live._journal.commit
        live.attend()
        gc.collect()
        taken, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return taken / n


def sizes(folder: Path, n: int) -> tuple[float, float]:
    """Bytes in the store for each key, with its first list, and for each impression with a click and its closing."""
    path, time_ = folder / "sizes.db", [1e9]
    taken = []
    for what in ("loop", "keys", "impressions"):
        with rl.Live(path, background=False, clock=lambda: time_[0]) as live:
            live.create("search", kind="rerank", seed=1)
            if what == "keys":
                for key in KEYS:
                    live.rank("search", key, ITEMS)
            elif what == "impressions":
                for _ in range(n // GROUP):
                    shown = [live.rank("search", key, ITEMS, user="somebody") for key in KEYS[:GROUP]]
                    live.events([{"impression": each.id, "item": each.items[0]} for each in shown])
                time_[0] += 7200
                live.status("search")
        taken.append(path.stat().st_size)
    return (taken[1] - taken[0]) / len(KEYS), (taken[2] - taken[1]) / n


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=30_000, help="how many pairs to time")
    n = parser.parse_args().pairs
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rank, update = policy_alone(n)
        commit = bare_commits(folder, 1_000)
        print(f"policy alone: {1e6 * rank:.1f} µs of the processor per rank, {1e6 * update:.1f} per update")
        print(f"SQLite alone: {1e6 * commit:.0f} µs per commit of one row")
        for label, group, many in (("in groups of 100", GROUP, n), ("one by one", 1, n // 10)):
            ranking, clicking, closing, replaying = pairs(folder, many, group)
            rate, most = (many / (getattr(ranking, s) + getattr(clicking, s)) for s in ("clock", "processor"))
            ranked, clicked, closed = (1e6 * spent.processor / many for spent in (ranking, clicking, closing))
            print(
                f"{label}: {rate:,.0f} durable pairs per second ({rate * commit:.2f} per bare commit), {most:,.0f} per "
                f"second of the processor: {ranked:.1f} µs per rank ({ranked - 1e6 * rank:.1f} on top of the policy), "
                f"{clicked:.1f} per click; {closed:.1f} to close and learn ({closed - 1e6 * update:.1f} on top); "
                f"{1 / replaying:,.0f} entries replayed per second of the processor",
                flush=True,
            )
        print(f"in memory: {memory_per_key(folder, 5_000):,.0f} bytes per key with its open impression")
        of_key, of_impression = sizes(folder, 10_000)
        print(f"the store: {of_key:.0f} bytes per key, {of_impression:.0f} per impression with a click and its closing")


if __name__ == "__main__":
    main()
