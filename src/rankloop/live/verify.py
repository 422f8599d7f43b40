"""The journal checked: every list and every learned state derived anew, and compared with what was written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rankloop.interleaving import Interleaver
from rankloop.live.entries import Choice, Entry, Kind, unpack_json
from rankloop.live.impression import page_in
from rankloop.live.learner_kinds import DuelLearner
from rankloop.live.replay import Replay, Replayed
from rankloop.live.stores import Store

LEARNERS_AT_ONCE = 20_000
"""Learners that one pass over the journal keeps in memory."""
MOST_DIFFERENCES = 20


@dataclass
class Verification:
    """What came out of a replay of the journal.

    Parameters
    ----------
    entries
        Number of entries that were replayed.
    choices
        Number of lists and pairs that were derived anew.
    learned
        Number of impressions that were learned from anew.
    states
        Number of learners' states that were compared.
    recovered
        Number of lists that came back by their ids after a crash: signed, and not derived anew.
    differences
        What was not as written, the first first; at most 20.
    """

    entries: int = 0
    choices: int = 0
    learned: int = 0
    states: int = 0
    recovered: int = 0
    differences: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether everything was as written."""
        return not self.differences

    def __str__(self) -> str:
        found = (
            f"{self.entries:,} entries replayed: {self.choices:,} lists and pairs, "
            f"{self.learned:,} impressions learned from, {self.states:,} states"
        )
        if self.ok:
            return f"{found}; no difference"
        return f"{found}; the first difference: {self.differences[0]}"


class Verifier:
    """Replays a store and notes what differs.

    Parameters
    ----------
    store
        The store.
    trimmed, upto
        Numbers of the entry up to which entries have been removed, and of the last one to replay.
    states
        States of learners in memory, by number: the entry after which they are so, and the packed state.
    """

    def __init__(self, store: Store, trimmed: int, upto: int, states: Mapping[int, tuple[int, bytes]]) -> None:
        self._store, self._trimmed, self._upto, self._states = store, trimmed, upto, states
        self.found = Verification()

    def run(self, progress: Callable[[int], None] | None = None) -> Verification:
        """Replay everything; `progress` is told the number of entries now and then."""
        last = max((known.number for known in self._store.learners()), default=0)
        parts = last // LEARNERS_AT_ONCE + 1
        for part in range(parts):
            replay = Replay(self._store, self._trimmed, self._upto, part=part, parts=parts)
            snapshots: dict[int, tuple[int, bytes]] = {}
            try:
                for entry, replayed, made in replay:
                    self._look(entry, replayed, made, replay, snapshots)
                    if progress is not None and self.found.entries % 10_000 == 0:
                        progress(self.found.entries)
            except Exception as error:  # whatever a damaged journal makes of the policies
                self._differ(f"the replay failed ({type(error).__name__}: {error})")
            for number, replayed in replay.learners.items():
                written = self._states.get(number)
                if written is not None and written[0] == replayed.learner.applied:
                    self._compare_state(replayed, written[1], "in memory")
            if len(self.found.differences) >= MOST_DIFFERENCES:
                break
        return self.found

    def _look(
        self,
        entry: Entry,
        replayed: Replayed | None,
        made: Choice | None,
        replay: Replay,
        snapshots: dict[int, tuple[int, bytes]],
    ) -> None:
        found = self.found
        found.entries += 1
        if replayed is None:
            return
        learner = replayed.learner
        if replayed.trouble:
            self._differ(f"entry {entry.seq}: {replayed.trouble}")
        if entry.kind == Kind.CHOICE:
            written = replayed.open[entry.seq]
            if made is not None:
                found.choices += 1
                if (made.items, made.notes, made.version) != (written.items, written.notes, written.version):
                    self._differ(
                        f"entry {entry.seq}: {learner.key!r} was shown {list(written.items)}, "
                        f"but the replay chooses {list(made.items)}"
                    )
            elif written.items != ((0, 0) if isinstance(learner, DuelLearner) else tuple(range(len(written.items)))):
                self._differ(f"entry {entry.seq}: production's list for {learner.key!r} was not shown as it was")
        elif entry.kind == Kind.RECOVERED:
            found.recovered += 1
        elif entry.kind == Kind.PAGE:
            self._check_page(entry, replay.loops.by_number[learner.loop].settings.interleaver)
        elif entry.kind == Kind.CLOSE and learner.applied == entry.seq:
            found.learned += 1
        if learner.number not in snapshots:
            packed = self._store.snapshot(learner.number)
            snapshots[learner.number] = (0, b"") if packed is None else (packed.seq, packed.state)
        if learner.applied == entry.seq == snapshots[learner.number][0]:
            self._compare_state(replayed, snapshots[learner.number][1], f"in the snapshot after entry {entry.seq}")

    def _check_page(self, entry: Entry, method: str) -> None:
        page, body = page_in(entry, method), unpack_json(entry.body)
        interleaver = Interleaver.known[method]()
        shown = len(page.items) - body["length"]
        lists = [tuple(names) for names in body["lists"]]
        again = interleaver.interleave(lists, length=body["length"], seed=body["seed"]) if shown <= 0 else None
        if again is not None and (again.items, again.notes) != (page.items, page.notes):
            self._differ(f"entry {entry.seq}: {list(page.items)} was interleaved, the replay gives {list(again.items)}")

    def _compare_state(self, replayed: Replayed, written: bytes, where: str) -> None:
        self.found.states += 1
        if replayed.learner.pack() != written:
            self._differ(f"the state of {replayed.learner.key!r} {where} is not what the journal gives")

    def _differ(self, text: str) -> None:
        if len(self.found.differences) < MOST_DIFFERENCES:
            self.found.differences.append(text)
