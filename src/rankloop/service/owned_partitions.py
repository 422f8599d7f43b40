"""The partitions of a store that this process owns: who answers for a key, or for an impression."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from rankloop.live import Live
from rankloop.live.nonblocking import Prompt
from rankloop.live.partition_ids import partition_named, partition_of
from rankloop.service.committing import Committer


class Elsewhere(Exception):
    """Another worker owns the partition that a request is about.

    Parameters
    ----------
    partition
        Its number.
    """

    def __init__(self, partition: int) -> None:
        super().__init__(f"partition {partition} belongs to another worker")
        self.partition = partition


class Partition:
    """One journal that this process owns, with its live loop and who commits it.

    A block `with partition:` keeps it from being handed over meanwhile.

    Parameters
    ----------
    number
        Its number.
    live
        Its live loop, open for writing.
    """

    __slots__ = ("busy", "committer", "live", "number", "prompt")

    def __init__(self, number: int, live: Live) -> None:
        self.number, self.live = number, live
        self.prompt, self.committer = Prompt(live), Committer(live)
        self.busy = 0
        """Requests that are being answered from it."""

    def __enter__(self) -> Partition:
        self.busy += 1
        return self

    def __exit__(self, *_: object) -> None:
        self.busy -= 1

    @property
    def idle(self) -> bool:
        """Whether nobody is being answered from it."""
        return not self.busy and not self.committer.waiting

    @property
    def held(self) -> bool:
        """Whether nobody else can have taken it over: its lease has not ended."""
        until: float | None = getattr(self.live.store, "held_until", None)
        return not self.live.over and (until is None or time.monotonic() < until)


class Partitions:
    """The partitions of a store, as far as this process owns them.

    Parameters
    ----------
    n
        Number of partitions of the store.
    store
        Four bytes that tell the store from others.
    """

    def __init__(self, n: int = 1, store: bytes = b"") -> None:
        self.n, self._store = n, store
        self.owned: dict[int, Partition] = {}

    def __iter__(self) -> Iterator[Partition]:
        return iter(list(self.owned.values()))

    def number_of(self, loop: str, key: str) -> int:
        """The partition of a key."""
        return partition_of(loop, key, self.n)

    def number_in(self, id_: Any) -> int:
        """The partition of an impression; of a text that is no id of this store, any that will say so."""
        number = partition_named(id_, self._store, self.n)
        return next(iter(self.owned), 0) if number is None else number

    def at(self, number: int) -> Partition | None:
        """A partition, if it is ours and nobody can have taken it over."""
        found = self.owned.get(number)
        return found if found is not None and found.held else None
