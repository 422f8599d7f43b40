"""What the checks of stores share: how a store is made and opened, what is written to it, and how it is looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rankloop.live.entries import Entry, Kind
from rankloop.live.stores import Batch, Header, KnownLearner, Snapshot, Store, StoreError

KEYS = (
    "laptop", "Laptop", "laptop ", " laptop", "e\u0301", "é", "ß", "SS",
    "ノートパソコン", "حاسوب محمول", "מחשב נייד", "👩🏽‍💻 💻",
    "it's", '"quoted"', "back\\slash", "100 %", "%s", "%(key)s", "$1", "?", ":key", "{key}", "NULL",
    "; DROP TABLE learners; --",
    "tab\tand\nnew line", "\x01\x7f", "\u202eright to left", "\ufeffmark", "\U0010ffff", "0", "-1", "1e3",
)  # fmt: skip
"""Different keys, each of which some program has taken for something else."""

LONG_KEYS = ("a" * 1024, "𝔘" * 1024, "".join(chr(0x10000 + 7 * i) for i in range(1024)))
"""Keys as long as keys may be, one of which cannot be compressed."""

BODIES = (b"", b"\0", b"\0\0a\0", bytes(range(256)), b"\\x00", b"\\.", b"\n", b"\xff" * 70_000)


def chosen(seq: int, learner: int = 1, body: bytes = b"shown") -> Entry:
    """An entry that begins an impression."""
    return Entry(seq, 1_700_000_000_000 + seq, Kind.CHOICE, learner, None, body)


def clicked(seq: int, impression: int, learner: int = 1, body: bytes = b"click") -> Entry:
    """An entry about an impression."""
    return Entry(seq, 1_700_000_000_000 + seq, Kind.EVENT, learner, impression, body)


class StoreCase:
    """A place for stores, in which each check begins with none."""

    def make_store(self, *, read_only: bool = False) -> Store:
        """A store in the place of this test, which has not been opened yet."""
        raise NotImplementedError("make_store must return a store")

    @contextmanager
    def opened(self, *, read_only: bool = False) -> Iterator[tuple[Store, Header]]:
        """A store and its header, closed in the end."""
        store = self.make_store(read_only=read_only)
        header = store.open()
        try:
            yield store, header
        finally:
            store.close()


def a_bit_of_everything() -> Batch:
    """A batch with something of each kind."""
    return Batch(
        entries=[chosen(1), chosen(2, learner=0), clicked(3, 1), chosen(5, learner=2), clicked(8, 5), clicked(9, 1)],
        learners=[KnownLearner(1, 1, "laptop"), KnownLearner(2, 1, "phone")],
        snapshots=[Snapshot(1, 3, b"one"), Snapshot(2, 8, b"two")],
        totals={0: b"store", 1: b"loop"},
        checkpoint=7,
        cursor=5,
        clean=False,
    )


def everything(store: Store) -> tuple[Any, ...]:
    """What is in a store, as far as it can be asked for."""
    states = [(store.snapshot(number), store.base(number)) for number in range(-3, 12)]
    return list(store.entries(0)), list(store.learners()), states, dict(store.totals())


def numbers(entries: Any) -> list[int]:
    """The numbers of entries."""
    return [entry.seq for entry in entries]


def same(found: Any, expected: Any, what: str) -> None:
    """Refuse what is found if it is not what is expected."""
    assert found == expected, f"{what}: {_short(found)}, which should be {_short(expected)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 500 else f"{text[:497]}..."


def refused(call: Callable[[], Any]) -> StoreError:
    """What a call says that must raise StoreError."""
    error = fails(call)
    assert isinstance(error, StoreError), f"StoreError was expected, not {error!r}"
    assert str(error), "an error must say what went wrong"
    return error


def fails(call: Callable[[], Any]) -> Exception:
    """The error of a call that must raise one."""
    try:
        call()
    except Exception as error:
        return error
    raise AssertionError("a call that should fail did not")
