"""How much room impressions take in PostgreSQL, how much write-ahead log they make, and what it costs to remove them.

A loop of BubbleRank with 10 items shows lists over many keys, with a click on each and its closing; events are written
in groups, as a service under load writes them. Then the older half is removed, as `keep=` does it, and beside that by
dropping a partition of a copy that is partitioned by the entries' numbers.

Without --store a server of its own is started in a temporary folder. It does not wait for its disk, so times are those
of processors; sizes do not depend on that. The tables of the database that --store names must not exist yet.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

import rankloop as rl
from rankloop.live.entries import Kind

sys.path.append(str(Path(__file__).parents[1] / "tests"))

ITEMS = [f"item-{i}" for i in range(10)]
WINDOW = 1800.0


def stat(number: int) -> tuple[int, int, int, int]:
    """A process, its parent, its processor time and that of children that have ended, in ticks."""
    words = Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()
    user, system, of_children, of_children_too = map(int, words[11:15])
    return number, int(words[1]), user + system, of_children + of_children_too


class Database:
    """What is asked of the server beside the store's own connection."""

    def __init__(self, url: str) -> None:
        self._connection = psycopg.connect(url, autocommit=True)

    def processor_time(self) -> float:
        """Seconds that all processes of the server have used, if they run on this machine."""
        ours = self.one("SELECT pg_backend_pid()")
        server = stat(ours)[1] if Path(f"/proc/{ours}").exists() else 0
        numbers = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
        used = 0
        for number in numbers:
            try:
                _, parent, own, waited_for = stat(number)
            except OSError:  # it has ended meanwhile
                continue
            used += own + waited_for if number == server else own if parent == server else 0
        return used / os.sysconf("SC_CLK_TCK")

    def one(self, statement: str) -> int:
        """A single number."""
        row = self._connection.execute(statement.encode()).fetchone()
        assert row is not None
        return int(row[0] or 0)

    def do(self, statement: str) -> None:
        """Do something."""
        self._connection.execute(statement.encode())

    @property
    def log(self) -> int:
        """Bytes of write-ahead log since the server was made."""
        return self.one("SELECT pg_current_wal_insert_lsn() - '0/0'")

    def size(self, relation: str) -> int:
        """Bytes of a table or index, without its indexes."""
        return self.one(f"SELECT pg_table_size('rankloop.{relation}')")

    @contextmanager
    def costing(self, what: str, n: int) -> Iterator[None]:
        """Print what a block takes, per impression."""
        self.do("CHECKPOINT")
        log, begun, used, theirs = self.log, time.perf_counter(), time.process_time(), self.processor_time()
        yield
        seconds, used = time.perf_counter() - begun, time.process_time() - used
        theirs, written = self.processor_time() - theirs, self.log - log
        print(
            f"{what}: {seconds:.2f} s; per impression {1e6 * used / n:.1f} µs of the processor here and "
            f"{1e6 * theirs / n:.1f} µs in PostgreSQL, {written / n:.0f} bytes of write-ahead log",
            flush=True,
        )


def fill(url: str, n: int, n_keys: int, group: int) -> float:
    """Show lists, each with a click and its closing; the time at the end."""
    clock = [1e9]
    draw = random.Random(1)
    with rl.Live(url, background=False, clock=lambda: clock[0]) as live:
        live.create("search", kind="rerank", holdout=0.0, seed=1, window=WINDOW)
        for start in range(0, n, group):
            numbers = range(start, min(start + group, n))
            keys = [number if number < n_keys else draw.randrange(n_keys) for number in numbers]
            shown = [live.rank("search", f"query {key}", ITEMS, user="u1") for key in keys]
            live.events([{"impression": each.id, "item": each.items[0]} for each in shown])
            clock[0] += 20 * WINDOW * len(numbers) / n  # a twentieth of all impressions is open at any time
            if start % 5_000 < group:
                live.attend()
        clock[0] += WINDOW + 1
        while live.status("search")["open"]:
            live.attend()
    return clock[0]


