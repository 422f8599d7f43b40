"""Checks that every store passes, for this package's own stores and for anybody else's.

Derive a class of tests from `StoreConformance` and say how a store is made; pytest does the rest:

    from rankloop.live.conformance import StoreConformance

    class TestMyStore(StoreConformance):
        @pytest.fixture(autouse=True)
        def place(self, tmp_path):
            self.path = tmp_path / "my.store"

        def make_store(self, *, read_only=False):
            return MyStore(self.path, read_only=read_only)
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from rankloop.live.entries import WITH_NEWS, Entry, Kind
from rankloop.live.stores import Batch, Header, KnownLearner, Snapshot, Store, StoreError, Tally

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


class StoreConformance:
    """What every store must do, as methods that pytest runs.

    Each test begins with a place where no store is: `make_store` makes a store there that has not been opened yet, and
    may be called several times in a test.
    """

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

    # -- opening -------------------------------------------------------------------------------------------------

    def test_a_fresh_store_is_empty(self) -> None:
        """A fresh store has a secret, and nothing else."""
        with self.opened() as (store, header):
            _same(len(header.store), 4, "bytes of the store's mark")
            assert len(header.secret) >= 16, "the secret must have at least 16 bytes"
            _same(header, Header(header.store, header.secret, 0, 0, True, 0, 0, 0), "header")
            _same(list(store.entries(0)), [], "entries")
            _same(list(store.learners()), [], "learners")
            _same(dict(store.totals()), {}, "totals")
            _same(store.entry(1), None, "an entry that is not there")
            _same(store.learner(1), None, "a learner that is not there")
            _same(store.find_learner(1, "laptop"), None, "a key that is not there")
            _same(store.snapshot(1), None, "a snapshot that is not there")
            _same(store.base(1), None, "a base that is not there")
            _same(list(store.of_impressions(1, 10)), [], "entries of impressions that are not there")
            assert store.size() >= 0, "the size must be a number of bytes"

    def test_reopening_gives_the_same(self) -> None:
        """All that was written is there after closing and opening."""
        with self.opened() as (store, first):
            store.write(_a_bit_of_everything())
            before = _everything(store)
        with self.opened() as (store, header):
            _same((header.store, header.secret), (first.store, first.secret), "mark and secret")
            _same((header.last, header.last_learner), (9, 2), "last entry and last learner")
            _same((header.clean, header.checkpoint, header.cursor), (False, 7, 5), "marks")
            _same(_everything(store), before, "what is in the store")

    def test_a_store_has_a_name(self) -> None:
        """Messages call a store by its name."""
        with self.opened() as (store, _):
            assert isinstance(store.name, str), "name must be a text"
            assert store.name, "name must not be empty"

    def test_one_program_at_a_time_writes(self) -> None:
        """A second opener is refused, and can have the store once it is closed."""
        with self.opened() as (store, _):
            store.write(Batch([chosen(1)]))
            second = self.make_store()
            message = str(_refused(second.open))
            assert store.name in message, f"the message must name the store: {message}"
            assert "\n" not in message, f"the message must be one line: {message!r}"
            store.write(Batch([chosen(2)]))
            _refused(lambda: second.write(Batch([chosen(3)])))
        with self.opened() as (store, header):
            _same(header.last, 2, "last entry")

    def test_a_closed_store_says_so(self) -> None:
        """Every call on a closed store raises StoreError, and closing it again does nothing."""
        with self.opened() as (store, _):
            store.write(Batch([chosen(1)]))
        store.close()
        calls: list[Callable[[], Any]] = [
            lambda: store.write(Batch([chosen(2)])),
            lambda: list(store.entries(0)),
            lambda: store.entry(1),
            lambda: list(store.of_impressions(1, 1)),
            lambda: store.find_learner(1, "laptop"),
            lambda: store.learner(1),
            lambda: list(store.learners()),
            lambda: store.snapshot(1),
            lambda: store.base(1),
            lambda: store.totals(),
            lambda: store.trim(1, []),
        ]
        for call in calls:
            assert store.name in str(_refused(call)), "the message must name the store"
        with self.opened() as (again, header):
            _same(header.last, 1, "last entry")
            _same(_numbers(again.entries(0)), [1], "entries")

    def test_reading_beside_a_writer(self) -> None:
        """A store that is opened for reading sees what has been committed, and cannot write."""
        with self.opened() as (writer, _):
            writer.write(_a_bit_of_everything())
            with self.opened(read_only=True) as (reader, header), self.opened(read_only=True) as (other, _):
                _same(header.last, 9, "last entry")
                _same(_everything(reader), _everything(writer), "what is in the store")
                writer.write(Batch([chosen(10)], totals={1: b"later"}))
                for each in (reader, other):
                    _same(_numbers(each.entries(8)), [9, 10], "entries")
                    _same(each.totals()[1], b"later", "totals")
                _refused(lambda: reader.write(Batch([chosen(11)])))
                _refused(lambda: reader.trim(5, []))
                _same(_numbers(reader.entries(0)), [1, 2, 3, 5, 8, 9, 10], "entries")
            writer.write(Batch([chosen(11)]))
        with self.opened(read_only=True) as (reader, header):
            _same(header.last, 11, "last entry")

    def test_there_must_be_something_to_read(self) -> None:
        """Reading makes no store where there is none."""
        for _ in range(2):
            _refused(self.make_store(read_only=True).open)
        with self.opened() as (_, header):
            _same(header.last, 0, "last entry")

    # -- writing -------------------------------------------------------------------------------------------------

    def test_marks(self) -> None:
        """Marks stay as they are until they are given anew."""
        with self.opened() as (store, _):
            store.write(Batch([chosen(1), chosen(2)], clean=False))
            store.write(Batch(checkpoint=2))
            store.write(Batch(cursor=1))
            store.write(Batch())
        with self.opened() as (store, header):
            _same((header.clean, header.checkpoint, header.cursor), (False, 2, 1), "marks")
            store.write(Batch(clean=True, checkpoint=0))
        with self.opened() as (store, header):
            _same((header.clean, header.checkpoint, header.cursor), (True, 0, 1), "marks")

    def test_snapshots_are_replaced(self) -> None:
        """The last snapshot of a learner counts; those of loops have negative numbers."""
        with self.opened() as (store, _):
            store.write(Batch(snapshots=[Snapshot(1, 5, b"five"), Snapshot(-1, 5, b"loop"), Snapshot(2, 5, b"")]))
            store.write(Batch(snapshots=[Snapshot(1, 6, b"six\0"), Snapshot(1, 7, bytes(100_000))]))
            _same(store.snapshot(1), Snapshot(1, 7, bytes(100_000)), "snapshot")
            _same(store.snapshot(-1), Snapshot(-1, 5, b"loop"), "snapshot of a loop")
            _same(store.snapshot(2), Snapshot(2, 5, b""), "empty snapshot")
            _same(store.base(1), None, "base")

    def test_totals_are_replaced(self) -> None:
        """The last counts of each loop count, and others stay."""
        with self.opened() as (store, _):
            store.write(Batch(totals={0: b"store", 1: b"one", 2: b""}))
            store.write(Batch(totals={1: b"\0more"}))
            _same(dict(store.totals()), {0: b"store", 1: b"\0more", 2: b""}, "totals")

    def test_any_bytes(self) -> None:
        """Bodies hold any bytes, or none."""
        entries = [chosen(k + 1, body=body) for k, body in enumerate(BODIES)]
        with self.opened() as (store, _):
            store.write(Batch(entries))
            _same(list(store.entries(0)), entries, "entries")
            assert all(type(entry.body) is bytes for entry in store.entries(0)), "bodies must be bytes"

    def test_extreme_numbers(self) -> None:
        """Numbers go up to 2**62, and times may lie before 1970."""
        entries = [Entry(1, -1, 0, 1, None, b""), Entry(2**62 - 1, 2**62, 255, 2**40, 2**61, b"")]
        with self.opened() as (store, _):
            store.write(Batch(entries))
            _same(list(store.entries(0)), entries, "entries")
            _same(list(store.of_impressions(2**61, 2**61)), entries[1:], "entries of an impression")
        with self.opened() as (_, header):
            _same(header.last, 2**62 - 1, "last entry")

    def test_big_batches(self) -> None:
        """A batch may have 20,000 entries, learners and snapshots."""
        n = 20_000
        entries = [chosen(k, learner=k, body=b"body %d" % k) for k in range(1, n + 1)]
        learners = [KnownLearner(k, 1, f"key {k}") for k in range(1, n + 1)]
        with self.opened() as (store, _):
            store.write(Batch(entries, learners, [Snapshot(k, k, b"state") for k in range(1, n + 1)]))
            _same(list(store.entries(0)), entries, "entries")
            _same(list(store.learners()), learners, "learners")
            _same(store.find_learner(1, f"key {n}"), learners[-1], "learner of a key")
            _same(store.snapshot(n), Snapshot(n, n, b"state"), "snapshot")
        with self.opened() as (_, header):
            _same((header.last, header.last_learner), (n, n), "last entry and last learner")

    def test_a_write_that_fails_leaves_nothing(self) -> None:
        """Whatever part of a batch cannot be written, nothing of it is."""
        whole = _a_bit_of_everything()
        with self.opened() as (store, _):
            store.write(whole)
            before = _everything(store)
            unfit: Any = object()
            later: dict[str, Any] = {"clean": True, "checkpoint": 9, "cursor": 9, "totals": {1: b"other", 9: b"new"}}
            for bad in (
                Batch([chosen(10), chosen(11), chosen(10, body=b"other")], **later),
                Batch([chosen(10), chosen(9, body=b"other")], **later),
                Batch([chosen(10)], [KnownLearner(3, 1, "new"), KnownLearner(4, 1, "laptop")], **later),
                Batch([chosen(10)], [KnownLearner(3, 1, "new"), KnownLearner(2, 1, "other")], **later),
            ):
                _refused(partial(store.write, bad))
                _same(_everything(store), before, "what is in the store after a refused write")
            for bad in (
                Batch([chosen(10), chosen(11, body=unfit)], **later),
                Batch([chosen(10)], [KnownLearner(3, 1, "new")], [Snapshot(3, 9, b""), Snapshot(4, 9, unfit)], **later),
                Batch([chosen(10)], snapshots=[Snapshot(1, 9, b"other")], totals={1: b"other", 9: unfit}, clean=True),
            ):
                _fails(partial(store.write, bad))
                _same(_everything(store), before, "what is in the store after a failed write")
            store.write(Batch([chosen(10)]))
            _same(_numbers(store.entries(8)), [9, 10], "entries after a good write")
        with self.opened() as (_, header):
            _same((header.clean, header.checkpoint, header.cursor), (False, 7, 5), "marks")

    def test_writing_again(self) -> None:
        """Who does not know whether a write succeeded writes again, perhaps with more, and nothing is there twice."""
        first = _a_bit_of_everything()
        with self.opened() as (store, _):
            store.write(first)
            before = _everything(store)
            store.write(first)
            _same(_everything(store), before, "what is in the store after writing it twice")
            more = Batch([*first.entries, chosen(10)], [*first.learners, KnownLearner(3, 1, "new")], totals={1: b"new"})
            store.write(more)
            _same(list(store.entries(0)), more.entries, "entries")
            _same(list(store.learners()), more.learners, "learners")
            _same(store.totals()[1], b"new", "totals")

    # -- reading -------------------------------------------------------------------------------------------------

    def test_entries_come_in_order_and_in_ranges(self) -> None:
        """Entries come in the order of their numbers, which may have gaps, after one and up to another."""
        entries = [chosen(seq, learner=seq % 3) for seq in (1, 2, 3, 10, 11, 1_000_014, 1_000_015)]
        with self.opened() as (store, _):
            store.write(Batch(entries[:3]))
            store.write(Batch(entries[3:]))
            _same(list(store.entries(0)), entries, "entries")
            _same(_numbers(store.entries(2)), [3, 10, 11, 1_000_014, 1_000_015], "entries after 2")
            _same(_numbers(store.entries(2, 11)), [3, 10, 11], "entries after 2 and up to 11")
            _same(_numbers(store.entries(3, 9)), [], "entries in a gap")
            _same(_numbers(store.entries(5, 3)), [], "entries of an empty range")
            _same(_numbers(store.entries(1_000_015)), [], "entries after the last")
            _same(_numbers(store.entries(0, learner=2)), [2, 11], "entries of learner 2")
            _same(_numbers(store.entries(0, learner=0)), [3, 1_000_014], "entries of learner 0")
            _same(_numbers(store.entries(3, 1_000_014, learner=0)), [1_000_014], "later entries of learner 0")
            _same(_numbers(store.entries(0, learner=7)), [], "entries of a learner that is not there")
            _same(store.entry(10), entries[3], "one entry")
            _same(store.entry(9), None, "an entry in a gap")

    def test_entries_of_impressions(self) -> None:
        """Later entries about some impressions come in order, also where an impression's own entry is missing."""
        entries = [
            chosen(1), chosen(2, learner=2), clicked(3, 2, learner=2), clicked(4, 1), chosen(5), clicked(6, 5),
            clicked(7, 1), clicked(900, 800, body=b"its own entry was lost"), clicked(901, 2, learner=2),
        ]  # fmt: skip
        with self.opened() as (store, _):
            store.write(Batch(entries))
            _same(_numbers(store.of_impressions(1, 1)), [4, 7], "entries about impression 1")
            _same(_numbers(store.of_impressions(1, 2)), [3, 4, 7, 901], "entries about impressions 1 to 2")
            _same(_numbers(store.of_impressions(1, 5)), [3, 4, 6, 7, 901], "entries about impressions 1 to 5")
            _same(list(store.of_impressions(800, 800)), [entries[7]], "entries about an impression that is missing")
            _same(_numbers(store.of_impressions(3, 4)), [], "entries about what is no impression")

    def test_keys_of_any_script(self) -> None:
        """Keys come back as they are, and no two are taken for one."""
        learners = [KnownLearner(k + 1, 1, key) for k, key in enumerate(KEYS + LONG_KEYS)]
        with self.opened() as (store, _):
            store.write(Batch(learners=learners))
            for learner in learners:
                _same(store.find_learner(1, learner.key), learner, "learner of a key")
                _same(store.find_learner(2, learner.key), None, "learner of a key in another loop")
                _same(store.learner(learner.number), learner, "learner by number")
            _same(list(store.learners()), learners, "learners")
            _same(store.find_learner(1, "LAPTOP"), None, "a key in other letters")

    def test_one_learner_for_each_key_of_a_loop(self) -> None:
        """A key has one learner in each loop."""
        learners = [KnownLearner(1, 1, "a"), KnownLearner(2, 2, "a"), KnownLearner(3, 1, "b"), KnownLearner(9, 2, "c")]
        with self.opened() as (store, _):
            store.write(Batch(learners=learners))
            _refused(lambda: store.write(Batch(learners=[KnownLearner(10, 2, "a")])))
            _refused(lambda: store.write(Batch(learners=[KnownLearner(3, 3, "b")])))
            _same(list(store.learners()), learners, "learners")
            _same(list(store.learners(2)), [learners[1], learners[3]], "learners of loop 2")
            _same(list(store.learners(after=1, limit=2)), learners[1:3], "two learners after the first")
            _same(list(store.learners(2, after=2, limit=5)), learners[3:], "learners of loop 2 after the second")
            _same(list(store.learners(limit=0)), [], "no learners")
        with self.opened() as (_, header):
            _same(header.last_learner, 9, "last learner")

    def test_threads(self) -> None:
        """Threads that read while another writes see whole batches, in order."""
        errors: list[BaseException] = []
        done = threading.Event()

        def look() -> None:
            try:
                while not done.is_set():
                    numbers = _numbers(store.entries(0))
                    assert numbers == list(range(1, len(numbers) + 1)), "entries are missing in the middle"
                    assert len(numbers) % 3 == 0, "a part of a batch is there"
            except BaseException as error:
                errors.append(error)

        with self.opened() as (store, _):
            threads = [threading.Thread(target=look) for _ in range(3)]
            for thread in threads:
                thread.start()
            for first in range(1, 151, 3):
                store.write(Batch([chosen(first), chosen(first + 1), chosen(first + 2)]))
            done.set()
            for thread in threads:
                thread.join()
            _same(len(list(store.entries(0))), 150, "number of entries")
        assert not errors, f"a thread that reads failed: {errors[0]!r}"

    # -- trimming ------------------------------------------------------------------------------------------------

    def test_trimming(self) -> None:
        """Trimming removes entries up to one, keeps those of the store itself, and keeps states."""
        entries = [chosen(1, learner=0), chosen(2), clicked(3, 2), chosen(4, learner=0), chosen(5), clicked(6, 2)]
        with self.opened() as (store, _):
            store.write(Batch(entries, [KnownLearner(1, 1, "a")], [Snapshot(1, 6, b"now")], {1: b"counts"}))
            store.trim(3, [Snapshot(1, 3, b"then"), Snapshot(2, 3, b"")])
            _same(_numbers(store.entries(0)), [1, 4, 5, 6], "entries")
            _same(_numbers(store.of_impressions(2, 2)), [6], "entries about an impression that has been removed")
            _same(store.base(1), Snapshot(1, 3, b"then"), "base")
            _same(store.base(2), Snapshot(2, 3, b""), "base")
            _same(store.snapshot(1), Snapshot(1, 6, b"now"), "snapshot")
            _same(store.learner(1), KnownLearner(1, 1, "a"), "learner")
            _same(dict(store.totals()), {1: b"counts"}, "totals")
        with self.opened() as (store, header):
            _same((header.last, header.trimmed), (6, 3), "last entry and trimmed")
            store.trim(5, [Snapshot(1, 5, b"later")])
            _same(store.base(1), Snapshot(1, 5, b"later"), "base")
            _same(store.base(2), Snapshot(2, 3, b""), "base")
            _same(_numbers(store.entries(0)), [1, 4, 6], "entries")

    def test_trimming_everything(self) -> None:
        """The numbers of entries that have been removed are not given out again."""
        with self.opened() as (store, _):
            store.write(Batch([chosen(1, learner=0), chosen(2), chosen(3)]))
            store.trim(3, [])
            _same(_numbers(store.entries(0)), [1], "entries")
        with self.opened() as (store, header):
            _same((header.last, header.trimmed), (3, 3), "last entry and trimmed")
            store.write(Batch([chosen(4)]))
            _same(_numbers(store.entries(0)), [1, 4], "entries")
        with self.opened() as (_, header):
            _same((header.last, header.trimmed), (4, 3), "last entry and trimmed")

    # -- looking -------------------------------------------------------------------------------------------------

    def test_entries_are_counted(self) -> None:
        """A tally of the last entries says what reading them one by one says."""
        entries = _of_all_kinds()
        with self.opened() as (store, _):
            _same(store.tally(0, 10**9, 100), [], "tally of a fresh store")
            store.write(Batch(entries, [KnownLearner(1, 1, "laptop"), KnownLearner(2, 5, "phone")]))
            for after, upto, limit in ((0, 10**9, 1000), (0, 10**9, 7), (20, 60, 1000), (20, 60, 5), (90, 10**9, 1)):
                some = [entry for entry in entries if after < entry.seq <= upto][-limit:]
                _same(sorted(store.tally(after, upto, limit)), _tally(some), f"tally of {(after, upto, limit)}")
                rare = [entry for entry in entries if after < entry.seq <= upto and _is_notable(entry)][-limit:]
                _same(store.notable(after, upto, limit), rare, f"notable entries of {(after, upto, limit)}")

    def test_keys_are_found_by_a_part(self) -> None:
        """Whatever the part consists of, it stands for itself."""
        learners = [KnownLearner(number, 1, f"a {key} b") for number, key in enumerate(KEYS, 1)]
        with self.opened() as (store, _):
            store.write(Batch([chosen(1)], [*learners, KnownLearner(1000, 2, "laptop")]))
            for key in KEYS:
                expected = [known for known in learners if key in known.key]
                _same(store.learners_with(key, 1, 1000), expected, f"keys with {key!r}")
            _same(store.learners_with("a", 1, 3), learners[:3], "the first keys with a")
            _same(store.learners_with("laptop", 3, 3), [], "keys of another loop")

    def test_a_reader_beside_the_writer(self) -> None:
        """It sees what has been written, also since it was opened, and cannot write."""
        with self.opened() as (store, _):
            store.write(_a_bit_of_everything())
            reader = store.reader()
            reader.open()
            try:
                _same(_everything(reader), _everything(store), "what a reader sees")
                store.write(Batch([chosen(10)]))
                _same(_everything(reader), _everything(store), "what a reader sees later")
                _refused(partial(reader.write, Batch([chosen(11)])))
            finally:
                reader.close()
            store.write(Batch([chosen(11)]))

    # -- access keys ---------------------------------------------------------------------------------------------

    def test_access_keys(self) -> None:
        """What is kept of access keys is replaced by name, and is there after closing and opening."""
        with self.opened() as (store, _):
            _same(dict(store.keys()), {}, "keys of a fresh store")
            store.put_key("shop", b"first")
            store.put_key("shop", b"second")
            for number, body in enumerate(BODIES):
                store.put_key(f"key {number}", body)
            expected = {"shop": b"second"} | {f"key {number}": body for number, body in enumerate(BODIES)}
            _same(dict(store.keys()), expected, "keys")
        with self.opened() as (store, _):
            _same(dict(store.keys()), expected, "keys after opening again")
        with self.opened(read_only=True) as (store, _):
            _same(dict(store.keys()), expected, "keys, looking only")
            _refused(partial(store.put_key, "shop", b"third"))


