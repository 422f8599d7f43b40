"""What is particular to PostgreSQL: leases and who may write, lost connections, commits whose answer is lost."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from cut_connections import Proxy
from live_world import check_whole
from postgres_server import Server, end_lease

import rankloop as rl
from rankloop.live import postgres_tables as sql
from rankloop.live.conformance import KEYS, LONG_KEYS, chosen
from rankloop.live.entries import Entry
from rankloop.live.opening import open_store
from rankloop.live.postgres import PostgresStore
from rankloop.live.postgres_tables import VERSION
from rankloop.live.stores import (
    Batch,
    Header,
    KnownLearner,
    Snapshot,
    Store,
    StoreError,
    StoreLost,
)

PATIENCE = 60


@pytest.fixture
def store(database: str) -> Iterator[PostgresStore]:
    store = PostgresStore(database, lease=5.0)
    store.open()
    yield store
    store.close()


def numbers(store: Store) -> list[int]:
    return [entry.seq for entry in store.entries(0)]


def written(url: str) -> list[int]:
    """The numbers of all entries, as another program sees them."""
    reader = PostgresStore(url, read_only=True)
    reader.open()
    try:
        return numbers(reader)
    finally:
        reader.close()


# -- addresses and passwords -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("postgresql://shop:s3cret@db:5433/live", "postgresql://shop@db:5433/live"),
        ("postgres://shop:s3%20cret@db/live?sslmode=require&password=s3cret", "postgresql://shop@db/live"),
        ("postgresql:///live?host=/run/pg&user=shop&password=s3cret", "postgresql://shop@/run/pg/live"),
        ("postgresql://", "postgresql:///"),
    ],
)
def test_names_hold_no_password(url: str, name: str) -> None:
    store = open_store(url)
    assert isinstance(store, PostgresStore)
    assert store.name == name


@pytest.mark.parametrize("url", ["postgresql://shop:s3%zzcret@db/live", "postgresql://db/live?paswsord=s3cret"])
def test_bad_addresses(url: str) -> None:
    with pytest.raises(ValueError, match="not an address that PostgreSQL understands") as caught:
        PostgresStore(url)
    assert "cret" not in str(caught.value)


def test_no_server(postgres: Server, caplog: pytest.LogCaptureFixture) -> None:
    for url in (
        f"postgresql://shop:s3cret@/live?host={postgres.folder}/nowhere",
        "postgresql://shop:s3cret@127.0.0.1:1/x",
    ):
        with pytest.raises(StoreLost, match="cannot be reached") as caught:
            PostgresStore(url).open()
        assert "s3cret" not in str(caught.value) + caplog.text
        assert "\n" not in str(caught.value)


def test_no_database(postgres: Server) -> None:
    with pytest.raises(StoreLost, match=r'cannot be reached: .*database "nowhere" does not exist'):
        PostgresStore(postgres.url("nowhere")).open()


def test_without_psycopg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for name in ("leases", "postgres", "postgres_database", "postgres_connection"):
        monkeypatch.delitem(sys.modules, f"rankloop.live.{name}")
    with pytest.raises(StoreError, match=r"pip install 'rankloop\[postgres\]'"):
        open_store("postgresql://db/live")


# -- the tables ------------------------------------------------------------------------------------------------------


def test_a_newer_version_is_refused(postgres: Server, database: str, store: PostgresStore) -> None:
    store.close()
    postgres.sql("UPDATE rankloop.meta SET version = version + 1", url=database)
    told = rf"written by a newer rankloop \(format {VERSION + 1}, .* up to {VERSION}\): upgrade rankloop"
    for read_only in (False, True):
        with pytest.raises(StoreError, match=told):
            PostgresStore(database, read_only=read_only).open()


def test_a_schema_of_another_program_is_refused(postgres: Server, database: str) -> None:
    postgres.sql("CREATE SCHEMA rankloop; CREATE TABLE rankloop.meta (colour text)", url=database)
    with pytest.raises(StoreError, match="schema rankloop of another program"):
        PostgresStore(database).open()


def test_an_empty_schema_is_used(postgres: Server, database: str) -> None:
    """As an administrator makes it for a role that may not make schemas."""
    postgres.sql("CREATE SCHEMA rankloop", url=database)
    store = PostgresStore(database)
    assert store.open().last == 0
    store.close()


def test_a_role_without_rights(postgres: Server, database: str) -> None:
    postgres.sql("CREATE ROLE visitor LOGIN", url=database)
    try:
        with pytest.raises(StoreError, match=r"refused \(permission denied for database"):
            PostgresStore(database.replace("tester@", "visitor@")).open()
    finally:
        postgres.sql("DROP ROLE visitor", url=database)


def test_tables_are_made_once(database: str) -> None:
    """Programs that start at the same time do not make the tables twice, and one of them has the store."""
    stores = [PostgresStore(database, lease=5.0) for _ in range(4)]
    errors: list[StoreError] = []

    def begin(store: PostgresStore) -> None:
        try:
            store.open()
        except StoreError as error:
            errors.append(error)

    threads = [threading.Thread(target=begin, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for store in stores:
        store.close()
    assert len(errors) == 3
    assert all("is held by process" in str(error) for error in errors), errors


def test_a_database_in_another_encoding(postgres: Server) -> None:
    store = PostgresStore(postgres.empty_database("latin", "ENCODING 'LATIN1' TEMPLATE template0"))
    store.open()
    learners = [KnownLearner(k + 1, 1, key) for k, key in enumerate(KEYS + LONG_KEYS)]
    store.write(Batch(learners=learners))
    assert list(store.learners()) == learners
    assert [store.find_learner(1, learner.key) for learner in learners] == learners
    store.close()


def test_commits_are_durable(postgres: Server, database: str) -> None:
    """A database that is set to lose commits does not lose these."""
    postgres.sql("ALTER ROLE tester SET synchronous_commit = off", url=database)
    try:
        store = PostgresStore(database)
        store.open()
        assert store._query("SHOW synchronous_commit") == [("on",)]
        store.close()
    finally:
        postgres.sql("ALTER ROLE tester RESET synchronous_commit", url=database)


VERSION_1 = """
CREATE SCHEMA rankloop;
CREATE TABLE rankloop.meta (version integer NOT NULL, store bytea NOT NULL, secret bytea NOT NULL);
INSERT INTO rankloop.meta VALUES (1, '\\x01020304', '\\x000102030405060708090a0b0c0d0e0f');
CREATE TABLE rankloop.partitions (
    partition integer PRIMARY KEY, owner text NOT NULL, epoch bigint NOT NULL, expires timestamptz NOT NULL,
    clean boolean NOT NULL, checkpoint bigint NOT NULL, cursor bigint NOT NULL, trimmed bigint NOT NULL
);
INSERT INTO rankloop.partitions VALUES (0, 'host:1:abcd', 7, 'epoch', false, 3, 2, 1);
CREATE TABLE rankloop.journal (
    partition integer NOT NULL, seq bigint NOT NULL, at bigint NOT NULL, kind smallint NOT NULL,
    learner bigint NOT NULL, impression bigint, body bytea NOT NULL, PRIMARY KEY (partition, seq)
);
INSERT INTO rankloop.journal VALUES (0, 2, 1700000000000, 2, 0, NULL, '{}'), (0, 3, 1700000000001, 5, 1, NULL, '\\x00'),
    (0, 1000004, 1700000000002, 8, 1, 3, '');
