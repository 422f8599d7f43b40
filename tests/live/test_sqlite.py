"""What is particular to SQLite: files that are not what they should be, and old ones."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from rankloop.live import sqlite, sqlite_place
from rankloop.live.conformance import chosen
from rankloop.live.entries import Entry
from rankloop.live.opening import open_store
from rankloop.live.sqlite import SQLiteStore
from rankloop.live.stores import (
    SCHEMA_VERSION,
    Batch,
    Header,
    KnownLearner,
    Snapshot,
    StoreError,
    StoreLost,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "shop.db"


def filled(path: Path) -> Path:
    """A file with a journal of some pages."""
    store = SQLiteStore(path)
    store.open()
    store.write(Batch([chosen(seq, body=os.urandom(100)) for seq in range(1, 501)]))
    store.close()
    return path


def refusal(path: Path, *, read_only: bool = False) -> str:
    """What a store says that does not open, which must change nothing."""
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(StoreError) as caught:
        SQLiteStore(path, read_only=read_only).open()
    assert (path.read_bytes() if path.is_file() else None) == before, "the file was changed"
    message = str(caught.value)
    assert message.startswith(str(path)) or "there is no store" in message
    assert "\n" not in message
    return message.replace(str(path), "shop.db")


@pytest.mark.parametrize("read_only", [False, True])
def test_a_database_of_another_program(path: Path, read_only: bool) -> None:
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE orders (number INTEGER)")
    other.commit()
    other.close()
    assert refusal(path, read_only=read_only) == (
        "shop.db is a database of another program: give rankloop a file of its own"
    )


def test_an_empty_database_marked_by_another_program(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("PRAGMA application_id = 7")
    other.close()
    assert "of another program" in refusal(path)


@pytest.mark.parametrize("read_only", [False, True])
def test_a_newer_version(path: Path, read_only: bool) -> None:
    newer = sqlite3.connect(filled(path))
    newer.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    newer.close()
    assert refusal(path, read_only=read_only) == (
        f"shop.db was written by a newer rankloop (format {SCHEMA_VERSION + 1}, this one reads up to "
        f"{SCHEMA_VERSION}): upgrade rankloop"
    )


def test_a_read_only_file(path: Path) -> None:
    filled(path).chmod(0o444)
    assert refusal(path) == "shop.db cannot be written: shop.db is read-only"
    reader = SQLiteStore(path, read_only=True)
    assert reader.open().last == 500
    reader.close()


def test_a_lock_that_cannot_be_made(path: Path) -> None:
    path.with_name("shop.db-lock").mkdir()
    assert refusal(path) == "shop.db cannot be written: shop.db-lock: Is a directory"


@pytest.mark.parametrize("left", [50, 100, 1024, 4096, 5000, 20_000, -4096, -1])
def test_a_truncated_file(path: Path, left: int) -> None:
    size = filled(path).stat().st_size
    with open(path, "r+b") as file:
        file.truncate(left % size)
    for read_only in (False, True):
        message = refusal(path, read_only=read_only)
        assert "is damaged (" in message or "is not a database of rankloop" in message


def test_not_a_database(path: Path) -> None:
    path.write_text("name,price\nsku-9,100\n" * 100)
    assert refusal(path) == "shop.db is not a database of rankloop: give the path of one, or of a new file"


def test_no_folder(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "shop.db"
    assert refusal(path) == f"shop.db cannot be made: there is no folder {tmp_path / 'nowhere'}"
    assert not path.parent.exists()


def test_a_folder(tmp_path: Path) -> None:
    assert refusal(tmp_path) == "shop.db is a folder: name a file in it"


def test_nothing_to_read(path: Path) -> None:
    assert refusal(path, read_only=True) == "there is no store shop.db"
    assert not path.exists()


def test_a_network_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_place, "_file_system", lambda _: "nfs4")
    assert refusal(path).startswith("shop.db is on a network disk (nfs4), where SQLite cannot keep its promises: ")
    assert not path.exists()


HOLDER = """
import sys
from rankloop.live.sqlite import SQLiteStore
store = SQLiteStore(sys.argv[1])
store.open()
print("ready", flush=True)
sys.stdin.read()
"""


def test_held_by_another_process(path: Path) -> None:
    filled(path)
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "ready\n"
        assert refusal(path).startswith(f"shop.db is held by process {holder.pid}: one program at a time writes")
        holder.kill()
    store = SQLiteStore(path)
    assert store.open().last == 500, "the lock must end with its process"
    store.close()


def test_held_by_another_connection(path: Path) -> None:
    """A program that knows nothing of our lock, such as a shell, may hold SQLite's own."""
    filled(path)
    store = SQLiteStore(path)
    store.open()
    store._query("PRAGMA busy_timeout = 10")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreLost, match="locked by another program: try again later"):
        store.write(Batch([chosen(501)]))
    other.execute("ROLLBACK")
    other.close()
    store.write(Batch([chosen(501)]))
    store.close()


