"""A model-based test: random calls, crashes, clock jumps and re-deliveries against a plain model.

The model keeps what was acknowledged. Whatever happens, the journal must hold each acknowledged event once, each
impression is closed at most once, and the journal replays to the learners in memory.

    pytest tests/live/test_machine.py --hypothesis-profile=thorough
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)
from live_world import (
    Clock,
    MakeStore,
    Told,
    check_whole,
    close_all,
    crash,
    in_journal,
    open_live,
    room_for,
    sequence_of,
)

from rankloop.live.entries import Fate

LISTS = (["a", "b", "c", "d"], ["a", "b", "c", "d"], ["b", "a", "x", "d"], ["c", "d"], ["y"], ["d", "c", "b", "a", "z"])
WINDOW = 60.0
KEYS = ("one", "two", "three")
MEMORY = room_for(2)


@dataclass
class Known:
    """What the model knows of an impression."""

    number: int
    items: list[str]
    at: float
    deadline: float
    shown: bool
    duel: Any = None
    single: bool = False
    """Whether there was nothing to decide."""
    clicks: set[int] = field(default_factory=set)
    seen: int = -1
    finished: bool = False
    passed: bool = False
    """Whether its window was once seen to have passed; a clock that was set back may show it open again."""


class LiveMachine(RuleBasedStateMachine):
    """Drives a Live and a model of what must hold."""

    impressions = Bundle("impressions")

    def __init__(self, new_place: Callable[[], MakeStore]) -> None:
        super().__init__()
        self.make_store = new_place()
        self.clock = Clock()
        self.known: dict[str, Known] = {}
        self.numbers_used: set[bytes] = set()
        self.paused = False

    @initialize(holdout=st.sampled_from([0.0, 0.3]))
    def begin(self, holdout: float) -> None:
        """Open it."""
        self.live = self.open()
        self.live.create("search", kind="rerank", positions=3, window=WINDOW, holdout=holdout, seed=5)
        self.live.create("rankers", kind="evaluate", rankers=["p", "q"], positions=2, window=WINDOW, seed=6)

    def open(self) -> Any:
        return open_live(self.make_store, self.clock, memory=MEMORY)

    @property
    def now(self) -> float:
        return self.live._journal.now() / 1000

    # -- lists out -----------------------------------------------------------------------------------------------

    @rule(target=impressions, key=st.sampled_from(KEYS), items=st.sampled_from(LISTS), deferred=st.booleans(),
          user=st.sampled_from([None, "u1", "u2", "u3"]), pin=st.booleans())  # fmt: skip
    def rank(self, key: str, items: list[str], deferred: bool, user: str | None, pin: bool) -> str:
        """A list is handed out, and uses random numbers that no list has used before."""
        pinned = {1: "ad"} if pin else None
        shown = self.live.rank("search", key, items, user=user, deferred=deferred, pinned=pinned)
        assert not shown.fallback, shown.reason
        assert set(shown.items) <= {*items, "ad"}
        if self.paused or shown.arm == "holdout":
            assert [item for item in shown.items if item != "ad"] == items[: len(shown.items) - pin]
        if shown.arm == "policy" and len(items) > 1:
            self.use_numbers("search", key)
        id_ = self.remember(shown.id, shown.items, not deferred)
        self.known[id_].single = len(items) == 1
        return id_

    @rule(target=impressions, user=st.sampled_from([None, "u1", "u2"]))
    def duel(self, user: str | None) -> str:
        """A pair of rankers is handed out."""
        duel = self.live.duel("rankers", user=user)
        assert set(duel.rankers) <= {"p", "q"}
        if self.paused:
            assert duel.rankers == ("p", "p")
        else:
            self.use_numbers("rankers", "")
        return self.remember(duel.id, [], False, duel=duel)

    @rule(id_=impressions)
    def interleave(self, id_: str) -> None:
        """A page of a duel, or the next one."""
        known = self.known[id_]
        lists = {"p": ["a", "b", "c", "d", "e", "f"], "q": ["f", "e", "d", "c", "b", "a"]}
        wanted = {} if known.duel is None else {name: lists[name] for name in known.duel.rankers}
        fates = self.fates(known, "accepted")
        try:
            shown = self.live.interleave(id_, wanted)
        except ValueError:
            assert known.duel is None or fates != {"accepted"} or len(known.items) >= 6
            return
        assert "accepted" in fates
        if not known.shown:
            known.shown, known.deadline = True, self.now + WINDOW
        assert not set(known.items) & set(shown.items)
        known.items = known.items + shown.items

    def use_numbers(self, loop: str, key: str) -> None:
        learner = self.live._learners.warm(self.live._loops.by_name[loop], key)
        numbers = learner.number.to_bytes(4, "little") + learner.policy.state.rng.tobytes()
        assert numbers not in self.numbers_used, "random numbers were used twice"
        self.numbers_used.add(numbers)

    def remember(self, id_: str, items: list[str], shown: bool, duel: Any = None) -> str:
        assert id_ not in self.known
        now = self.now
        self.known[id_] = Known(sequence_of(self.live, id_), items, now, now + WINDOW, shown, duel)
        return id_

    # -- events in -----------------------------------------------------------------------------------------------

    def fates(self, known: Known, otherwise: str) -> set[str]:
        """What may become of an event now."""
        late = self.now >= known.deadline
        passed, known.passed = known.passed, known.passed or late
        if known.finished or late:
            return {"late"}
        return {otherwise, "late"} if passed else {otherwise}

    @rule(
        id_=impressions, position=st.integers(0, 3), times=st.integers(1, 2), seen=st.sampled_from([None, None, 1, 9])
    )
    def click(self, id_: str, position: int, times: int, seen: int | None) -> None:
        """A click, perhaps delivered twice."""
        known = self.known[id_]
        for _ in range(times):
            item = known.items[position] if position < len(known.items) else "never shown"
            fates = self.fates(known, "accepted")
            if position in known.clicks:
                fates = {"duplicate" if fate == "accepted" else fate for fate in fates}
            elif item not in known.items:
                fates = {"refused" if fate == "accepted" else fate for fate in fates}
            elif item == "ad" or known.single:
                fates = {"ignored" if fate == "accepted" else fate for fate in fates}
            try:
                fate = self.live.click(id_, item, seen=seen)
            except ValueError:
                fate = "refused"
            assert fate in fates
            if fate == "accepted":
                known.clicks.add(position)
                known.shown = True
            if fate not in ("late", "refused") and seen is not None:
                known.seen = max(known.seen, seen)
            known.finished |= fate == "late"

    @rule(id_=impressions, seen=st.integers(0, 4))
    def seen(self, id_: str, seen: int) -> None:
        """How far a list was seen."""
        known = self.known[id_]
        fates = self.fates(known, "accepted" if seen > known.seen else "duplicate")
        fate = self.live.seen(id_, seen)
        assert fate in fates
        if fate == "accepted":
            known.seen = seen
        known.finished |= fate == "late"

    @rule(id_=impressions)
    def show(self, id_: str) -> None:
        """A deferred list is shown."""
        known = self.known[id_]
        fates = self.fates(known, "duplicate" if known.shown else "accepted")
        fate = self.live.shown(id_)
        assert fate in fates
        if fate == "accepted":
            known.shown, known.deadline = True, self.now + WINDOW
        known.finished |= fate == "late"

    @rule(id_=impressions)
    def finish(self, id_: str) -> None:
        """An impression is closed early; its closing is durable when the call returns."""
        known = self.known[id_]
        late = known.finished or known.passed or self.now >= known.deadline
        fate = self.live.finish(id_)
        assert fate == "accepted" or (fate == "late" and late)
        known.finished = True

    @rule(id_=impressions)
    def send_nonsense(self, id_: str) -> None:
        """Ids that nobody handed out change nothing."""
        before = len(in_journal(self.live)) + len(self.live._journal.rows)
        assert self.live.click(id_[:-1] + ("A" if id_[-1] != "A" else "B"), "a") == "unknown"
        assert len(in_journal(self.live)) + len(self.live._journal.rows) == before

    # -- interventions -------------------------------------------------------------------------------------------

    @rule(key=st.sampled_from(KEYS))
    def revert(self, key: str) -> None:
        """A key is set back to production's list."""
        try:
            self.live.revert("search", key)
        except ValueError:
            assert self.live._learners.find(self.live._loops.by_name["search"], key) is None
            return
        learner = self.live._learners.warm(self.live._loops.by_name["search"], key)
        if learner is not None and learner.names:
            assert self.live.best("search", key) == list(learner.names[:3])

    @rule(paused=st.booleans())
    def pause(self, paused: bool) -> None:
        """Production's lists are shown, or the policy's again."""
        for loop in ("search", "rankers"):
            (self.live.pause if paused else self.live.resume)(loop)
        self.paused = paused

    @rule(key=st.sampled_from(KEYS))
    def discard(self, key: str) -> None:
        """A learner comes into an unknown state, as after an error in its policy."""
        learner = self.live._learners.warm(self.live._loops.by_name["search"], key)
        if learner is not None:
            with learner.lock:
                self.live._learners.discard(learner)

    # -- time, looking after itself, the end -----------------------------------------------------------------------

    @rule(seconds=st.sampled_from([1.0, 20.0, 61.0, 1e7]))
    def time_passes(self, seconds: float) -> None:
        """Time passes, perhaps by a jump."""
        self.clock.now += seconds

    @rule(seconds=st.sampled_from([1.0, 50.0, 1e6]))
    def clock_is_set_back(self, seconds: float) -> None:
        """The clock jumps back: the journal's time does not."""
        before = self.now
        self.clock.now -= seconds
        assert self.now >= before

    @rule()
    def attend(self) -> None:
        """What the background thread does."""
        self.live.attend()

    @rule()
    def checkpoint(self) -> None:
        """Snapshots of everything."""
        self.live._upkeep.checkpoint()

    @rule()
    def close_and_open(self) -> None:
        """A clean end and a new start: nothing is lost."""
        counts = {loop.name: dict(loop.counts) for loop in self.live._loops}
        began = set(self.live._impressions._open)
        self.note_passed()
        self.live.close()
        self.live = self.open()
        assert {loop.name: dict(loop.counts) for loop in self.live._loops} == counts
        assert began <= {entry.seq for entry in in_journal(self.live)} | {k.number for k in self.known.values()}
        self.check()

    @rule(attended=st.booleans())
    def crash(self, attended: bool) -> None:
        """What is not written is lost; what was acknowledged is not."""
        if attended:
            self.live.attend()
        self.note_passed()
        crash(self.live)
        self.live = self.open()
        self.check()

    @rule(target=impressions, key=st.sampled_from(KEYS), n=st.integers(1, 3))
    def crash_among_lists(self, key: str, n: int) -> Any:
        """Lists that nobody has written yet are lost; their ids work, and their random numbers are not used again."""
        given = {"items": LISTS[0], "deferred": False, "user": "u1", "pin": False}
        lost = [self.rank(key, **given) for _ in range(n + 1)]
        self.crash(attended=False)
        self.rank(key, **given)
        return multiple(*lost)

    def note_passed(self) -> None:
        """Remember whose windows have passed: a new process may see an earlier time, if the clock was set back."""
        for known in self.known.values():
            known.passed |= self.now >= known.deadline

    @rule()
    def check(self) -> None:
        """The journal holds each acknowledged event once, and replays."""
        told = check_whole(self.live)
        acknowledged = {(known.number, position) for known in self.known.values() for position in known.clicks}
        assert set(told.clicks) == acknowledged

    @precondition(lambda self: hasattr(self, "live"))
    @invariant()
    def counts_add_up(self) -> None:
        """Impressions are open, or closed with one fate."""
        for loop in self.live._loops:
            counts = loop.counts
            assert counts["closed"] == sum(counts[name] for name in Fate.NAMES)
            assert counts["closed"] <= counts["impressions"]

    def teardown(self) -> None:
        """Every impression that anybody heard of ends with one fate, and the journal replays to the end."""
        if not hasattr(self, "live"):
            return
        try:
            self.check()
            close_all(self.live, self.clock)
            told = check_whole(self.live)
            assert set(told.closings) == set(told.choices)
            assert told.counts["refused"] == 0
            for known in self.known.values():
                if known.clicks:
                    assert set(told.closings[known.number][0].clicks) == known.clicks
            self.live.close()
            self.live = self.open()
            Told(in_journal(self.live)).check_counts(self.live)
            check_whole(self.live)
        finally:
            self.live._store.close()


def test_random_days(new_place: Callable[[], MakeStore]) -> None:
    thorough = settings.default.max_examples > 100
    chosen = settings(
        max_examples=settings.default.max_examples if thorough else 20,
        stateful_step_count=settings.default.stateful_step_count if thorough else 40,
        deadline=None,
        derandomize=not thorough,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(lambda: LiveMachine(new_place), settings=chosen)