CREATE INDEX journal_by_impression ON rankloop.journal (partition, impression, seq) WHERE impression IS NOT NULL;
CREATE INDEX journal_of_store ON rankloop.journal (partition, seq) WHERE learner = 0;
CREATE TABLE rankloop.learners (
    partition integer NOT NULL, number bigint NOT NULL, loop bigint NOT NULL, key bytea NOT NULL,
    PRIMARY KEY (partition, number)
);
CREATE UNIQUE INDEX learners_by_key ON rankloop.learners (partition, loop, sha256(key));
INSERT INTO rankloop.learners VALUES (0, 1, 1, '\\xe3838ee383bce38388');
CREATE TABLE rankloop.snapshots (
    partition integer NOT NULL, learner bigint NOT NULL, seq bigint NOT NULL, state bytea NOT NULL,
    PRIMARY KEY (partition, learner)
);
INSERT INTO rankloop.snapshots VALUES (0, 1, 3, '\\xaa');
CREATE TABLE rankloop.bases (
    partition integer NOT NULL, learner bigint NOT NULL, seq bigint NOT NULL, state bytea NOT NULL,
    PRIMARY KEY (partition, learner)
);
INSERT INTO rankloop.bases VALUES (0, 1, 1, '\\xbb');
CREATE TABLE rankloop.totals (
    partition integer NOT NULL, loop bigint NOT NULL, counts bytea NOT NULL, PRIMARY KEY (partition, loop)
);
INSERT INTO rankloop.totals VALUES (0, 1, '\\xcc');
"""


def test_tables_of_version_1(postgres: Server, database: str) -> None:
    """Whatever later versions look like, they open this."""
    postgres.sql(VERSION_1, url=database)
    store = PostgresStore(database)
    assert store.open() == Header(bytes([1, 2, 3, 4]), bytes(range(16)), 1_000_004, 1, False, 3, 2, 1)
    assert list(store.entries(0)) == [
        Entry(2, 1_700_000_000_000, 2, 0, None, b"{}"),
        Entry(3, 1_700_000_000_001, 5, 1, None, b"\0"),
        Entry(1_000_004, 1_700_000_000_002, 8, 1, 3, b""),
    ]
    assert store.find_learner(1, "ノート") == KnownLearner(1, 1, "ノート")
    assert (store.snapshot(1), store.base(1)) == (Snapshot(1, 3, b"\xaa"), Snapshot(1, 1, b"\xbb"))
    assert store.totals() == {1: b"\xcc"}
    store.write(Batch([chosen(1_000_005)]))
    store.close()
    assert postgres.sql("SELECT version FROM rankloop.meta", url=database) == [(VERSION,)]


def test_migrations(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later version turns old tables into its own, all or nothing."""
    store.write(Batch([chosen(1)]))
    store.close()
    monkeypatch.setattr(sql, "VERSION", VERSION + 1)
    steps = "ALTER TABLE rankloop.totals ADD note text;"
    monkeypatch.setitem(sql.MIGRATIONS, VERSION, f"{steps} SELECT * FROM nowhere")
    with pytest.raises(StoreError, match='relation "nowhere" does not exist'):
        store.open()
    monkeypatch.setitem(sql.MIGRATIONS, VERSION, steps)
    assert store.open().last == 1
    assert store._query("SELECT version FROM rankloop.meta") == [(VERSION + 1,)]
    assert store._query("SELECT note FROM rankloop.totals") == []


