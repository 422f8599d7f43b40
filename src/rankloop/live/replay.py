"""The journal replayed: every learner as it was after any entry, and every list that it chose on the way."""

from __future__ import annotations

import base64
import heapq
import json
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from rankloop.live.apply_entries import apply, choice_in, unpack_list
from rankloop.live.entries import (
    CLICK,
    Arm,
    Choice,
    Closing,
    Entry,
    Event,
    Fate,
    Kind,
    pack_choice,
    pack_event,
    unpack_choice,
    unpack_closing,
    unpack_event,
)
from rankloop.live.learner import Learner
from rankloop.live.learner_kinds import new_learner
from rankloop.live.loops import Loops
from rankloop.live.stores import Snapshot, Store, StoreError

LEARNERS_AT_ONCE = 200
"""Learners in memory, of about 16 kB each, while the beginning of a journal is removed."""


@dataclass
class Replayed:
    """A learner during a replay, with its open impressions and the lists that they are counted in."""

    learner: Learner
    names_of: Callable[[int], tuple[str, ...]]
    """Finds the names of a list that nothing has referred to for a while."""
    open: dict[int, Choice] = field(default_factory=dict)
    events: dict[int, list[Event]] = field(default_factory=dict)
    lists: dict[int, tuple[str, ...]] = field(default_factory=dict)
    replaced: dict[int, int] = field(default_factory=dict)
    """When each of the lists but the current one was replaced, in that order."""
    trouble: str = ""
    """What is wrong with the last entry."""

    def take(self, entry: Entry, loops: Loops) -> Choice | None:
        """Let one entry happen; the choice that comes out of it anew, if it is one."""
        kind, number, before = entry.kind, entry.impression or 0, self.learner.version
        self.trouble = ""
        if kind == Kind.EVENT:
            self.events.setdefault(number, []).append(unpack_event(entry.body))
            return None
        told: Choice | Closing | None = None
        if kind == Kind.CHOICE or kind == Kind.RECOVERED:
            told = self._begin(entry)
        elif kind == Kind.CLOSE:
            told = unpack_closing(entry.body)
            self.trouble = self._check_closing(number, told)
            if self.trouble:
                return None
        made = apply(self.learner, entry, loops.sessions, self.open.__getitem__, self.lists.__getitem__, told)
        if kind == Kind.CLOSE:
            del self.open[number]
            self.events.pop(number, None)
            if self.replaced and not self.open:
                self._forget_lists(entry.at - 2 * loops.by_number[self.learner.loop].window)
        elif kind == Kind.LIST:
            if before:
                self.replaced[before] = entry.at
            self.lists[entry.seq] = tuple(unpack_list(entry.body)[0])
        return made

    def _begin(self, entry: Entry) -> Choice:
        """The choice of an impression that begins."""
        choice = choice_in(entry)
        self.open[entry.seq if entry.kind == Kind.CHOICE else entry.impression or 0] = choice
        if choice.version and choice.version not in self.lists:  # a crash had lost it, and the list has changed
            self.lists[choice.version] = self.names_of(choice.version)
            self.replaced[choice.version] = entry.at
        return choice

    def _forget_lists(self, before: int) -> None:
        """Forget lists that were replaced before a moment: no impression that a crash has lost can refer to them."""
        while self.replaced:
            version, at = next(iter(self.replaced.items()))
            if at > before:
                return
            del self.replaced[version]
            self.lists.pop(version, None)

    def _check_closing(self, number: int, closing: Closing) -> str:
        """An impression is closed once, with the clicks that came before, and learned from if the policy chose it."""
        choice = self.open.get(number)
        if choice is None:
            return f"impression {number} was closed twice, or never began"
        clicks = {event.value for event in self.events.get(number, ()) if event.action == CLICK}
        if set(closing.clicks) != clicks:
            return f"impression {number} was clicked at {sorted(clicks)}, and closed with {list(closing.clicks)}"
        if closing.fate == Fate.LEARNED and (choice.arm != Arm.POLICY or number < self.learner.reverted):
            return f"impression {number} was learned from, though it should not have been"
        return ""

    def pack(self) -> bytes:
        """The learner and what is open, for a journal whose entries up to here are removed."""
        rest = {
            "open": {seq: _text(pack_choice(choice)) for seq, choice in self.open.items()},
            "events": {seq: [_text(pack_event(event)) for event in events] for seq, events in self.events.items()},
            "lists": {version: list(names) for version, names in self.lists.items()},
            "replaced": self.replaced,
        }
        state = self.learner.pack()
        return len(state).to_bytes(4, "little") + state + zlib.compress(json.dumps(rest).encode(), 1)

    def unpack(self, packed: bytes) -> None:
        """Take over what `pack` wrote."""
        state, rest = split_base(packed)
        self.learner.unpack(state)
        self.open = open_in_base(packed)
        self.events = {
            int(seq): [unpack_event(_bytes(body)) for body in bodies] for seq, bodies in rest["events"].items()
        }
        self.lists = {int(version): tuple(names) for version, names in rest["lists"].items()}
        self.replaced = {int(version): at for version, at in rest.get("replaced", {}).items()}