def _a_bit_of_everything() -> Batch:
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


def _of_all_kinds() -> list[Entry]:
    """Entries of every kind, of three learners in three minutes, with bodies that tell them apart."""
    bodies = (b"", b"\0", b"\0\0", b"\0\x08", b"\0\x0c\0", b"\1\x08", b"\1\7", b"\xff\xff")
    kinds = list(Kind)
    return [
        Entry(seq, 1_700_000_000_000 + 1_500 * seq, kinds[seq % len(kinds)], seq % 4, None, bodies[seq % len(bodies)])
        for seq in range(1, 101)
    ]


def _tally(entries: list[Entry]) -> list[Tally]:
    groups: dict[tuple[int, int], list[Entry]] = {}
    for entry in entries:
        groups.setdefault((entry.learner, entry.at // 60_000), []).append(entry)
    found = []
    for (learner, minute), group in groups.items():
        shown = sum(entry.kind in (Kind.CHOICE, Kind.RECOVERED) for entry in group)
        clicks, learned = (
            sum(entry.kind == kind and entry.body[:1] == b"\0" for entry in group) for kind in (Kind.EVENT, Kind.CLOSE)
        )
        ends = (group[0].seq, group[-1].seq, group[0].at, group[-1].at)
        loop = {1: 1, 2: 5}.get(learner, 0)
        found.append(Tally(learner, loop, minute, len(group), *ends, shown, clicks, learned))
    return sorted(found)


def _is_notable(entry: Entry) -> bool:
    if entry.kind == Kind.CLOSE:
        return entry.body[1:2] >= bytes([WITH_NEWS])
    return entry.kind in (Kind.OPENED, Kind.LOOP, Kind.REVERT)


def _everything(store: Store) -> tuple[Any, ...]:
    """What is in a store, as far as it can be asked for."""
    states = [(store.snapshot(number), store.base(number)) for number in range(-3, 12)]
    return list(store.entries(0)), list(store.learners()), states, dict(store.totals())


def _numbers(entries: Any) -> list[int]:
    return [entry.seq for entry in entries]


def _same(found: Any, expected: Any, what: str) -> None:
    assert found == expected, f"{what}: {_short(found)}, which should be {_short(expected)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 500 else f"{text[:497]}..."


def _refused(call: Callable[[], Any]) -> StoreError:
    """What a call says that must raise StoreError."""
    error = _fails(call)
    assert isinstance(error, StoreError), f"StoreError was expected, not {error!r}"
    assert str(error), "an error must say what went wrong"
    return error


def _fails(call: Callable[[], Any]) -> Exception:
    try:
        call()
    except Exception as error:
        return error
    raise AssertionError("a call that should fail did not")
