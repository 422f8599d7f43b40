"""Stores are opened, closed and opened again, by one program that writes and others that read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rankloop.live.conformance.cases import StoreCase, a_bit_of_everything, chosen, everything, numbers, refused, same
from rankloop.live.stores import Batch, Header


class OpeningChecks(StoreCase):
    """What a store must do when it is opened and closed."""

    def test_a_fresh_store_is_empty(self) -> None:
        """A fresh store has a secret, and nothing else."""
        with self.opened() as (store, header):
            same(len(header.store), 4, "bytes of the store's mark")
            assert len(header.secret) >= 16, "the secret must have at least 16 bytes"
            same(header, Header(header.store, header.secret, 0, 0, True, 0, 0, 0), "header")
            same(list(store.entries(0)), [], "entries")
            same(list(store.learners()), [], "learners")
            same(dict(store.totals()), {}, "totals")
            same(store.entry(1), None, "an entry that is not there")
            same(store.learner(1), None, "a learner that is not there")
            same(store.find_learner(1, "laptop"), None, "a key that is not there")
            same(store.snapshot(1), None, "a snapshot that is not there")
            same(store.base(1), None, "a base that is not there")
            same(list(store.of_impressions(1, 10)), [], "entries of impressions that are not there")
            assert store.size() >= 0, "the size must be a number of bytes"

    def test_reopening_gives_the_same(self) -> None:
        """All that was written is there after closing and opening."""
        with self.opened() as (store, first):
            store.write(a_bit_of_everything())
            before = everything(store)
        with self.opened() as (store, header):
            same((header.store, header.secret), (first.store, first.secret), "mark and secret")
            same((header.last, header.last_learner), (9, 2), "last entry and last learner")
            same((header.clean, header.checkpoint, header.cursor), (False, 7, 5), "marks")
            same(everything(store), before, "what is in the store")

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
            message = str(refused(second.open))
            assert store.name in message, f"the message must name the store: {message}"
            assert "\n" not in message, f"the message must be one line: {message!r}"
            store.write(Batch([chosen(2)]))
            refused(lambda: second.write(Batch([chosen(3)])))
        with self.opened() as (store, header):
            same(header.last, 2, "last entry")

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
            assert store.name in str(refused(call)), "the message must name the store"
        with self.opened() as (again, header):
            same(header.last, 1, "last entry")
            same(numbers(again.entries(0)), [1], "entries")

    def test_reading_beside_a_writer(self) -> None:
        """A store that is opened for reading sees what has been committed, and cannot write."""
        with self.opened() as (writer, _):
            writer.write(a_bit_of_everything())
            with self.opened(read_only=True) as (reader, header), self.opened(read_only=True) as (other, _):
                same(header.last, 9, "last entry")
                same(everything(reader), everything(writer), "what is in the store")
                writer.write(Batch([chosen(10)], totals={1: b"later"}))
                for each in (reader, other):
                    same(numbers(each.entries(8)), [9, 10], "entries")
                    same(each.totals()[1], b"later", "totals")
                refused(lambda: reader.write(Batch([chosen(11)])))
                refused(lambda: reader.trim(5, []))
                same(numbers(reader.entries(0)), [1, 2, 3, 5, 8, 9, 10], "entries")
            writer.write(Batch([chosen(11)]))
        with self.opened(read_only=True) as (reader, header):
            same(header.last, 11, "last entry")

    def test_there_must_be_something_to_read(self) -> None:
        """Reading makes no store where there is none."""
        for _ in range(2):
            refused(self.make_store(read_only=True).open)
        with self.opened() as (_, header):
            same(header.last, 0, "last entry")
