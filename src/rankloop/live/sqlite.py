"""The journal in one SQLite file, for one program.

Versions of SQLite before 3.51.3 can damage a database in WAL mode when two connections write or checkpoint at once, so
one connection does all the writing, and a lock beside the file keeps other programs from writing at the same time.
"""

from __future__ import annotations

import secrets
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import chain
from pathlib import Path
from typing import IO, Any

from rankloop.live.entries import Entry
from rankloop.live.sqlite_place import check_place, claim
from rankloop.live.sqlite_tables import KEYS, MIGRATIONS, NOTABLE, SCHEMA, TALLY
from rankloop.live.stores import (
    SCHEMA_VERSION,
    Batch,
    Header,
    KnownLearner,
    Snapshot,
    StoreConflict,
    StoreError,
    StoreLost,
    Tally,
    in_pages,
    not_yet_written,
)

APPLICATION = 0x524C6F70
"""SQLite's mark of whose file it is."""

PAGES_BEFORE_MOVE = 4_000
"""Pages in the WAL, 16 MB of them, before SQLite moves them into the file: those who commit wait for that."""
MOST_ROWS = 128
"""Entries in one statement. SQLite takes 32,766 values, before version 3.32 only 999."""


class SQLiteStore:
    """A journal in one file.

    Parameters
    ----------
    path
        Path of the file, which is made if it is not there.
    read_only
        Whether the store is only read, beside a program that writes.
    """

    def __init__(self, path: str | Path, *, read_only: bool = False) -> None:
        self.name = str(path)
        self._path = Path(path)
        self._read_only = read_only
        self._lock = threading.RLock()
        self._claim: IO[bytes] | None = None
        self._connection: sqlite3.Connection | None = None

    # -- opening and closing -------------------------------------------------------------------------------------

    def open(self) -> Header:
        """Claim the file, making it if it is not there."""
        if self._read_only:
            if not self._path.exists():
                raise StoreError(f"there is no store {self.name}")
        else:
            check_place(self._path, self.name)
            self._claim = claim(self.name)
        try:
            return self._connect()
        except sqlite3.DatabaseError as error:
            self.close()
            raise self._unusable(error) from None
        except BaseException:
            self.close()
            raise

    def _connect(self) -> Header:
        mode = "ro" if self._read_only else "rwc"
        uri = f"{self._path.absolute().as_uri()}?mode={mode}"
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, cached_statements=64)
        self._connection = connection
        connection.execute("PRAGMA busy_timeout = 5000")
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        n_tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if application != APPLICATION and (n_tables or application or self._read_only):
            raise StoreError(f"{self.name} is a database of another program: give rankloop a file of its own")
        if version > SCHEMA_VERSION:
            raise StoreError(
                f"{self.name} was written by a newer rankloop (format {version}, this one reads up to "
                f"{SCHEMA_VERSION}): upgrade rankloop"
            )
        if not self._read_only:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(f"PRAGMA wal_autocheckpoint = {PAGES_BEFORE_MOVE}")
            if not n_tables:
                self._make()
            for old in range(version or SCHEMA_VERSION, SCHEMA_VERSION):
                self._migrate(old)
        self._check_whole()
        return self._header()

    def _make(self) -> None:
        with self._transaction() as connection:
            for statement in (SCHEMA + KEYS).split(";"):
                if statement.strip():
                    connection.execute(statement)
            meta = {"store": secrets.token_bytes(4), "secret": secrets.token_bytes(32)}
            connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def _migrate(self, old: int) -> None:
        with self._transaction() as connection:
            for statement in MIGRATIONS[old].split(";"):
                if statement.strip():
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {old + 1}")

    def _check_whole(self) -> None:
        """A file that was cut off lacks pages, which SQLite itself would notice only when it needs one."""
        if self._path.with_name(self._path.name + "-wal").exists() and not self._read_only:
            self._query("PRAGMA wal_checkpoint(PASSIVE)")
        pages, size = self._query("PRAGMA page_count")[0][0], self._query("PRAGMA page_size")[0][0]
        wal = self._path.with_name(self._path.name + "-wal")
        if self._path.stat().st_size < pages * size and not (wal.exists() and wal.stat().st_size):
            raise sqlite3.DatabaseError("it has been cut off")

    def _header(self) -> Header:
        meta = dict(self._query("SELECT name, value FROM meta"))
        return Header(
            store=meta["store"],
            secret=meta["secret"],
            last=max(self._query("SELECT max(seq) FROM journal")[0][0] or 0, meta.get("trimmed", 0)),
            last_learner=self._query("SELECT max(number) FROM learners")[0][0] or 0,
            clean=bool(meta.get("clean", True)),
            checkpoint=meta.get("checkpoint", 0),
            cursor=meta.get("cursor", 0),
            trimmed=meta.get("trimmed", 0),
        )

    def _unusable(self, error: sqlite3.DatabaseError) -> StoreError:
        text = str(error)
        if "locked" in text or "busy" in text:
            return StoreLost(f"{self.name} is locked by another program: try again later")
        if "not a database" in text:
            return StoreError(f"{self.name} is not a database of rankloop: give the path of one, or of a new file")
        if "readonly" in text or "unable to open" in text:
            return StoreError(f"{self.name} cannot be opened ({text})")
        if isinstance(error, sqlite3.OperationalError) and "malformed" not in text:
            return StoreLost(f"{self.name} did not answer ({text})")
        return StoreError(f"{self.name} is damaged ({text}): restore it from a backup")

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            if self._claim is not None:
                self._claim.close()
                self._claim = None

    # -- writing -------------------------------------------------------------------------------------------------

    def write(self, batch: Batch) -> None:
        """Write a batch in one transaction and return once it is durable."""
        with self._lock:
            try:
                self._write(batch)
            except StoreConflict:
                self._write(not_yet_written(self, batch))

    def _write(self, batch: Batch) -> None:
        with self._transaction() as connection:
            self._insert(connection, batch)

    def _insert(self, connection: sqlite3.Connection, batch: Batch) -> None:
        if batch.learners:
            connection.executemany("INSERT INTO learners VALUES (?, ?, ?)", batch.learners)
        _insert_entries(connection, batch.entries)
        if batch.snapshots:
            connection.executemany("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)", batch.snapshots)
        if batch.totals:
            connection.executemany("INSERT OR REPLACE INTO totals VALUES (?, ?)", batch.totals.items())
        marks = {"checkpoint": batch.checkpoint, "cursor": batch.cursor, "clean": batch.clean}
        given = [(name, int(value)) for name, value in marks.items() if value is not None]
        if given:
            connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", given)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            connection = self._open_connection()
            if self._read_only:
                raise StoreError(f"{self.name} was opened for reading only")
            try:
                connection.execute("BEGIN IMMEDIATE")
                yield connection
                connection.execute("COMMIT")
            except BaseException as error:
                if connection.in_transaction:
                    with suppress(sqlite3.Error):  # what failed first says more
                        connection.execute("ROLLBACK")
                if isinstance(error, sqlite3.DatabaseError):
                    raise self._lost(error) from None
                raise

    def trim(self, upto: int, bases: Iterable[Snapshot]) -> None:
        """Remove the entries up to one of them, and keep the states that learners had there."""
        with self._transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO bases VALUES (?, ?, ?)", bases)
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('trimmed', ?)", (upto,))
            connection.execute("DELETE FROM journal WHERE seq <= ? AND learner <> 0", (upto,))

    # -- reading -------------------------------------------------------------------------------------------------

    def entries(self, after: int, upto: int | None = None, learner: int | None = None) -> Iterator[Entry]:
        """The entries after one and up to another, in order; of one learner if so asked."""
        limit = upto if upto is not None else 2**62
        mine = "" if learner is None else f" AND learner = {int(learner)}"  # in the text, so that 0 finds its index

        def page(after: int, wanted: int) -> list[Any]:
            return self._query(
                f"SELECT seq, at, kind, learner, impression, body FROM journal WHERE seq > ? AND seq <= ?{mine} "
                f"ORDER BY seq LIMIT {wanted}",
                (after, limit),
            )

        yield from map(Entry._make, in_pages(page, after))

    def entry(self, seq: int) -> Entry | None:
        """One entry, if it is there."""
        rows = self._query("SELECT seq, at, kind, learner, impression, body FROM journal WHERE seq = ?", (seq,))
        return Entry._make(rows[0]) if rows else None

    def of_impressions(self, first: int, last: int) -> Iterable[Entry]:
        """All later entries about the impressions that began from entry `first` to entry `last`, in order."""
        rows = self._query(
            "SELECT seq, at, kind, learner, impression, body FROM journal WHERE impression BETWEEN ? AND ?",
            (first, last),
        )
        return sorted(map(Entry._make, rows))

    def find_learner(self, loop: int, key: str) -> KnownLearner | None:
        """The learner of a key."""
        rows = self._query("SELECT number, loop, key FROM learners WHERE loop = ? AND key = ?", (loop, key))
        return KnownLearner._make(rows[0]) if rows else None

    def learner(self, number: int) -> KnownLearner | None:
        """A learner by its number."""
        rows = self._query("SELECT number, loop, key FROM learners WHERE number = ?", (number,))
        return KnownLearner._make(rows[0]) if rows else None

    def learners(self, loop: int | None = None, after: int = 0, limit: int | None = None) -> Iterator[KnownLearner]:
        """Learners in the order of their numbers, after one of them."""
        mine = "" if loop is None else " AND loop = ?"
        more = () if loop is None else (loop,)

        def page(after: int, wanted: int) -> list[Any]:
            statement = f"SELECT number, loop, key FROM learners WHERE number > ?{mine} ORDER BY number LIMIT {wanted}"
            return self._query(statement, (after, *more))

        yield from map(KnownLearner._make, in_pages(page, after, limit))

    def learners_with(self, text: str, loop: int, limit: int) -> list[KnownLearner]:
        """Learners of a loop whose key contains a text, in the order of their numbers."""
        statement = (
            "SELECT number, loop, key FROM learners WHERE loop = ? AND instr(key, ?) > 0 ORDER BY number LIMIT ?"
        )
        return list(map(KnownLearner._make, self._query(statement, (loop, text, limit))))

    def tally(self, after: int, upto: int, limit: int) -> list[Tally]:
        """The last entries after one and up to another, counted by learner and minute."""
        return list(map(Tally._make, self._query(TALLY, (after, upto, limit))))

    def notable(self, after: int, upto: int, limit: int) -> list[Entry]:
        """The last entries after one and up to another that are rare, in order."""
        return sorted(map(Entry._make, self._query(NOTABLE, (after, upto, limit))))

    def snapshot(self, learner: int) -> Snapshot | None:
        """The last snapshot of a learner."""
        return self._state("snapshots", learner)

    def base(self, learner: int) -> Snapshot | None:
        """A learner's state where the journal begins, if its first entries have been removed."""
        return self._state("bases", learner)

    def _state(self, table: str, learner: int) -> Snapshot | None:
        rows = self._query(f"SELECT learner, seq, state FROM {table} WHERE learner = ?", (learner,))
        return Snapshot._make(rows[0]) if rows else None

    def totals(self) -> Mapping[int, bytes]:
        """The counts of each loop, as last written."""
        return dict(self._query("SELECT loop, counts FROM totals"))

    def keys(self) -> Mapping[str, bytes]:
        """What is kept of each access key, by the key's name."""
        return dict(self._query("SELECT name, record FROM keys"))

    def put_key(self, name: str, record: bytes) -> None:
        """Keep something of an access key, in place of what is there."""
        with self._transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO keys VALUES (?, ?)", (name, record))

    def size(self) -> int:
        """Bytes that the file takes, with what is about to be moved into it."""
        parts = (self._path, self._path.with_name(self._path.name + "-wal"))
        return sum(part.stat().st_size for part in parts if part.exists())

    def reader(self) -> SQLiteStore:
        """The same store, read-only, over a connection of its own."""
        return SQLiteStore(self._path, read_only=True)

    def _query(self, statement: str, values: tuple[Any, ...] = ()) -> list[Any]:
        with self._lock:
            try:
                return self._open_connection().execute(statement, values).fetchall()
            except sqlite3.DatabaseError as error:
                raise self._lost(error) from None

    def _open_connection(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StoreError(f"{self.name} is closed")
        return self._connection

    def _lost(self, error: sqlite3.DatabaseError) -> StoreError:
        text = str(error)
        if isinstance(error, sqlite3.IntegrityError):
            return StoreConflict(f"{self.name} holds something else already ({text})")
        if "full" in text:
            return StoreLost(f"{self.name} cannot grow: the disk is full")
        return self._unusable(error)


def _insert_entries(connection: sqlite3.Connection, entries: Sequence[Entry]) -> None:
    """Insert many rows with few statements.

    Python gives its lock away for each statement that SQLite runs, and under load waits for it afterwards for longer
    than a row takes. It binds plain numbers and bytearrays without looking for an adapter first.
    """
    at = 0
    while at < len(entries):
        n = min(MOST_ROWS, 1 << (len(entries) - at).bit_length() - 1)
        some = entries[at : at + n]
        rows = [(seq, at, int(kind), learner, about, bytearray(body)) for seq, at, kind, learner, about, body in some]
        connection.execute(_insertion(n), tuple(chain.from_iterable(rows)))
        at += n


@cache
def _insertion(n: int) -> str:
    """The statement that inserts so many entries."""
    return f"INSERT INTO journal VALUES {', '.join(['(?, ?, ?, ?, ?, ?)'] * n)}"
