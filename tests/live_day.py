"""24 hours in fast motion: a shop's day with a clock that is turned, windows, retention, snapshots and a restart.

    python tests/live_day.py --impressions 2000000

Every hour is alike, its first half twice as busy as its second. Keys are asked for as words are used, a few of them
nearly always; production's lists change; clicks come after seconds, after minutes, twice, or too late. There is less
memory than keys and impressions would take, so that both leave it and come back, and the journal is kept for a few
hours only. At noon the program is started again. What the process holds is looked at every hour: it fails if memory
grows after the first tenth of the day, or if the store is larger than docs/live.md says.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from live_world import Clock

import rankloop as rl
from rankloop.live import sqlite, upkeep

HOURS = 24
GROUP = 50
"""Lists between two commits."""
WINDOW = 1_800.0
KEEP_HOURS = 3
DELAYS = (5.0, 300.0, 2_400.0)
"""Seconds until a click comes; after the longest, it is too late."""

BYTES_PER_IMPRESSION, BYTES_PER_KEY = 166, 561
"""What docs/live.md says that an impression takes in the file, with one click and its closing, and a key."""
MARGIN_OF_SIZE = 1.25
"""How much larger the file may be: pages from which rows were removed are not full until they are used again."""
BLOCKS_LEFT = 0.1
"""Blocks of memory that an impression may leave behind: one that each impression or each commit left would be seen."""
MARGIN_OF_MEMORY = 1.1
"""How much more the process may hold in any hour than after a tenth of the day, before retention has begun."""


@dataclass
class Hour:
    """What there was at the end of an hour."""

    hour: int
    impressions: int
    blocks: int
    """Blocks of memory that Python had given out."""
    resident: float
    """MB that the process had in memory."""
    size: int
    """Bytes of the store."""
    open: int
    warm: int
    trimmed: int
    """Entries that retention had removed."""

    def __str__(self) -> str:
        return (
            f"{self.hour:4} {self.impressions:11,} {self.resident:9.0f} {self.blocks:11,} {self.size / 1e6:9.1f} "
            f"{self.open:8,} {self.warm:8,} {self.trimmed:11,}"
        )


HEAD = "hour impressions  memory MB      blocks  store MB     open learners     removed"


def resident() -> float:
    """MB that this process has in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


