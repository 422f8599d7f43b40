"""A whole store to look at, with all of its partitions, beside the programs that write to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from rankloop.live.explain import LiveExplanation
from rankloop.live.export import write_table
from rankloop.live.live import Live
from rankloop.live.merged_status import merged_status, tally
from rankloop.live.opening import open_store
from rankloop.live.partition_ids import partition_named, partition_of
from rankloop.live.stores import Store
from rankloop.live.verify import Verification
from rankloop.policies import SafetyReceipt

if TYPE_CHECKING:
    from rankloop.live.shared_loops import SharedLoops


class Whole:
    """All partitions of a store, opened read-only.

    An SQLite file has one partition; a store in PostgreSQL that several workers of `rankloop serve` share has more.

    Parameters
    ----------
    store
        Path of an SQLite file, or `postgresql://...`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "shop.db"
    >>> with Live(path) as live:
    ...     live.create("search", kind="rerank")
    ...     shown = live.rank("search", "laptop", ["sku-9", "sku-2"], user="u1")
    >>> with Whole(path) as whole:
    ...     whole.status("search")["impressions"], whole.verify().ok
    (1, True)
    """

    def __init__(self, store: str | Path) -> None:
        with ExitStack() as opened:
            self.lives = [
                opened.enter_context(Live(each, background=False, read_only=True))
                for each in partitions(store, read_only=True)
            ]
            self._opened = opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the store."""
        self._opened.close()

    def of_key(self, loop: str, key: str) -> Live:
        """The partition of a key."""
        return self.lives[partition_of(loop, key, len(self.lives))]

    def of_impression(self, id_: Any) -> Live:
        """The partition of an impression; of a text that is no id of this store, any that will say so."""
        return self.lives[partition_named(id_, self.lives[0].mark, len(self.lives)) or 0]

    @property
    def loops(self) -> tuple[str, ...]:
        """The names of all loops."""
        return tuple(dict.fromkeys(loop for live in self.lives for loop in live.loops))

    def status(self, loop: str | None = None) -> dict[str, Any]:
        """What a loop has counted and found; all loops by name if none is given."""
        if loop is None:
            return {name: self.status(name) for name in self.loops}
        if loop not in self.loops:
            return self.lives[0].status(loop)  # which says that there is none
        return merged_status([tally(live, loop) for live in self.lives])

    def best(self, loop: str, key: str = "") -> list[str]:
        """The list that looks best for a key now, or the best ranker."""
        return self.of_key(loop, key).best(loop, key)

    def receipt(self, loop: str, key: str) -> SafetyReceipt:
        """What BubbleRank has decided for a key, on what evidence, and what is guaranteed."""
        return self.of_key(loop, key).receipt(loop, key)

    def explain(self, impression: str) -> LiveExplanation:
        """Why this list."""
        return self.of_impression(impression).explain(impression)

    def verify(self, progress: Callable[[int], None] | None = None) -> Verification:
        """Replay the journals of all partitions: derive every list and every learned state anew, and compare."""
        whole = Verification()
        for number, live in enumerate(self.lives):
            found = live.verify(None if progress is None else lambda n, before=whole.entries: progress(before + n))  # type: ignore[misc]
            for word in ("entries", "choices", "learned", "states", "recovered"):
                setattr(whole, word, getattr(whole, word) + getattr(found, word))
            where = f"partition {number}: " if len(self.lives) > 1 else ""
            whole.differences += [where + difference for difference in found.differences]
        return whole

    def export(self, path: str | Path, progress: Callable[[int], None] | None = None) -> int:
        """Write the journals of all partitions to a file, `.jsonl` or `.parquet`; the number of rows."""

        def rows() -> Iterator[dict[str, Any]]:
            for number, live in enumerate(self.lives):
                for row in live.rows():
                    yield {**row, "partition": number} if len(self.lives) > 1 else row

        return write_table(rows(), path, progress)


def partitions(store: str | Path, *, read_only: bool = False) -> Iterator[Store]:
    """The stores of all partitions, not opened yet."""
    first = open_store(store, read_only=read_only)
    n = getattr(first, "count", lambda: 1)()
    if n == 1:
        yield first
        return
    from rankloop.live.postgres import PostgresStore

    for number in range(n):
        yield PostgresStore(str(store), read_only=read_only, partition=number)


def open_for_key(store: str | Path, loop: str, key: str) -> Live:
    """The live loop of a key's partition, to be changed while no service holds it."""
    found = list(partitions(store))
    return Live(found[partition_of(loop, key, len(found))], background=False)


@contextmanager
def open_for_loops(store: str | Path) -> Iterator[Live | SharedLoops]:
    """Who changes the loops of a store: the live loop while no service holds it, or what all workers share."""
    found = list(partitions(store))
    if len(found) == 1:
        with Live(found[0], background=False) as live:
            yield live
        return
    from rankloop.live.directory import Directory
    from rankloop.live.shared_loops import SharedLoops

    directory = Directory(str(store))
    directory.open()
    try:
        yield SharedLoops(directory)
    finally:
        directory.close()
