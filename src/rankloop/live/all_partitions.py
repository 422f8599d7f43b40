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
        self._lives: list[Live] = []
        with ExitStack() as opened:
            for each in partitions(store, read_only=True):
                live = opened.enter_context(Live(each, background=False, read_only=True))
                self._lives.append(live)
            self._opened = opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the store."""
        self._opened.close()

    @property
    def loops(self) -> tuple[str, ...]:
        """The names of all loops."""
        return tuple(dict.fromkeys(loop for live in self._lives for loop in live.loops))

    def status(self, loop: str | None = None) -> dict[str, Any]:
        """What a loop has counted and found; all loops by name if none is given."""
        if loop is None:
            return {name: self.status(name) for name in self.loops}
        if loop not in self.loops:
            return self._lives[0].status(loop)  # which says that there is none
        return merged_status([tally(live, loop) for live in self._lives])

    def best(self, loop: str, key: str = "") -> list[str]:
        """The list that looks best for a key now, or the best ranker."""
        return self._of(loop, key).best(loop, key)

    def receipt(self, loop: str, key: str) -> SafetyReceipt:
        """What BubbleRank has decided for a key, on what evidence, and what is guaranteed."""
        return self._of(loop, key).receipt(loop, key)

    def _of(self, loop: str, key: str) -> Live:
        return self._lives[partition_of(loop, key, len(self._lives))]

    def explain(self, impression: str) -> LiveExplanation:
        """Why this list."""
        number = partition_named(impression, self._lives[0].mark, len(self._lives))
        return self._lives[number or 0].explain(impression)

    def verify(self, progress: Callable[[int], None] | None = None) -> Verification:
        """Replay the journals of all partitions: derive every list and every learned state anew, and compare."""
        whole = Verification()
        for number, live in enumerate(self._lives):
            found = live.verify(None if progress is None else lambda n, before=whole.entries: progress(before + n))  # type: ignore[misc]
            for word in ("entries", "choices", "learned", "states", "recovered"):
                setattr(whole, word, getattr(whole, word) + getattr(found, word))
            where = f"partition {number}: " if len(self._lives) > 1 else ""
            whole.differences += [where + difference for difference in found.differences]
        return whole

    def export(self, path: str | Path, progress: Callable[[int], None] | None = None) -> int:
        """Write the journals of all partitions to a file, `.jsonl` or `.parquet`; the number of rows."""

        def rows() -> Iterator[dict[str, Any]]:
            for number, live in enumerate(self._lives):
                for row in live.rows():
                    yield {**row, "partition": number} if len(self._lives) > 1 else row

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