class Day:
    """A day of a shop.

    Parameters
    ----------
    store
        Path of an SQLite file.
    impressions
        Number of lists shown in the whole day.
    keys
        Number of keys.
    memory
        Bytes that learners and open impressions may take.
    """

    def __init__(self, store: Path, impressions: int, keys: int, memory: int, seed: int = 1) -> None:
        self._store, self._keys, self._memory = store, keys, memory
        self._per_hour = impressions // HOURS
        self._draw = random.Random(seed)
        self.clock = Clock()
        self._coming: tuple[deque[tuple[float, str, str]], ...] = tuple(deque() for _ in DELAYS)
        self._lists: dict[int, list[str]] = {}
        self.fates: Counter[str] = Counter()
        self.hours: list[Hour] = []
        self._live = self._open()
        self._live.warm_up()
        gc.collect()
        gc.freeze()  # what has been compiled stays, and need not be looked at every hour

    def _open(self) -> rl.Live:
        live = rl.Live(self._store, clock=self.clock, memory=self._memory, keep=f"{KEEP_HOURS} hours", background=False)
        live.create("search", kind="rerank", window=WINDOW, holdout=0.05, seed=1)
        return live

    def run(self, tell: Callable[[Hour], None] | None = None) -> None:
        """Let the day pass, and tell of each hour if so asked."""
        for hour in range(1, HOURS + 1):
            self._pass_hour()
            if hour == HOURS // 2:
                self._live.close()
                self._live = self._open()
            self.hours.append(self._look(hour))
            if tell is not None:
                tell(self.hours[-1])

    def _pass_hour(self) -> None:
        busy = 2 * self._per_hour // 3
        for n, seconds in ((busy, 1_800), (self._per_hour - busy, 1_800)):
            left = n
            while left:
                some = min(GROUP, left)
                left -= some
                self.clock.now += seconds * some / n
                self._show(some)
                self._hear()
                self._live.attend()

    def _show(self, n: int) -> None:
        draw = self._draw
        for _ in range(n):
            key = int(self._keys ** draw.random()) - 1  # as often as words of a language: the first ones mostly
            items = self._lists.setdefault(key, [f"item-{i}" for i in range(10)])
            if draw.random() < 0.01:
                place = draw.randrange(9)
                items[place], items[place + 1] = items[place + 1], items[place]
            shown = self._live.rank("search", f"query {key}", items, user=f"user {draw.randrange(100_000)}")
            assert not shown.fallback, shown.reason
            if draw.random() < 0.6:
                delay = 0 if draw.random() < 0.7 else 1 if draw.random() < 0.95 else 2
                clicked = shown.items[min(draw.randrange(10), draw.randrange(10))]
                self._coming[delay].append((self.clock.now + DELAYS[delay], shown.id, clicked))

    def _hear(self) -> None:
        batch = []
        for coming in self._coming:
            while coming and coming[0][0] <= self.clock.now:
                _, id_, item = coming.popleft()
                batch += [{"impression": id_, "item": item}] * (2 if self._draw.random() < 0.02 else 1)
        self.fates.update(self._live.events(batch))

    def _look(self, hour: int) -> Hour:
        gc.collect()
        status = self._live.status("search")
        return Hour(
            hour=hour,
            impressions=status["impressions"],
            blocks=sys.getallocatedblocks(),
            resident=resident(),
            size=self._live.store.size(),
            open=status["open"],
            warm=status["warm"],
            trimmed=self._live._impressions.trimmed,
        )

    @property
    def settled(self) -> list[Hour]:
        """The hours after the first tenth of the day, but for the one that ends with a new start."""
        return [hour for hour in self.hours if hour.hour >= HOURS / 10 and hour.hour != HOURS // 2]

    def documented_size(self, hour: Hour) -> float:
        """Bytes that the store may take after an hour, from what docs/live.md says.

        What is too old is looked for every hour, and is not removed before a checkpoint has passed it; the first half
        of an hour has two thirds of its impressions; an impression has at least two entries. And SQLite lets so many
        pages gather beside the file before it moves them there, and as many again that one commit can change.
        """
        kept = self._per_hour * (KEEP_HOURS + 1 + 1 / 3) + upkeep.CHECKPOINT_EVERY / 2
        rows = BYTES_PER_IMPRESSION * min(kept, hour.impressions) + BYTES_PER_KEY * len(self._lists)
        return MARGIN_OF_SIZE * (rows + 2 * sqlite.PAGES_BEFORE_MOVE * 4_096)

    def check(self) -> None:
        """Nothing grows once the first tenth of the day is over but what lies between two hours that are alike."""
        first, last = self.settled[:3], self.settled[-3:]
        shown = last[-1].impressions - first[-1].impressions
        left = max(hour.blocks for hour in last) - max(hour.blocks for hour in first)
        assert left < BLOCKS_LEFT * shown, f"{left:,} blocks of memory were left behind by {shown:,} impressions"
        before, after = self.settled[0].resident, max(hour.resident for hour in self.settled)
        assert after < MARGIN_OF_MEMORY * before, f"the process grew from {before:.0f} to {after:.0f} MB"
        for hour in self.hours:
            most = self.documented_size(hour)
            assert hour.size < most, f"hour {hour.hour}: {hour.size:,} bytes in the store, and not {most:,.0f} at most"

    def end(self) -> None:
        """Close everything, and check what is left."""
        live = self._live
        self.clock.now += WINDOW + 1
        status = live.status("search")
        assert status["open"] == 0, status
        assert status["closed"] == status["impressions"] == HOURS * self._per_hour, status
        assert status["clicks"] == self.fates["accepted"], (status, self.fates)
        assert status["duplicates"] == self.fates["duplicate"], (status, self.fates)
        assert status["late"] == self.fates["late"] > 0, (status, self.fates)
        assert not set(self.fates) - {"accepted", "duplicate", "late"}, self.fates
        found = live.verify()
        assert found.ok, found.differences[:3]
        live.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--impressions", type=int, default=2_000_000)
    parser.add_argument("--keys", type=int, help="number of keys; one for 100 impressions if not given")
    parser.add_argument("--memory", type=int, help="bytes for learners; 32 per impression if not given")
    given = parser.parse_args()
    keys, memory = given.keys or given.impressions // 100, given.memory or 32 * given.impressions
    begun, used = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        day = Day(Path(folder) / "shop.db", given.impressions, keys, memory)
        print(HEAD, flush=True)
        day.run(lambda hour: print(hour, flush=True))
        day.check()
        day.end()
    seconds, used = time.perf_counter() - begun, time.process_time() - used
    print(f"{dict(day.fates)}; memory is flat, the store as large as documented, and the journal replays")
    print(f"{seconds:.0f} s, {1e6 * used / given.impressions:.0f} µs of the processor per impression")


if __name__ == "__main__":
    main()
