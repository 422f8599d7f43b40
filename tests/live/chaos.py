"""Kills a program with kill -9 at random moments under load, again and again, and checks what is left.

    python tests/live/chaos.py shop.db --kills 200
    python tests/live/chaos.py postgres --kills 200

A child ranks, clicks and finishes in three threads, and notes in a file what was acknowledged to it. After each kill
the parent opens the store: every acknowledged event must be there once, ids of the killed child must still work, no
event may count twice, and the journal must replay.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import postgres_server
from live_world import MakeStore, Told, check_whole, crash, in_journal, room_for, sequence_of

import rankloop as rl
import rankloop.live.upkeep
from rankloop.live.postgres import PostgresStore
from rankloop.live.sqlite import SQLiteStore

KEYS = 12
MEMORY = room_for(6)
WINDOW = 2.0
THREADS = 3
LEASE = 1.0
LISTS = (["a", "b", "c", "d"], ["b", "a", "x", "d"], ["d", "c"])


def open_live(make: MakeStore, **more: Any) -> rl.Live:
    live = rl.Live(make(), memory=MEMORY, **more)
    live.create("search", kind="rerank", positions=3, window=WINDOW, holdout=0.1, seed=1)
    return live


def child(make: MakeStore, notes: int, seed: int) -> None:
    """Use a Live until killed."""
    rankloop.live.upkeep.CHECKPOINT_EVERY = 100
    os.write(notes, b'["begun"]\n')
    live = open_live(make)
    known: list[tuple[str, list[str]]] = []

    def work(number: int) -> None:
        generator = random.Random(seed * THREADS + number)
        while True:
            for _ in range(generator.choice([1, 1, 8])):
                shown = live.rank("search", f"key {generator.randrange(KEYS)}", generator.choice(LISTS))
                assert not shown.fallback, shown.reason
                note(notes, "shown", shown.id, shown.items)
                known.append((shown.id, shown.items))
            id_, items = generator.choice(known[-10:])
            for _ in range(generator.randrange(3)):
                item = generator.choice(items)
                note(notes, "click", id_, items.index(item), live.click(id_, item))
            if generator.random() < 0.3:
                note(notes, "finish", id_, live.finish(id_))
            if generator.random() < 0.02:
                live.revert("search", f"key {generator.randrange(KEYS)}") if len(known) > 100 else None

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            note(notes, "failed", f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def note(notes: int, *what: Any) -> None:
    """Keep a line: it is with the kernel when this returns, so that no kill can take it back."""
    os.write(notes, json.dumps(what).encode() + b"\n")


class Chaos:
    """The parent: kills children and checks what they leave."""

    def __init__(self, make: MakeStore, seed: int, end_lease: Callable[[], object]) -> None:
        self.make, self.generator, self.end_lease = make, random.Random(seed), end_lease
        self.acknowledged: set[tuple[str, int]] = set()
        self.finished: set[str] = set()
        self.shown: dict[str, list[str]] = {}
        self.recovered = self.resent = 0

    def kill_one(self, turn: int) -> None:
        """Start a child, kill it after a moment, and take in its notes."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "notes"
            notes = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
            pid = os.fork()
            if pid == 0:
                try:
                    child(self.make, notes, turn)
                finally:
                    os._exit(1)
            try:
                # Moments are counted in notes, so that a slow machine sees as much load as a fast one.
                wanted = self.generator.choice([1, 50, 300]) * self.generator.random()
                until = time.monotonic() + 30
                while path.read_bytes().count(b"\n") <= wanted and time.monotonic() < until:
                    time.sleep(0.002 * self.generator.random())
            finally:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                os.close(notes)
                self.end_lease()
            self.recent: dict[str, list[str]] = {}
            for line in path.read_bytes().split(b"\n")[:-1]:
                self.take(json.loads(line))

    def take(self, line: list[Any]) -> None:
        if line[0] == "shown":
            self.recent[line[1]] = self.shown[line[1]] = line[2]
        elif line[0] == "click" and line[3] in ("accepted", "duplicate"):
            self.acknowledged.add((line[1], line[2]))
        elif line[0] == "finish":
            self.finished.add(line[1])
        assert line[0] != "failed", line[1]

    def check(self, live: rl.Live) -> Told:
        told = check_whole(live)
        numbers = {id_: sequence_of(live, id_) for id_, _ in self.acknowledged}
        lost = [(id_, position) for id_, position in self.acknowledged if (numbers[id_], position) not in told.clicks]
        assert not lost, f"{len(lost)} acknowledged events are lost"
        return told

    def look(self) -> None:
        """Open what the child left, send events for its impressions again while their windows last, and check it."""
        live = open_live(self.make, background=False)
        try:
            recent = list(self.recent.items())
            for id_, items in recent[-10:] + self.generator.sample(recent, min(10, len(recent))):
                position = self.generator.randrange(len(items))
                fate = live.click(id_, items[position])
                self.resent += 1
                assert fate in ("accepted", "duplicate", "late"), fate
                if id_ in self.finished:
                    assert fate == "late", "an impression was open again after it had been closed for good"
                if fate == "accepted":
                    assert (id_, position) not in self.acknowledged, "an event was accepted twice"
                if fate != "late":
                    self.acknowledged.add((id_, position))
            self.recovered = live.status("search")["recovered"]
            self.check(live)
        except BaseException:
            live._store.close()
            raise
        if self.generator.random() < 0.5:
            live.close()
        else:
            crash(live)
            self.end_lease()

    def end(self) -> str:
        """Let all windows pass: every impression in the journal has one end."""
        time.sleep(WINDOW)
        live = open_live(self.make, background=False)
        while live._impressions._open or live._impressions._unloaded[0] < live._impressions._unloaded[1]:
            live.attend()
            time.sleep(0.01)
        told = self.check(live)
        assert set(told.closings) == set(told.choices)
        n = len(in_journal(live))
        live.close()
        return (
            f"{n:,} entries, {len(self.acknowledged):,} acknowledged events, {self.recovered:,} impressions brought "
            f"back by their ids, {self.resent:,} events sent again: nothing lost, nothing twice"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "store", help="a path, the address of an empty PostgreSQL database, or postgres for a server of its own"
    )
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--impatient", action="store_true", help="let the lease of whoever is gone end at once")
    given = parser.parse_args()
    with ExitStack() as stack:
        store = given.store
        if store == "postgres":
            store = stack.enter_context(postgres_server.running()).empty_database()
        make: MakeStore = lambda: (  # noqa: E731
            PostgresStore(store, lease=LEASE) if store.startswith("postgresql:") else SQLiteStore(store)
        )
        open_live(make, background=False).close()  # compiles what the children need
        with tempfile.TemporaryDirectory() as folder:
            warm = open_live(lambda: SQLiteStore(Path(folder) / "warm.db"), background=False)
            warm.finish(warm.rank("search", "one", ["a", "b", "c"]).id)
            warm.close()
        has_lease = given.impatient and store.startswith("postgresql:")
        chaos = Chaos(make, given.seed, (lambda: postgres_server.end_lease(store)) if has_lease else lambda: None)
        for turn in range(given.kills):
            chaos.kill_one(turn)
            chaos.look()
            if (turn + 1) % 20 == 0:
                print(f"{turn + 1} kills", flush=True)
        print(f"{given.kills} kills: {chaos.end()}")


if __name__ == "__main__":
    main()
