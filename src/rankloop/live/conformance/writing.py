"""What is written is there whole and once, or not at all."""

from __future__ import annotations

from functools import partial
from typing import Any

from rankloop.live.conformance.cases import (
    BODIES,
    StoreCase,
    a_bit_of_everything,
    chosen,
    clicked,
    everything,
    fails,
    numbers,
    refused,
    same,
)
from rankloop.live.entries import Entry
from rankloop.live.stores import Batch, KnownLearner, Snapshot


class WritingChecks(StoreCase):
    """What a store must do with what it is given."""

    def test_marks(self) -> None:
        """Marks stay as they are until they are given anew."""
        with self.opened() as (store, _):
            store.write(Batch([chosen(1), chosen(2)], clean=False))
            store.write(Batch(checkpoint=2))
            store.write(Batch(cursor=1))
            store.write(Batch())
        with self.opened() as (store, header):
            same((header.clean, header.checkpoint, header.cursor), (False, 2, 1), "marks")
            store.write(Batch(clean=True, checkpoint=0))
        with self.opened() as (store, header):
            same((header.clean, header.checkpoint, header.cursor), (True, 0, 1), "marks")

    def test_snapshots_are_replaced(self) -> None:
        """The last snapshot of a learner counts; those of loops have negative numbers."""
        with self.opened() as (store, _):
            store.write(Batch(snapshots=[Snapshot(1, 5, b"five"), Snapshot(-1, 5, b"loop"), Snapshot(2, 5, b"")]))
            store.write(Batch(snapshots=[Snapshot(1, 6, b"six\0"), Snapshot(1, 7, bytes(100_000))]))
            same(store.snapshot(1), Snapshot(1, 7, bytes(100_000)), "snapshot")
            same(store.snapshot(-1), Snapshot(-1, 5, b"loop"), "snapshot of a loop")
            same(store.snapshot(2), Snapshot(2, 5, b""), "empty snapshot")
            same(store.base(1), None, "base")

    def test_totals_are_replaced(self) -> None:
        """The last counts of each loop count, and others stay."""
        with self.opened() as (store, _):
            store.write(Batch(totals={0: b"store", 1: b"one", 2: b""}))
            store.write(Batch(totals={1: b"\0more"}))
            same(dict(store.totals()), {0: b"store", 1: b"\0more", 2: b""}, "totals")

    def test_any_bytes(self) -> None:
        """Bodies hold any bytes, or none."""
        entries = [chosen(k + 1, body=body) for k, body in enumerate(BODIES)]
        with self.opened() as (store, _):
            store.write(Batch(entries))
            same(list(store.entries(0)), entries, "entries")
            assert all(type(entry.body) is bytes for entry in store.entries(0)), "bodies must be bytes"

    def test_extreme_numbers(self) -> None:
        """Numbers go up to 2**62, and times may lie before 1970."""
        entries = [Entry(1, -1, 0, 1, None, b""), Entry(2**62 - 1, 2**62, 255, 2**40, 2**61, b"")]
        with self.opened() as (store, _):
            store.write(Batch(entries))
            same(list(store.entries(0)), entries, "entries")
            same(list(store.of_impressions(2**61, 2**61)), entries[1:], "entries of an impression")
        with self.opened() as (_, header):
            same(header.last, 2**62 - 1, "last entry")

    def test_big_batches(self) -> None:
        """A batch may have 20,000 entries, learners and snapshots."""
        n = 20_000
        entries = [chosen(k, learner=k, body=b"body %d" % k) for k in range(1, n + 1)]
        learners = [KnownLearner(k, 1, f"key {k}") for k in range(1, n + 1)]
        with self.opened() as (store, _):
            store.write(Batch(entries, learners, [Snapshot(k, k, b"state") for k in range(1, n + 1)]))
            same(list(store.entries(0)), entries, "entries")
            same(list(store.learners()), learners, "learners")
            same(store.find_learner(1, f"key {n}"), learners[-1], "learner of a key")
            same(store.snapshot(n), Snapshot(n, n, b"state"), "snapshot")
        with self.opened() as (_, header):
            same((header.last, header.last_learner), (n, n), "last entry and last learner")

    def test_a_write_that_fails_leaves_nothing(self) -> None:
        """Whatever part of a batch cannot be written, nothing of it is."""
        whole = a_bit_of_everything()
        with self.opened() as (store, _):
            store.write(whole)
            before = everything(store)
            unfit: Any = object()
            later: dict[str, Any] = {"clean": True, "checkpoint": 9, "cursor": 9, "totals": {1: b"other", 9: b"new"}}
            for bad in (
                Batch([chosen(10), chosen(11), chosen(10, body=b"other")], **later),
                Batch([chosen(10), chosen(9, body=b"other")], **later),
                Batch([chosen(10)], [KnownLearner(3, 1, "new"), KnownLearner(4, 1, "laptop")], **later),
                Batch([chosen(10)], [KnownLearner(3, 1, "new"), KnownLearner(2, 1, "other")], **later),
            ):
                refused(partial(store.write, bad))
                same(everything(store), before, "what is in the store after a refused write")
            for bad in (
                Batch([chosen(10), chosen(11, body=unfit)], **later),
                Batch([chosen(10)], [KnownLearner(3, 1, "new")], [Snapshot(3, 9, b""), Snapshot(4, 9, unfit)], **later),
                Batch([chosen(10)], snapshots=[Snapshot(1, 9, b"other")], totals={1: b"other", 9: unfit}, clean=True),
            ):
                fails(partial(store.write, bad))
                same(everything(store), before, "what is in the store after a failed write")
            store.write(Batch([chosen(10)]))
            same(numbers(store.entries(8)), [9, 10], "entries after a good write")
        with self.opened() as (_, header):
            same((header.clean, header.checkpoint, header.cursor), (False, 7, 5), "marks")

    def test_writing_again(self) -> None:
        """Who does not know whether a write succeeded writes again, perhaps with more, and nothing is there twice."""
        first = a_bit_of_everything()
        with self.opened() as (store, _):
            store.write(first)
            before = everything(store)
            store.write(first)
            same(everything(store), before, "what is in the store after writing it twice")
            more = Batch([*first.entries, chosen(10)], [*first.learners, KnownLearner(3, 1, "new")], totals={1: b"new"})
            store.write(more)
            same(list(store.entries(0)), more.entries, "entries")
            same(list(store.learners()), more.learners, "learners")
            same(store.totals()[1], b"new", "totals")

    def test_trimming(self) -> None:
        """Trimming removes entries up to one, keeps those of the store itself, and keeps states."""
        entries = [chosen(1, learner=0), chosen(2), clicked(3, 2), chosen(4, learner=0), chosen(5), clicked(6, 2)]
        with self.opened() as (store, _):
            store.write(Batch(entries, [KnownLearner(1, 1, "a")], [Snapshot(1, 6, b"now")], {1: b"counts"}))
            store.trim(3, [Snapshot(1, 3, b"then"), Snapshot(2, 3, b"")])
            same(numbers(store.entries(0)), [1, 4, 5, 6], "entries")
            same(numbers(store.of_impressions(2, 2)), [6], "entries about an impression that has been removed")
            same(store.base(1), Snapshot(1, 3, b"then"), "base")
            same(store.base(2), Snapshot(2, 3, b""), "base")
            same(store.snapshot(1), Snapshot(1, 6, b"now"), "snapshot")
            same(store.learner(1), KnownLearner(1, 1, "a"), "learner")
            same(dict(store.totals()), {1: b"counts"}, "totals")
        with self.opened() as (store, header):
            same((header.last, header.trimmed), (6, 3), "last entry and trimmed")
            store.trim(5, [Snapshot(1, 5, b"later")])
            same(store.base(1), Snapshot(1, 5, b"later"), "base")
            same(store.base(2), Snapshot(2, 3, b""), "base")
            same(numbers(store.entries(0)), [1, 4, 6], "entries")

    def test_trimming_everything(self) -> None:
        """The numbers of entries that have been removed are not given out again."""
        with self.opened() as (store, _):
            store.write(Batch([chosen(1, learner=0), chosen(2), chosen(3)]))
            store.trim(3, [])
            same(numbers(store.entries(0)), [1], "entries")
        with self.opened() as (store, header):
            same((header.last, header.trimmed), (3, 3), "last entry and trimmed")
            store.write(Batch([chosen(4)]))
            same(numbers(store.entries(0)), [1, 4], "entries")
        with self.opened() as (_, header):
            same((header.last, header.trimmed), (4, 3), "last entry and trimmed")

    def test_access_keys(self) -> None:
        """What is kept of access keys is replaced by name, and is there after closing and opening."""
        with self.opened() as (store, _):
            same(dict(store.keys()), {}, "keys of a fresh store")
            store.put_key("shop", b"first")
            store.put_key("shop", b"second")
            for number, body in enumerate(BODIES):
                store.put_key(f"key {number}", body)
            expected = {"shop": b"second"} | {f"key {number}": body for number, body in enumerate(BODIES)}
            same(dict(store.keys()), expected, "keys")
        with self.opened() as (store, _):
            same(dict(store.keys()), expected, "keys after opening again")
        with self.opened(read_only=True) as (store, _):
            same(dict(store.keys()), expected, "keys, looking only")
            refused(partial(store.put_key, "shop", b"third"))
