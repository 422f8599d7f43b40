"""Many keys in little memory: learners are packed away, and come back as they were."""

from __future__ import annotations

from pathlib import Path

from live_world import Clock, check_whole, close_all, crash, open_live, sequence_of

from rankloop.live.impression import Impression
from rankloop.live.sqlite import SQLiteStore

KEYS = 5_000
WARM = 250
BYTES_PER_LEARNER = 10_000


def test_keys_are_packed_away_and_come_back(tmp_path: Path) -> None:
    """5,000 keys with room for 250: what is in memory stays bounded, and each key goes on where it was."""
    clock = Clock()
    items = [f"item {i}" for i in range(10)]
    live = open_live(lambda: SQLiteStore(tmp_path / "shop.db"), clock, memory=WARM * BYTES_PER_LEARNER)
    live.create("search", kind="rerank", window=60, holdout=0.0, seed=1)
    loop = live._loops.by_name["search"]
    live._journal.commit = lambda _: None  # many keys in one write: the test would wait for 5,000 writes
    most = 0
    for number in range(KEYS):
        live.rank("search", f"key {number}", items)
        most = max(most, len(live._learners))
    assert WARM / 2 < most < 2 * WARM
    del live._journal.commit
    some = range(0, KEYS, 125)
    for number in some:
        assert live._learners.warm(loop, f"key {number}") is None or number > KEYS - 2 * WARM
        shown = live.rank("search", f"key {number}", items)
        live.click(shown.id, items[number % 3])
        live.finish(shown.id)
    assert len(live._learners) < 2 * WARM
    assert live._learners._size <= WARM * BYTES_PER_LEARNER
    told = check_whole(live)
    assert told.counts["keys"] == KEYS
    assert told.counts["learned"] == len(some)
    live.close()
    live = open_live(lambda: SQLiteStore(tmp_path / "shop.db"), clock)
    assert live._learners.warm(loop, "key 500") is None
    assert live.best("search", "key 500")
    assert live.receipt("search", "key 500")
    live.close()


def test_open_impressions_leave_memory_and_come_back(tmp_path: Path) -> None:
    """400 open impressions with room for some 40: clicks find those that left, and all are closed once, in time."""
    clock = Clock()
    items = [f"item {i}" for i in range(4)]
    store = lambda: SQLiteStore(tmp_path / "shop.db")  # noqa: E731
    live = open_live(store, clock, memory=100_000)
    live.create("search", kind="rerank", window=60, holdout=0.0, seed=1)
    live.create("later", kind="rerank", window=600, holdout=0.0, seed=1)
    shown = []
    for number in range(400):
        shown.append(live.rank("later" if number % 4 == 0 else "search", f"key {number % 5}", items))
        if number % 20 == 0:
            live.attend()
    live.attend()
    assert len(live._impressions._open) <= 40
    for number, each in enumerate(shown):
        if number % 3 == 0:
            assert live.click(each.id, each.items[0]) == "accepted"
            assert live.click(each.id, each.items[0]) == "duplicate"
    for _ in range(10):
        live.attend()
    assert len(live._impressions._open) <= 40
    assert live.events([{"impression": each.id, "item": each.items[0]} for each in shown[300:306]]) == [
        "duplicate", "accepted", "accepted", "duplicate", "accepted", "accepted",
    ]  # fmt: skip
    for _ in range(10):
        live.attend()
    clock.now += 61
    assert live.status("search")["open"] == 0
    assert live.click(shown[1].id, shown[1].items[1]) == "late"
    assert live.status("later")["open"] == 100
    live._upkeep.checkpoint()
    crash(live)
    live = open_live(store, clock, memory=100_000)
    for _ in range(20):
        live.attend()
    clock.now += 600
    counts = live.status("later")
    assert counts["open"] == 0
    assert counts["closed"] == counts["learned"] == 100
    assert live.status("search")["learned"] == 300
    assert live.status("search")["clicks"] + counts["clicks"] == 134 + 4
    check_whole(live)
    live.close()


def test_impressions_that_left_memory_meanwhile(tmp_path: Path) -> None:
    """Whoever has an impression in hand that leaves memory this moment asks for it again."""
    clock = Clock()
    items = [f"item {i}" for i in range(4)]
    live = open_live(lambda: SQLiteStore(tmp_path / "shop.db"), clock, memory=30_000)
    live.create("search", kind="rerank", window=60, holdout=0.0, seed=1)
    shown = [live.rank("search", "key", items) for _ in range(50)]
    find = live._hearing.find

    def meanwhile(item: str) -> None:
        """When the next impression has been found, let it leave memory, and come back for another click."""

        def find_and_lose(id_: str) -> object:
            found = find(id_)
            del live._hearing.find
            while not found[0].away:
                for each in shown[1:]:
                    find(each.id)
                live.attend()
            assert live.click(id_, item) == "accepted"
            return found

        live._hearing.find = find_and_lose  # type: ignore[method-assign, assignment]

    meanwhile(items[1])
    assert live.click(shown[0].id, items[0]) == "accepted"
    assert live.click(shown[0].id, items[0]) == "duplicate"
    meanwhile(items[2])
    assert live.finish(shown[0].id) == "accepted"
    assert live.click(shown[0].id, items[3]) == "late"
    clock.now += 61
    assert live.status("search")["learned"] == 50
    assert live.status("search")["clicks"] == 3
    check_whole(live)
    live.close()


