"""What has been written is found again, in order, while more is written."""

from __future__ import annotations

import threading
from functools import partial

from rankloop.live.conformance.cases import (
    KEYS,
    LONG_KEYS,
    StoreCase,
    a_bit_of_everything,
    chosen,
    clicked,
    everything,
    numbers,
    refused,
    same,
)
from rankloop.live.entries import WITH_NEWS, Entry, Kind
from rankloop.live.stores import Batch, KnownLearner, Tally


class ReadingChecks(StoreCase):
    """What a store must answer."""

    def test_entries_come_in_order_and_in_ranges(self) -> None:
        """Entries come in the order of their numbers, which may have gaps, after one and up to another."""
        entries = [chosen(seq, learner=seq % 3) for seq in (1, 2, 3, 10, 11, 1_000_014, 1_000_015)]
        with self.opened() as (store, _):
            store.write(Batch(entries[:3]))
            store.write(Batch(entries[3:]))
            same(list(store.entries(0)), entries, "entries")
            same(numbers(store.entries(2)), [3, 10, 11, 1_000_014, 1_000_015], "entries after 2")
            same(numbers(store.entries(2, 11)), [3, 10, 11], "entries after 2 and up to 11")
            same(numbers(store.entries(3, 9)), [], "entries in a gap")
            same(numbers(store.entries(5, 3)), [], "entries of an empty range")
            same(numbers(store.entries(1_000_015)), [], "entries after the last")
            same(numbers(store.entries(0, learner=2)), [2, 11], "entries of learner 2")
            same(numbers(store.entries(0, learner=0)), [3, 1_000_014], "entries of learner 0")
            same(numbers(store.entries(3, 1_000_014, learner=0)), [1_000_014], "later entries of learner 0")
            same(numbers(store.entries(0, learner=7)), [], "entries of a learner that is not there")
            same(store.entry(10), entries[3], "one entry")
            same(store.entry(9), None, "an entry in a gap")

    def test_entries_of_impressions(self) -> None:
        """Later entries about some impressions come in order, also where an impression's own entry is missing."""
        entries = [
            chosen(1), chosen(2, learner=2), clicked(3, 2, learner=2), clicked(4, 1), chosen(5), clicked(6, 5),
            clicked(7, 1), clicked(900, 800, body=b"its own entry was lost"), clicked(901, 2, learner=2),
        ]  # fmt: skip
        with self.opened() as (store, _):
            store.write(Batch(entries))
            same(numbers(store.of_impressions(1, 1)), [4, 7], "entries about impression 1")
            same(numbers(store.of_impressions(1, 2)), [3, 4, 7, 901], "entries about impressions 1 to 2")
            same(numbers(store.of_impressions(1, 5)), [3, 4, 6, 7, 901], "entries about impressions 1 to 5")
            same(list(store.of_impressions(800, 800)), [entries[7]], "entries about an impression that is missing")
            same(numbers(store.of_impressions(3, 4)), [], "entries about what is no impression")

    def test_keys_of_any_script(self) -> None:
        """Keys come back as they are, and no two are taken for one."""
        learners = [KnownLearner(k + 1, 1, key) for k, key in enumerate(KEYS + LONG_KEYS)]
        with self.opened() as (store, _):
            store.write(Batch(learners=learners))
            for learner in learners:
                same(store.find_learner(1, learner.key), learner, "learner of a key")
                same(store.find_learner(2, learner.key), None, "learner of a key in another loop")
                same(store.learner(learner.number), learner, "learner by number")
            same(list(store.learners()), learners, "learners")
            same(store.find_learner(1, "LAPTOP"), None, "a key in other letters")

    def test_one_learner_for_each_key_of_a_loop(self) -> None:
        """A key has one learner in each loop."""
        learners = [KnownLearner(1, 1, "a"), KnownLearner(2, 2, "a"), KnownLearner(3, 1, "b"), KnownLearner(9, 2, "c")]
        with self.opened() as (store, _):
            store.write(Batch(learners=learners))
            refused(lambda: store.write(Batch(learners=[KnownLearner(10, 2, "a")])))
            refused(lambda: store.write(Batch(learners=[KnownLearner(3, 3, "b")])))
            same(list(store.learners()), learners, "learners")
            same(list(store.learners(2)), [learners[1], learners[3]], "learners of loop 2")
            same(list(store.learners(after=1, limit=2)), learners[1:3], "two learners after the first")
            same(list(store.learners(2, after=2, limit=5)), learners[3:], "learners of loop 2 after the second")
            same(list(store.learners(limit=0)), [], "no learners")
        with self.opened() as (_, header):
            same(header.last_learner, 9, "last learner")

    def test_threads(self) -> None:
        """Threads that read while another writes see whole batches, in order."""
        errors: list[BaseException] = []
        done = threading.Event()

        def look() -> None:
            try:
                while not done.is_set():
                    seen = numbers(store.entries(0))
                    assert seen == list(range(1, len(seen) + 1)), "entries are missing in the middle"
                    assert len(seen) % 3 == 0, "a part of a batch is there"
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
            same(len(list(store.entries(0))), 150, "number of entries")
        assert not errors, f"a thread that reads failed: {errors[0]!r}"

    def test_entries_are_counted(self) -> None:
        """A tally of the last entries says what reading them one by one says."""
        entries = _of_all_kinds()
        with self.opened() as (store, _):
            same(store.tally(0, 10**9, 100), [], "tally of a fresh store")
            store.write(Batch(entries, [KnownLearner(1, 1, "laptop"), KnownLearner(2, 5, "phone")]))
            for after, upto, limit in ((0, 10**9, 1000), (0, 10**9, 7), (20, 60, 1000), (20, 60, 5), (90, 10**9, 1)):
                some = [entry for entry in entries if after < entry.seq <= upto][-limit:]
                same(sorted(store.tally(after, upto, limit)), _tally(some), f"tally of {(after, upto, limit)}")
                rare = [entry for entry in entries if after < entry.seq <= upto and _is_notable(entry)][-limit:]
                same(store.notable(after, upto, limit), rare, f"notable entries of {(after, upto, limit)}")

    def test_keys_are_found_by_a_part(self) -> None:
        """Whatever the part consists of, it stands for itself."""
        learners = [KnownLearner(number, 1, f"a {key} b") for number, key in enumerate(KEYS, 1)]
        with self.opened() as (store, _):
            store.write(Batch([chosen(1)], [*learners, KnownLearner(1000, 2, "laptop")]))
            for key in KEYS:
                expected = [known for known in learners if key in known.key]
                same(store.learners_with(key, 1, 1000), expected, f"keys with {key!r}")
            same(store.learners_with("a", 1, 3), learners[:3], "the first keys with a")
            same(store.learners_with("laptop", 3, 3), [], "keys of another loop")

    def test_a_reader_beside_the_writer(self) -> None:
        """It sees what has been written, also since it was opened, and cannot write."""
        with self.opened() as (store, _):
            store.write(a_bit_of_everything())
            reader = store.reader()
            reader.open()
            try:
                same(everything(reader), everything(store), "what a reader sees")
                store.write(Batch([chosen(10)]))
                same(everything(reader), everything(store), "what a reader sees later")
                refused(partial(reader.write, Batch([chosen(11)])))
            finally:
                reader.close()
            store.write(Batch([chosen(11)]))


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