def told(database: Database, n: int, n_keys: int) -> None:
    """Print rows and bytes."""
    rows = database.one("SELECT count(*) FROM rankloop.journal")
    body = database.one("SELECT sum(octet_length(body)) FROM rankloop.journal")
    parts = {
        "rows": database.size("journal"),
        "primary key": database.size("journal_pkey"),
        "index by impression": database.size("journal_by_impression"),
    }
    print(f"journal: {rows / n:.2f} rows per impression, of {body / rows:.0f} bytes of content each")
    print(
        f"journal: {sum(parts.values()) / n:.0f} bytes per impression: "
        + ", ".join(f"{size / n:.0f} {name}" for name, size in parts.items())
    )
    per_key = {
        name: sum(database.size(each) for each in relations)
        for name, relations in {
            "names": ("learners", "learners_pkey", "learners_by_key"),
            "snapshots": ("snapshots", "snapshots_pkey"),
        }.items()
    }
    print(
        f"keys: {sum(per_key.values()) / n_keys:.0f} bytes per key: "
        + ", ".join(f"{size / n_keys:.0f} {name}" for name, size in per_key.items())
    )


def remove(database: Database, url: str, n: int, end: float) -> None:
    """Remove the older half of the journal in both ways."""
    middle = database.one(f"SELECT max(seq) FROM rankloop.journal WHERE at < {1000 * (end - 10 * WINDOW):.0f}")
    old = database.one(f"SELECT count(*) FROM rankloop.journal WHERE seq < {middle} AND kind = {Kind.CLOSE:d}")
    last = database.one("SELECT max(seq) FROM rankloop.journal") + 1
    database.do("CREATE TABLE rankloop.parted (LIKE rankloop.journal) PARTITION BY RANGE (seq)")
    for name, first, upto in (("older", 0, middle), ("newer", middle, last)):
        database.do(f"CREATE TABLE rankloop.{name} PARTITION OF rankloop.parted FOR VALUES FROM ({first}) TO ({upto})")
    database.do("CREATE UNIQUE INDEX ON rankloop.parted (partition, seq)")
    database.do("CREATE INDEX ON rankloop.parted (partition, impression, seq) WHERE impression IS NOT NULL")
    with database.costing("copy into a partitioned table", n):
        database.do("INSERT INTO rankloop.parted SELECT * FROM rankloop.journal")
    with database.costing("drop a partition", old):
        database.do("DROP TABLE rankloop.older")
    database.do("DROP TABLE rankloop.parted")
    before = database.one("SELECT count(*) FROM rankloop.journal")
    with rl.Live(url, background=False, clock=lambda: end, keep=10 * WINDOW) as live:
        with database.costing("remove the older half as `keep=` does", old):
            live.trim()
        removed = before - database.one("SELECT count(*) FROM rankloop.journal")
        print(f"removed {removed:,} of {before:,} entries; the journal's rows take {database.size('journal'):,} bytes")
    with database.costing("VACUUM afterwards", old):
        database.do("VACUUM (INDEX_CLEANUP ON) rankloop.journal")
    print(f"and {database.size('journal'):,} bytes after VACUUM")


def measure(url: str, n: int, n_keys: int, group: int, *, removing: bool) -> None:
    database = Database(url)
    print(f"{n:,} impressions over {n_keys:,} keys, written in groups of {group}")
    with database.costing("show, hear and learn", n):
        end = fill(url, n, n_keys, group)
    told(database, n, n_keys)
    if removing:
        remove(database, url, n, end)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--impressions", type=int, default=200_000)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--group", type=int, default=50, help="impressions that share a commit")
    parser.add_argument("--alone", type=int, default=5_000, help="impressions that are written one by one as well")
    parser.add_argument("--store", default="", help="an empty database, if not one of a server of its own")
    given = parser.parse_args()
    if given.store:
        measure(given.store, given.impressions, given.keys, given.group, removing=True)
        return
    import postgres_server

    with postgres_server.running(settings=["fsync=off"]) as server:
        measure(server.empty_database(), given.impressions, given.keys, given.group, removing=True)
        if given.alone:
            measure(server.empty_database(), given.alone, max(1, given.alone // 20), 1, removing=False)


if __name__ == "__main__":
    main()