def split_base(packed: bytes) -> tuple[bytes, dict[str, Any]]:
    """The packed learner in a base, and the rest of it."""
    n = int.from_bytes(packed[:4], "little")
    return packed[4 : 4 + n], json.loads(zlib.decompress(packed[4 + n :]))


def open_in_base(packed: bytes) -> dict[int, Choice]:
    """The choices of the impressions that were open where the journal begins."""
    rest = split_base(packed)[1]
    return {int(seq): unpack_choice(_bytes(body)) for seq, body in rest["open"].items()}


def names_in_store(store: Store, learner: int, version: int) -> tuple[str, ...]:
    """The names in a list that a learner had, also where the entry of the list has been removed."""
    entry = store.entry(version)
    if entry is not None:
        return tuple(unpack_list(entry.body)[0])
    base = store.base(learner)
    lists = {} if base is None else split_base(base.state)[1]["lists"]
    if str(version) not in lists:
        raise StoreError(f"{store.name} has no list {version}: it is damaged")
    return tuple(lists[str(version)])


def _text(body: bytes) -> str:
    return base64.b64encode(body).decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text)


class Replay:
    """Replays a store's journal up to an entry, for all learners or for some of them.

    Parameters
    ----------
    store
        The store, open for reading at least.
    trimmed
        Number of the entry up to which entries have been removed.
    upto
        Number of the last entry to replay.
    part, parts
        Which part of the learners to replay: those whose number leaves the remainder `part`. Several passes over a
        large store need little memory.
    only
        The only learner to replay, if not all of a part.
    entries
        The entries to replay, where they have been read already; learners to whom nothing happens are then left out.
    """

    def __init__(
        self,
        store: Store,
        trimmed: int,
        upto: int,
        *,
        part: int = 0,
        parts: int = 1,
        only: int | None = None,
        entries: Sequence[Entry] | None = None,
    ) -> None:
        self.store, self._trimmed, self._upto = store, trimmed, upto
        self._part, self._parts, self._only, self._given = part, parts, only, entries
        self._done = -1
        """Number of the last entry that has been replayed; -1 before the first."""
        self.loops = Loops()
        self.learners: dict[int, Replayed] = {}

    def __iter__(self) -> Iterator[tuple[Entry, Replayed | None, Choice | None]]:
        """Each entry with the learner after it, and the choice made anew where the entry is one."""
        if self._done < 0:
            self._done = self._trimmed
            if self._trimmed:
                self._begin()
        for entry in self._entries():
            self._done = entry.seq
            if not entry.learner:
                if entry.seq > self._trimmed:
                    self.loops.take(entry)
                yield entry, None, None
                continue
            if self._only not in (None, entry.learner) or entry.learner % self._parts != self._part:
                continue
            replayed = self.learners.get(entry.learner)
            if replayed is None:
                replayed = self._bring_in(entry.learner)
            yield entry, replayed, replayed.take(entry, self.loops)

    def through(self, upto: int) -> Iterator[tuple[Entry, Replayed | None, Choice | None]]:
        """Go on up to another entry, from the last one that was asked for."""
        self._upto = upto
        yield from self
        self._done = max(self._done, upto)

    @property
    def done(self) -> int:
        """Number of the entry up to which everything has been replayed."""
        return max(self._done, self._trimmed)

    def _entries(self) -> Iterator[Entry]:
        if self._given is not None:
            yield from self._given
            return
        if self._only is None:
            yield from self.store.entries(self._done, self._upto)
            return
        shared = self.store.entries(self._done, self._upto, learner=0)
        own = self.store.entries(self._done, self._upto, learner=self._only)
        yield from heapq.merge(shared, own)

    def _begin(self) -> None:
        for entry in self.store.entries(0, self._trimmed, learner=0):
            self.loops.take(entry)
        if self._given is not None:
            return
        one = None if self._only is None else self.store.learner(self._only)
        for known in self.store.learners() if one is None else (one,):
            mine = self._only in (None, known.number) and known.number % self._parts == self._part
            if mine and self.store.base(known.number) is not None:
                self._bring_in(known.number)

    def _bring_in(self, number: int) -> Replayed:
        """A learner as it was where the journal begins."""
        replayed = self.learners[number] = self._learner(number)
        base = self.store.base(number) if self._trimmed else None
        if base is not None:
            replayed.unpack(base.state)
        return replayed

    def _learner(self, number: int) -> Replayed:
        known = self.store.learner(number)
        assert known is not None
        loop = self.loops.by_number[known.loop]
        learner = new_learner(number, loop.number, known.key, loop.settings, None, loop.items)
        # Without a reference to this replay, whose learners are then gone when it is, and not only when Python looks.
        return Replayed(learner, partial(names_in_store, self.store, number))


def bases_at(store: Store, trimmed: int, upto: int) -> Iterator[Snapshot]:
    """What learners to whom something happened after one entry are at another, for a journal that begins there.

    Few of them are in memory at a time, however many there are.
    """
    entries = list(store.entries(trimmed, upto))
    parts = -(-len({entry.learner for entry in entries}) // LEARNERS_AT_ONCE)
    for part in range(parts):
        replay = Replay(store, trimmed, upto, part=part, parts=parts, entries=entries)
        for _ in replay:
            pass
        for number, replayed in replay.learners.items():
            yield Snapshot(number, replayed.learner.applied, replayed.pack())
