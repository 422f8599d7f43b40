"""What a store must do: keep a journal, and what saves time when it is read again.

`rankloop.live.conformance` holds the checks that every store passes, for stores of your own too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any, NamedTuple, Protocol

from rankloop.live.entries import Entry

SCHEMA_VERSION = 2

ROWS_AT_ONCE = 5_000
"""Rows that a store asks its database for in one query."""


class StoreError(Exception):
    """The store cannot be used, or not now; the message says why and what to do."""


class StoreLost(StoreError):
    """The store did not take a write or answer a question: it may do so later."""


class StoreConflict(StoreError):
    """What was to be written contradicts what is there."""


@dataclass(frozen=True)
class Header:
    """What a store says of itself when it is opened."""

    store: bytes
    """Four bytes that tell this store from others."""
    secret: bytes
    """Key of the signatures of impression ids."""
    last: int
    """Number of the last entry, 0 if there is none."""
    last_learner: int
    clean: bool
    """Whether the last program that wrote here ended as it should."""
    checkpoint: int
    """Snapshots cover every entry up to this one."""
    cursor: int
    """No impression that began before this entry is still open."""
    trimmed: int
    """Entries up to this one have been removed; learners begin at their base."""


class KnownLearner(NamedTuple):
    """A key that has a learner."""

    number: int
    loop: int
    key: str


class Tally(NamedTuple):
    """What some entries say of one learner in one minute: how many there are, and the first and last of them."""

    learner: int
    loop: int
    """The learner's loop; 0 for entries that concern no single learner."""
    minute: int
    entries: int
    first: int
    last: int
    from_: int
    """When the first was written, in milliseconds."""
    upto: int
    impressions: int
    clicks: int
    learned: int


class Snapshot(NamedTuple):
    """A learner's state after entry `seq`."""

    learner: int
    seq: int
    state: bytes


@dataclass
class Batch:
    """What one transaction writes: all of it or nothing."""

    entries: list[Entry] = field(default_factory=list)
    learners: list[KnownLearner] = field(default_factory=list)
    snapshots: list[Snapshot] = field(default_factory=list)
    totals: dict[int, bytes] = field(default_factory=dict)
    """Counts of each loop, as they are after these entries; 0 stands for the store as a whole."""
    checkpoint: int | None = None
    cursor: int | None = None
    clean: bool | None = None


class Store(Protocol):
    """Where the journal is kept. One program at a time writes; every method may raise StoreLost."""

    name: str
    """What to call the store in messages: a path or an address, never with a password."""

    def open(self) -> Header:
        """Claim the store for writing, making it if it is not there."""

    def write(self, batch: Batch) -> None:
        """Write a batch in one transaction and return once it is durable.

        Entries and learners that are there already, the same in every part, are left as they are: a caller that did not
        hear whether a write succeeded writes again, perhaps with more. With other content they raise StoreError.
        """

    def entries(self, after: int, upto: int | None = None, learner: int | None = None) -> Iterator[Entry]:
        """The entries after one and up to another, in order; of one learner if so asked."""

    def entry(self, seq: int) -> Entry | None:
        """One entry, if it is there."""

    def of_impressions(self, first: int, last: int) -> Iterable[Entry]:
        """All later entries about the impressions that began from entry `first` to entry `last`, in order."""

    def find_learner(self, loop: int, key: str) -> KnownLearner | None:
        """The learner of a key."""

    def learner(self, number: int) -> KnownLearner | None:
        """A learner by its number."""

    def learners(self, loop: int | None = None, after: int = 0, limit: int | None = None) -> Iterator[KnownLearner]:
        """Learners in the order of their numbers, after one of them."""

    def learners_with(self, text: str, loop: int, limit: int) -> list[KnownLearner]:
        """Learners of a loop whose key contains a text, in the order of their numbers."""

    def tally(self, after: int, upto: int, limit: int) -> list[Tally]:
        """The last entries after one and up to another, counted by learner and minute."""

    def notable(self, after: int, upto: int, limit: int) -> list[Entry]:
        """The last entries after one and up to another that are rare, in order.

        They are OPENED, LOOP and REVERT entries, and CLOSE entries that bring news.
        """

    def snapshot(self, learner: int) -> Snapshot | None:
        """The last snapshot of a learner."""

    def base(self, learner: int) -> Snapshot | None:
        """A learner's state where the journal begins, if its first entries have been removed."""

    def totals(self) -> Mapping[int, bytes]:
        """The counts of each loop, as last written."""

    def trim(self, upto: int, bases: Iterable[Snapshot]) -> None:
        """Remove the entries up to one of them, and keep the states that learners had there."""

    def keys(self) -> Mapping[str, bytes]:
        """What is kept of each access key, by the key's name."""

    def put_key(self, name: str, record: bytes) -> None:
        """Keep something of an access key, in place of what is there, and return once it is durable."""

    def size(self) -> int:
        """Bytes that the store takes."""

    def reader(self) -> Store:
        """The same store, not opened yet, read-only over a connection of its own: nobody waits for a long look."""

    def close(self) -> None:
        """Let go of the store."""


def in_pages(read: Callable[[int, int], Sequence[Any]], after: int, limit: int | None = None) -> Iterator[Any]:
    """The rows after a number, in the order of their first column, which is their number.

    `read(after, wanted)` reads the next of them, as many as wanted or all that are left.
    """
    left = 2**62 if limit is None else limit
    while left > 0:
        wanted = min(left, ROWS_AT_ONCE)
        rows = read(after, wanted)
        yield from rows
        if len(rows) < wanted:
            return
        after, left = rows[-1][0], left - len(rows)


def not_yet_written(store: Store, batch: Batch) -> Batch:
    """A batch without what is there already, because the answer to an earlier write was lost."""
    rest = replace(batch)
    if batch.entries:
        numbers = [entry.seq for entry in batch.entries]
        entries = {entry.seq: entry for entry in store.entries(min(numbers) - 1, max(numbers))}
        rest.entries = [entry for entry in batch.entries if not _is_there(store, entries.get(entry.seq), entry)]
    if batch.learners:
        last = max(learner.number for learner in batch.learners)
        later = store.learners(after=min(learner.number for learner in batch.learners) - 1)
        known = {learner.number: learner for learner in takewhile(lambda learner: learner.number <= last, later)}
        rest.learners = [new for new in batch.learners if not _is_there(store, known.get(new.number), new)]
    return rest


def _is_there(store: Store, known: Entry | KnownLearner | None, new: Entry | KnownLearner) -> bool:
    if known is not None and known != new:
        what = "entry" if isinstance(new, Entry) else "learner"
        raise StoreConflict(f"{store.name} has another {what} {new[0]} already: two programs have written to it")
    return known is not None