def test_a_full_disk(path: Path) -> None:
    store = SQLiteStore(filled(path))
    store.open()
    pages = store._query("PRAGMA page_count")[0][0]
    store._query(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(StoreLost, match="cannot grow: the disk is full"):
        store.write(Batch([chosen(seq, body=bytes(1000)) for seq in range(501, 600)]))
    store.write(Batch([chosen(501)]))
    assert [entry.seq for entry in store.entries(499)] == [500, 501]
    store.close()


@pytest.mark.usefixtures("patient_disk")
def test_commits_are_durable(path: Path) -> None:
    store = SQLiteStore(path)
    store.open()
    assert store._query("PRAGMA journal_mode") == [("wal",)]
    assert store._query("PRAGMA synchronous") == [(2,)]
    store.close()


@pytest.mark.parametrize("store", ["", "mysql://db/shop"])
def test_what_names_no_store(store: str) -> None:
    with pytest.raises(ValueError, match=r"store must be a path or postgresql://\.\.\., not "):
        open_store(store)


VERSION_1 = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID;
INSERT INTO meta VALUES('checkpoint', 3), ('clean', 0), ('cursor', 2), ('trimmed', 1);
INSERT INTO meta VALUES('store', X'01020304');
INSERT INTO meta VALUES('secret', X'000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f');
CREATE TABLE journal (
    seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, kind INTEGER NOT NULL, learner INTEGER NOT NULL,
    impression INTEGER, body BLOB NOT NULL
);
INSERT INTO journal VALUES (2, 1700000000000, 2, 0, NULL, X'7b7d'), (3, 1700000000001, 5, 1, NULL, X'00'),
    (1000004, 1700000000002, 8, 1, 3, X'');
CREATE INDEX journal_by_impression ON journal (impression, seq) WHERE impression IS NOT NULL;
CREATE INDEX journal_of_store ON journal (seq) WHERE learner = 0;
CREATE TABLE learners (number INTEGER PRIMARY KEY, loop INTEGER NOT NULL, key TEXT NOT NULL, UNIQUE (loop, key));
INSERT INTO learners VALUES (1, 1, 'ノート');
CREATE TABLE snapshots (learner INTEGER PRIMARY KEY, seq INTEGER NOT NULL, state BLOB NOT NULL);
INSERT INTO snapshots VALUES (1, 3, X'aa');
CREATE TABLE bases (learner INTEGER PRIMARY KEY, seq INTEGER NOT NULL, state BLOB NOT NULL);
INSERT INTO bases VALUES (1, 1, X'bb');
CREATE TABLE totals (loop INTEGER PRIMARY KEY, counts BLOB NOT NULL);
INSERT INTO totals VALUES (1, X'cc');
PRAGMA application_id = 1380740976;
PRAGMA user_version = 1;
"""


def test_a_file_of_version_1(path: Path) -> None:
    """Whatever later versions look like, they open this."""
    old = sqlite3.connect(path)
    old.executescript(VERSION_1)
    old.close()
    store = SQLiteStore(path)
    header = store.open()
    assert header == Header(bytes([1, 2, 3, 4]), bytes(range(32)), 1_000_004, 1, False, 3, 2, 1)
    assert list(store.entries(0)) == [
        Entry(2, 1_700_000_000_000, 2, 0, None, b"{}"),
        Entry(3, 1_700_000_000_001, 5, 1, None, b"\0"),
        Entry(1_000_004, 1_700_000_000_002, 8, 1, 3, b""),
    ]
    assert list(store.of_impressions(3, 3)) == [store.entry(1_000_004)]
    assert store.find_learner(1, "ノート") == KnownLearner(1, 1, "ノート")
    assert (store.snapshot(1), store.base(1)) == (Snapshot(1, 3, b"\xaa"), Snapshot(1, 1, b"\xbb"))
    assert store.totals() == {1: b"\xcc"}
    store.write(Batch([chosen(1_000_005)]))
    store.close()
    assert store.open().last == 1_000_005
    store.close()


def test_migrations(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later version turns an old file into one of its own, all or nothing."""
    filled(path)
    monkeypatch.setattr(sqlite, "SCHEMA_VERSION", SCHEMA_VERSION + 1)
    monkeypatch.setitem(sqlite.MIGRATIONS, SCHEMA_VERSION, "ALTER TABLE totals ADD note TEXT; SELECT * FROM nowhere")
    store = SQLiteStore(path)
    with pytest.raises(StoreError, match="no such table: nowhere"):
        store.open()
    monkeypatch.setitem(sqlite.MIGRATIONS, SCHEMA_VERSION, "ALTER TABLE totals ADD note TEXT; DROP TABLE bases")
    assert store.open().last == 500
    assert store._query("PRAGMA user_version") == [(SCHEMA_VERSION + 1,)]
    assert store._query("SELECT note FROM totals") == []
    store.close()
