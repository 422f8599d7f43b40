"""Durable rank + click pairs per second of the embedded live loop, and what Live adds to the policy's own steps.

BubbleRank with 10 items over 1,000 keys, SQLite with synchronous=FULL, one thread. The same run times the policy's
public calls alone and SQLite's bare commits, so that a noisy machine can be told from a slow loop.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import tempfile
import time
from pathlib import Path

import rankloop as rl

ITEMS = [f"item-{i}" for i in range(10)]
KEYS = [f"query {i}" for i in range(1_000)]
GROUP = 100


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
    start = time.perf_counter()
    rankings = [policy.rank() for _ in range(n)]
    ranked = time.perf_counter()
    for ranking in rankings:
        policy.update(ranking, [0, 1, 0, 0, 0, 0, 0, 0, 0, 0])
    return (ranked - start) / n, (time.perf_counter() - ranked) / n


def pairs(folder: Path, n: int, group: int) -> tuple[float, float]:
    """Seconds per rank and per click."""
    ranking = clicking = 0.0
    with rl.Live(folder / f"live-{group}.db") as live:
        live.create("search", kind="rerank", holdout=0.0, seed=1)
        for key in KEYS:
            live.rank("search", key, ITEMS)
        users = random.Random(1)
        for _ in range(n // group):
            start = time.perf_counter()
            shown = [live.rank("search", users.choice(KEYS), ITEMS, user="somebody") for _ in range(group)]
            ranked = time.perf_counter()
            if group == 1:
                live.click(shown[0].id, shown[0].items[0])
            else:
                live.events([{"impression": each.id, "item": each.items[0]} for each in shown])
            clicking += time.perf_counter() - ranked
            ranking += ranked - start
    return ranking / n, clicking / n


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
        print(f"policy alone: {1e6 * rank:.1f} µs per rank, {1e6 * update:.1f} µs per update")
        print(f"SQLite alone: {1e6 * commit:.0f} µs per commit of one row")
        for label, group, many in (("in groups of 100", GROUP, n), ("one by one", 1, n // 10)):
            ranking, clicking = pairs(folder, many, group)
            rate = 1 / (ranking + clicking)
            print(
                f"{label}: {rate:,.0f} durable pairs per second, {1e6 * ranking:.1f} µs per rank "
                f"({1e6 * (ranking - rank):.1f} on top of the policy), {1e6 * clicking:.1f} µs per click; "
                f"{rate * commit:.2f} pairs per bare commit"
            )
        of_key, of_impression = sizes(folder, 10_000)
        print(f"the store: {of_key:.0f} bytes per key, {of_impression:.0f} per impression with a click and its closing")


if __name__ == "__main__":
    main()
