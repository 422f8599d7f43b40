"""What the tests of the live loop share: a clock to turn, a crash, and what a journal says, read plainly."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import rankloop as rl
from rankloop.live.apply_entries import choice_in
from rankloop.live.entries import (
    CLICK,
    Arm,
    Fate,
    Kind,
    unpack_choice,
    unpack_closing,
    unpack_event,
)
from rankloop.live.learner import OVERHEAD
from rankloop.live.stores import Store

MakeStore = Callable[[], Store]
"""Makes a store object, each time for the same place."""

SECONDS_TO_CLOSE = 60.0
"""How long impressions may stay open after their windows have passed, on a busy machine."""


class Clock:
    """A clock that tests turn, in seconds."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def room_for(n: int) -> int:
    """Bytes that so many learners of four items take."""
    return n * (OVERHEAD + 1_200)


def open_live(make: MakeStore, clock: Clock | None = None, **more: Any) -> rl.Live:
    """A Live without a background thread, at the time of a clock."""
    return rl.Live(make(), clock=clock or Clock(), **{"background": False, **more})


def crash(live: rl.Live) -> None:
    """End a Live as a crash does: what has not been written is lost, and nobody says goodbye."""
    live._closed = True
    if live._reader is not None:
        live._reader.close()
    live._store.close()


def in_journal(live: rl.Live) -> list[Any]:
    """All entries that are in the store now."""
    return list(live._store.entries(0))


def image(live: rl.Live) -> list[Any]:
    """Everything that a call which is refused must leave as it is: what is written and what waits."""
    counts = {name: dict(loop.counts) for name, loop in live._loops.by_name.items()}
    return [in_journal(live), list(live._journal.rows), live._journal.seq, counts]


class Told:
    """What the journal tells of impressions, by a plain reading that shares no code with the replay."""

    def __init__(self, entries: list[Any]) -> None:
        self.clicks: Counter[tuple[int, int]] = Counter()
        self.choices: dict[int, Any] = {}
        self.closings: dict[int, list[Any]] = {}
        self.reverts: dict[int, list[int]] = {}
        self.learner: dict[int, int] = {}
        self.closed_at: dict[int, int] = {}
        self.counts: Counter[str] = Counter()
        assert [entry.seq for entry in entries] == sorted({entry.seq for entry in entries})
        for entry in entries:
            number = entry.impression or 0
            if entry.kind in (Kind.CHOICE, Kind.RECOVERED):
                number = entry.seq if entry.kind == Kind.CHOICE else number
                assert number not in self.choices, "an impression began twice"
                self.choices[number] = choice_in(entry)
                self.learner[number] = entry.learner
                self.counts["impressions"] += 1
                self.counts["recovered"] += entry.kind == Kind.RECOVERED
            elif entry.kind == Kind.EVENT:
                event = unpack_event(entry.body)
                assert number in self.choices, "an event belongs to no impression"
                assert number not in self.closings, "an event came after its impression was closed"
                if event.action == CLICK:
                    self.clicks[number, event.value] += 1
                    self.counts["clicks"] += 1
            elif entry.kind == Kind.CLOSE:
                self.closings.setdefault(number, []).append(unpack_closing(entry.body))
                self.closed_at[number] = entry.seq
                self.counts["closed"] += 1
                self.counts[Fate.NAMES[unpack_closing(entry.body).fate]] += 1
            elif entry.kind == Kind.REVERT:
                self.reverts.setdefault(entry.learner, []).append(entry.seq)
            elif entry.kind == Kind.LEARNER:
                self.counts["keys"] += 1

    def check(self) -> None:
        """What must hold in any journal: one closing at most, with all clicks, and the right fate."""
        assert set(self.clicks.values()) <= {1}, "a click is there twice"
        clicked: dict[int, set[int]] = {}
        for number, position in self.clicks:
            clicked.setdefault(number, set()).add(position)
        for number, closings in self.closings.items():
            assert len(closings) == 1, "an impression was closed twice"
            closing, choice = closings[0], self.choices[number]
            assert set(closing.clicks) == clicked.get(number, set())
            last = self.closed_at[number]
            reverted = any(number < seq < last for seq in self.reverts.get(self.learner[number], ()))
            if closing.fate == Fate.LEARNED:
                assert choice.arm == Arm.POLICY
                assert not reverted
            elif choice.arm != Arm.POLICY:
                assert closing.fate in (Fate.NOT_POLICY, Fate.NEVER_SHOWN)
            elif reverted:
                assert closing.fate in (Fate.REVERTED, Fate.NEVER_SHOWN)
            else:
                assert closing.fate in (Fate.NEVER_SHOWN, Fate.TIE)
                if closing.fate == Fate.NEVER_SHOWN:
                    assert not closing.clicks

    def check_counts(self, live: rl.Live) -> None:
        """What the loops have counted is what the journal tells."""
        names = ("impressions", "recovered", "clicks", "closed", "keys", *Fate.NAMES)
        counted = Counter[str]()
        for loop in live._loops:
            counted.update({name: loop.counts[name] for name in names})
        assert {name: counted[name] for name in names} == {name: self.counts[name] for name in names}


def check_whole(live: rl.Live) -> Told:
    """Write what waits, and check everything that must always hold of a store."""
    found = live.verify()
    assert found.ok, found.differences
    told = Told(in_journal(live))
    told.check()
    told.check_counts(live)
    return told


def close_all(live: rl.Live, clock: Clock, *, after: float = 1e9) -> None:
    """Let every window pass, and close what is open."""
    clock.now += after
    until = time.monotonic() + SECONDS_TO_CLOSE
    while time.monotonic() < until:
        live.attend()
        first, last = live._impressions._unloaded
        if first >= last and not live._impressions._open:
            return
        time.sleep(0.001)  # a background thread may be about to close some of them
    raise AssertionError("impressions stay open")


def sequence_of(live: rl.Live, impression: str) -> int:
    """The number of an impression."""
    return live._signer.read(impression).seq


def choice_of(live: rl.Live, impression: str) -> Any:
    """The choice in an id."""
    return unpack_choice(live._signer.read(impression).body)