def test_an_impression_that_ends_while_others_are_brought_back_ends_once(tmp_path: Path) -> None:
    """An event brings an impression back; it is closed just when those whose windows have ended are brought back."""
    clock = Clock()
    with open_live(lambda: SQLiteStore(tmp_path / "shop.db"), clock, memory=1) as live:
        live.create("search", kind="rerank", window=60, holdout=0.0, seed=1)
        impressions, journal = live._impressions, live._journal
        shown, _ = [live.rank("search", "laptop", ["a", "b", "c"]) for _ in range(2)]
        live.attend()
        clock.now += 61
        impressions._most = 10
        impressions.close_due(waiting=False)
        assert impressions._overdue, "its window has ended while it was not in memory"
        found, *_ = live._hearing.find(shown.id)
        assert found is not None
        impressions.close_due = lambda *_, **__: None  # type: ignore[method-assign]
        live.rank("search", "laptop", ["a", "b", "c"])
        del impressions.close_due
        assert journal.rows, "something waits to be written"
        flush = journal.flush

        def flush_and_close() -> None:
            flush()
            impressions.close(found)

        journal.flush = flush_and_close  # type: ignore[method-assign]
        impressions._bring_back_overdue()
        journal.flush = flush  # type: ignore[method-assign]
        assert found.seq not in impressions._open
        check_whole(live)


def test_an_impression_that_left_memory_twice_ends_once(tmp_path: Path) -> None:
    """It waits twice to be brought back, and is closed by another thread as soon as it is back for the first time."""
    clock = Clock()
    with open_live(lambda: SQLiteStore(tmp_path / "shop.db"), clock, memory=1) as live:
        live.create("search", kind="rerank", window=60, holdout=0.0, seed=1)
        impressions = live._impressions
        shown, _ = [live.rank("search", "laptop", ["a", "b", "c"]) for _ in range(2)]
        live.attend()
        live.click(shown.id, "b")  # brings it back
        impressions._most = 0
        live.attend()
        number = sequence_of(live, shown.id)
        assert number not in impressions._open, "it has left memory again"
        clock.now += 61
        impressions._most = 10
        impressions.close_due(waiting=False)
        assert list(impressions._overdue).count(number) == 2
        bring_back = impressions._bring_back

        def bring_back_and_close(impression: Impression) -> None:
            bring_back(impression)
            impressions.close(impression)

        impressions._bring_back = bring_back_and_close  # type: ignore[method-assign]
        impressions._bring_back_overdue()
        assert not impressions._open
        check_whole(live)


def test_a_list_that_leaves_memory_before_it_is_written(tmp_path: Path) -> None:
    clock = Clock()
    with open_live(lambda: SQLiteStore(tmp_path / "shop.db"), clock, memory=1) as live:
        live.create("search", kind="rerank", window=60, holdout=0.0, seed=1)
        live.rank("search", "laptop", ["a", "b", "c"])
        live._journal.commit = lambda _: None  # type: ignore[method-assign]
        shown = live.rank("search", "laptop", ["b", "a", "c"])
        del live._journal.commit
        version = live._learners.get(live._loops.by_name["search"], "laptop").version
        live._learners._lists.clear()
        assert live._journal.rows, "it is not written yet"
        assert live._learners.names_of(version, 1) == ("b", "a", "c")
        assert live.click(shown.id, "a") == "accepted"
        check_whole(live)


def test_a_checkpoint_does_not_pass_what_is_about_to_be_closed(tmp_path: Path) -> None:
    """A thread has taken an impression from the queue to close it, when another makes room and a checkpoint is made."""
    clock = Clock()

    def store() -> SQLiteStore:
        return SQLiteStore(tmp_path / "shop.db")

    live = open_live(store, clock)
    live.create("search", kind="rerank", window=60, holdout=0.0, seed=1)
    shown = live.rank("search", "laptop", ["a", "b", "c"])
    live.click(shown.id, "b")
    clock.now += 61
    impressions = live._impressions
    taken = impressions._next(live._loops.by_name["search"].queue, live._journal.now())
    assert taken is not None
    impressions._most = 0
    impressions.put_away()
    live._upkeep.checkpoint()
    crash(live)
    with open_live(store, clock) as again:
        close_all(again, clock)
        assert again.status("search")["learned"] == 1
        check_whole(again)