# -- leases ----------------------------------------------------------------------------------------------------------


def test_a_holder_that_is_alive_is_named(database: str, store: PostgresStore) -> None:
    with pytest.raises(StoreError, match=f"is held by process {os.getpid()} on .*, whose lease ends in") as caught:
        PostgresStore(database).open()
    assert not isinstance(caught.value, StoreLost)
    store.write(Batch([chosen(1)]))


def test_the_lease_is_kept_without_writes(postgres: Server, database: str, store: PostgresStore) -> None:
    first = postgres.sql("SELECT epoch, expires FROM rankloop.partitions", url=database)[0]
    for _ in range(400):
        time.sleep(0.05)
        epoch, expires = postgres.sql("SELECT epoch, expires FROM rankloop.partitions", url=database)[0]
        if expires > first[1]:
            break
    assert (epoch, expires > first[1]) == (first[0], True)


def test_a_closed_store_can_be_had_at_once(database: str, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        store = PostgresStore(database, lease=60)
        store.open()
        store.close()
    assert "waiting" not in caplog.text


def test_of_two_that_find_the_lease_ended_one_has_it(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    slow, quick = PostgresStore(database, lease=5.0), PostgresStore(database, lease=5.0)
    monkeypatch.setattr(slow, "_free", lambda _: quick.open() if not quick._is_open else None)
    with pytest.raises(StoreError, match="is held by process"):
        slow.open()
    quick.write(Batch([chosen(1)]))
    quick.close()


def test_the_lease_ends_with_its_store(database: str) -> None:
    """A store that was forgotten rather than closed does not keep its lease alive for ever."""
    forgotten = PostgresStore(database, lease=0.5)
    forgotten.open()
    keeper, connection = forgotten._keeper, forgotten._connection
    assert keeper is not None
    assert connection is not None
    del forgotten
    keeper.join(10)
    assert not keeper.is_alive()
    connection.close()
    successor = PostgresStore(database, lease=0.5)
    successor.open()
    successor.close()


def test_an_owner_whose_lease_was_taken_cannot_write(postgres: Server, database: str) -> None:
    first, second = PostgresStore(database, lease=60), PostgresStore(database, lease=60)
    first.open()
    first.write(Batch([chosen(1)]))
    end_lease(database)
    header = second.open()
    assert header.last == 1
    second.write(Batch([chosen(2, body=b"second")]))
    for _ in range(2):
        with pytest.raises(StoreError, match="taken over by process") as caught:
            first.write(Batch([chosen(2, body=b"first")], checkpoint=77, totals={1: b"first"}))
        assert not isinstance(caught.value, StoreLost)
    with pytest.raises(StoreError, match="taken over by process"):
        first.trim(1, [])
    with pytest.raises(StoreError, match="taken over by process"):
        first.entry(1)
    first.close()
    second.write(Batch([chosen(3)]))
    assert list(second.entries(1)) == [chosen(2, body=b"second"), chosen(3)]
    assert second.totals() == {}
    second.close()
    assert postgres.sql("SELECT checkpoint, epoch FROM rankloop.partitions", url=database) == [(0, 2)]


def test_an_owner_in_the_middle_of_a_write_is_not_disturbed(database: str) -> None:
    first, second = PostgresStore(database, lease=60), PostgresStore(database, lease=0.5)
    first.open()
    with first._transaction(), pytest.raises(StoreError, match="is held by process"):
        second.open()
    first.write(Batch([chosen(1)]))
    first.close()


def test_a_lapsed_lease_that_nobody_took_is_renewed(postgres: Server, database: str) -> None:
    store = PostgresStore(database, lease=60)
    store.open()
    end_lease(database)
    store.write(Batch([chosen(1)]))
    assert postgres.sql("SELECT expires > now() + interval '30 s' FROM rankloop.partitions", url=database) == [(True,)]
    store.close()


PROGRAM = """
import os, signal, sys
from rankloop.live.conformance import chosen
from rankloop.live.postgres import PostgresStore
from rankloop.live.stores import Batch, KnownLearner, StoreError

class Pausing(list):
    def __iter__(self):
        for k, entry in enumerate(list.__iter__(self)):
            if k == 5_000:
                print("in the middle", flush=True)
                os.kill(os.getpid(), signal.SIGSTOP)
            yield entry

store = PostgresStore(sys.argv[1], lease=1.0)
store.open()
store.write(Batch([chosen(1)]))
print("ready", flush=True)
for line in sys.stdin:
    kind, first = line.split()
    n = 1 if kind == "plain" else 10_000
    batch = Batch([chosen(seq) for seq in range(int(first), int(first) + n)])
    if kind != "plain":
        batch.entries = Pausing(batch.entries)
    if kind == "transaction":
        batch.learners = [KnownLearner(7, 1, "key")]
    try:
        store.write(batch)
        print("written", flush=True)
    except StoreError as error:
        print(type(error).__name__, error, flush=True)
"""


class Program:
    """Another program that holds the store, and writes when it is told to."""

    def __init__(self, url: str) -> None:
        command = [sys.executable, "-c", PROGRAM, url]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def hear(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def tell(self, kind: str, first: int) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{kind} {first}\n")
        self.process.stdin.flush()


@contextmanager
def another_program(url: str) -> Iterator[Program]:
    program = Program(url)
    try:
        assert program.hear() == "ready"
        yield program
    finally:
        program.process.kill()
        program.process.communicate()


def test_after_a_crash_another_takes_over(database: str, caplog: pytest.LogCaptureFixture) -> None:
    with another_program(database) as program:
        program.tell("plain", 2)
        assert program.hear() == "written"
        program.process.kill()
        program.process.wait()
        store = PostgresStore(database)
        with caplog.at_level(logging.WARNING):
            assert store.open().last == 2
        assert "waiting for its lease to end" in caplog.text
        store.write(Batch([chosen(3)]))
        store.close()


def test_a_paused_program_that_wakes_up_cannot_write(database: str) -> None:
    with another_program(database) as program:
        program.process.send_signal(signal.SIGSTOP)
        store = PostgresStore(database)
        store.open()
        store.write(Batch([chosen(2, body=b"mine")]))
        program.process.send_signal(signal.SIGCONT)
        program.tell("plain", 2)
        refusals = [program.hear()]
        if refusals[0].startswith("StoreLost"):  # its session was ended at the take-over
            program.tell("plain", 3)
            refusals.append(program.hear())
        assert refusals[-1].startswith("StoreError"), refusals
        assert f"taken over by process {os.getpid()} on" in refusals[-1]
        assert list(store.entries(1)) == [chosen(2, body=b"mine")]
        store.close()


@pytest.mark.parametrize(("kind", "refusal"), [("transaction", "StoreLost"), ("statement", "StoreError")])
def test_a_program_paused_in_the_middle_of_a_write(database: str, kind: str, refusal: str) -> None:
    """Whether or not it has the lease's row locked, its successor must not wait for it to wake up."""
    with another_program(database) as program:
        program.tell(kind, 2)
        assert program.hear() == "in the middle"
        store = PostgresStore(database)
        assert store.open().last == 1
        store.write(Batch([chosen(2, body=b"mine"), chosen(7_000, body=b"mine")]))
        program.process.send_signal(signal.SIGCONT)
        assert program.hear().startswith(refusal)
        program.tell("plain", 3)
        assert "taken over by process" in program.hear()
        assert list(store.entries(1)) == [chosen(2, body=b"mine"), chosen(7_000, body=b"mine")]
        store.close()


def test_forked_children_are_refused(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.write(Batch([chosen(1)]))
    monkeypatch.setattr(os, "getpid", lambda: 1)
    with pytest.raises(StoreError, match="opened before this process was forked"):
        store.write(Batch([chosen(2)]))
    monkeypatch.undo()
    store.write(Batch([chosen(2)]))


# -- lost connections ------------------------------------------------------------------------------------------------


def test_an_ended_connection(postgres: Server, database: str, store: PostgresStore) -> None:
    store.write(Batch([chosen(1)]))
    before = postgres.sql("SELECT epoch FROM rankloop.partitions", url=database)[0][0]
    assert postgres.end_connections(database) == 1
    with pytest.raises(StoreLost, match="did not answer"):
        store.write(Batch([chosen(2)]))
    store.write(Batch([chosen(2)]))
    assert numbers(store) == [1, 2]
    assert postgres.end_connections(database) == 1
    with pytest.raises(StoreLost, match="did not answer"):
        store.entry(1)
    assert store.entry(1) == chosen(1)
    after = postgres.sql("SELECT epoch FROM rankloop.partitions", url=database)[0][0]
    assert after == before + 2, "a new connection must have a new epoch"


def test_an_ended_connection_of_a_reader(postgres: Server, database: str, store: PostgresStore) -> None:
    store.write(Batch([chosen(1)]))
    reader = PostgresStore(database, read_only=True)
    reader.open()
    postgres.end_connections(database)
    with pytest.raises(StoreLost, match="did not answer"):
        reader.entry(1)
    assert reader.entry(1) == chosen(1)
    with pytest.raises(StoreError, match="opened for reading only"):
        reader.write(Batch([chosen(2)]))
    reader.close()


def test_a_take_over_while_the_connection_is_lost(postgres: Server, database: str) -> None:
    first, second = PostgresStore(database, lease=60), PostgresStore(database, lease=60)
    first.open()
    postgres.end_connections(database)
    end_lease(database)
    second.open()
    with pytest.raises(StoreLost, match="did not answer"):
        first.write(Batch([chosen(1, body=b"first")]))
    with pytest.raises(StoreError, match="taken over by process"):
        first.write(Batch([chosen(1, body=b"first")]))
    second.write(Batch([chosen(1, body=b"second")]))
    assert list(second.entries(0)) == [chosen(1, body=b"second")]
    first.close()
    second.close()


def test_a_restarted_server(postgres: Server, database: str) -> None:
    postgres.settle()
    store = PostgresStore(database, lease=60)
    store.open()
    store.write(Batch([chosen(1)]))
    postgres.stop()
    try:
        for message in ("did not answer", "cannot be reached", "could not be reached a moment ago"):
            with pytest.raises(StoreLost, match=message):
                store.write(Batch([chosen(2)]))
    finally:
        postgres.start()
    for _ in range(100):
        try:
            store.write(Batch([chosen(2)]))
            break
        except StoreLost:
            time.sleep(0.05)
    assert numbers(store) == [1, 2]
    store.close()


@pytest.fixture
def proxy(postgres: Server) -> Iterator[Proxy]:
    proxy = Proxy(postgres.socket)
    yield proxy
    proxy.close()


def through(proxy: Proxy, url: str) -> str:
    """The address of a database by way of the proxy."""
    database = url.partition("?")[0].rpartition("/")[2]
    return f"postgresql://tester@127.0.0.1:{proxy.port}/{database}?sslmode=disable&gssencmode=disable"


def day(k: int) -> Batch:
    """A batch with something of everything, different for each k."""
    first = 10 * k
    return Batch(
        entries=[chosen(seq, body=b"%d" % k) for seq in range(first, first + 5)],
        learners=[KnownLearner(first, 1, f"key {k}"), KnownLearner(first + 1, 1, f"other key {k}")],
        snapshots=[Snapshot(1, first, b"%d" % k)],
        totals={1: b"%d" % k},
        checkpoint=first,
    )


@pytest.mark.parametrize("deliver", [False, True])
def test_a_connection_cut_at_every_point_of_a_write(database: str, proxy: Proxy, deliver: bool) -> None:
    """Also between a commit and its answer: what is written again is there once."""
    store = PostgresStore(through(proxy, database), lease=60)
    store.open()
    k = 0
    while True:
        k += 1
        proxy.cut(pieces=k, deliver=deliver)
        batch = day(k)
        for _ in range(3):
            try:
                store.write(batch)
                break
            except StoreLost:
                batch.entries.append(chosen(batch.entries[-1].seq + 1, body=b"later"))
        cut = proxy.stop_cutting()
        assert len(batch.entries) == 5 + cut, "a cut must be noticed, once"
        assert list(store.entries(10 * k - 1)) == batch.entries
        assert [learner.number for learner in store.learners(after=10 * k - 1)] == [10 * k, 10 * k + 1]
        assert (store.totals()[1], store.snapshot(1)) == (b"%d" % k, Snapshot(1, 10 * k, b"%d" % k))
        if not cut:
            break
    assert k > 4, "a write has more steps than that"
    store.close()


@pytest.mark.parametrize("deliver", [False, True])
def test_a_commit_whose_answer_was_lost(database: str, proxy: Proxy, deliver: bool) -> None:
    """Whether or not the commit happened, writing the same again leaves it there once."""
    store = PostgresStore(through(proxy, database), lease=60)
    store.open()
    store.write(day(1))
    proxy.cut(text=b"COMMIT", deliver=deliver)
    with pytest.raises(StoreLost, match="did not answer"):
        store.write(day(2))
    both = [*range(10, 15), *range(20, 25)]
    assert written(database) == (both if deliver else both[:5])
    store.write(day(2))
    assert written(database) == both
    store.close()


def in_time(call: Callable[[], Any]) -> Any:
    """What a call gives that might hang."""
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(call()), daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert answers, "the call has not ended, or raised something"
    return answers[0]


def test_a_server_that_hangs(database: str, proxy: Proxy, caplog: pytest.LogCaptureFixture) -> None:
    """Lists are production's and events raise, the first after a time limit and others at once, until it is back."""
    store = PostgresStore(through(proxy, database) + "&connect_timeout=2", lease=1.0)
    live = rl.Live(store, background=False)
    live.create("search", kind="rerank", holdout=0)
    shown = live.rank("search", "laptop", ["a", "b", "c"])

    def click() -> str:
        try:
            return live.click(shown.id, "a")
        except StoreLost as error:
            return str(error)

    proxy.swallow(True)
    assert "did not answer (nothing has come from it for 2 s)" in in_time(click)
    for _ in range(50):
        assert "does not answer: it is tried again" in in_time(click)
        page = in_time(lambda: live.rank("search", "a new key", ["c", "b", "a"]))
        assert (page.items, page.fallback) == (["c", "b", "a"], True)
        assert "does not answer" in page.reason
        assert not in_time(lambda: live.rank("search", "laptop", ["a", "b", "c"])).fallback  # nothing has to be written
    proxy.swallow(False)
    until = time.monotonic() + PATIENCE
    while "does not answer" in in_time(click) and time.monotonic() < until:
        time.sleep(0.05)
    assert in_time(click) == "duplicate"
    assert not live.rank("search", "a new key", ["c", "b", "a"]).fallback
    check_whole(live)
    live.close()


def test_a_server_that_hangs_when_it_is_asked_to_connect(database: str, proxy: Proxy) -> None:
    store = PostgresStore(through(proxy, database) + "&connect_timeout=2")
    proxy.swallow(True)

    def opened() -> str:
        with pytest.raises(StoreLost, match="cannot be reached: connection timeout expired"):
            store.open()
        return "refused"

    assert in_time(opened) == "refused"


def test_time_limits_in_addresses(database: str) -> None:
    with pytest.raises(ValueError, match="connect_timeout in the address must be a number of seconds, not 'soon'"):
        PostgresStore(database + "&connect_timeout=soon")
    for given, seconds in (("1", 2.0), ("30", 30.0), ("0", float("inf"))):
        store = PostgresStore(database + f"&connect_timeout={given}")
        store.open()
        assert store._connection is not None
        assert store._connection.patience == seconds
        store.close()


def test_entries_are_never_overwritten(store: PostgresStore) -> None:
    store.write(Batch([chosen(1)]))
    with pytest.raises(StoreError, match="has another entry 1 already"):
        store.write(Batch([chosen(1, body=b"other")]))
    assert list(store.entries(0)) == [chosen(1)]


# -- a loop on it ----------------------------------------------------------------------------------------------------


def test_a_day_of_a_loop(postgres: Server, database: str) -> None:
    now = [1_700_000_000.0]
    items = ["sku-9", "sku-2", "sku-7"]
    with rl.Live(database, clock=lambda: now[0], background=False) as live:
        live.create("search", kind="rerank", holdout=0)
        first = live.rank("search", "laptop", items, user="u1")
        assert (sorted(first.items), first.arm) == (sorted(items), "policy")
        assert live.click(first.id, "sku-2") == "accepted"
        assert live.click(first.id, "sku-2") == "duplicate"
        assert live.finish(first.id) == "accepted"
        second = live.rank("search", "ノート", items, user="u2")
        postgres.end_connections(database)
        with pytest.raises(StoreLost):
            live.click(second.id, "sku-7")
        assert live.click(second.id, "sku-7") == "duplicate", "it has been taken in, and is written now"
        third = live.rank("search", "laptop", items, user="u3")
    now[0] += 60
    with rl.Live(database, clock=lambda: now[0], background=False) as live:
        assert live.click(third.id, "sku-9") == "accepted"
        assert live.click(second.id, "sku-7") == "duplicate"
        now[0] += 3600
        live.attend()
        status = live.status("search")
        counted: dict[str, Any] = {name: status[name] for name in ("keys", "impressions", "learned", "clicks", "open")}
        assert counted == {"keys": 2, "impressions": 3, "learned": 3, "clicks": 3, "open": 0}
        assert live.click(third.id, "sku-9") == "late"
        assert sorted(live.best("search", "laptop")) == sorted(items)
