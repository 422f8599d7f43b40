"""The journal in PostgreSQL, for one program at a time, which another replaces soon after it has died.

A program owns a partition of the journal (there is one so far) by a lease: a row with its owner, an epoch that only
ever grows, and the time when it ends, by the database's clock. A transaction that writes begins by renewing the lease
for its owner and epoch, and has the row locked until it ends; where there is no such row, it does not write. So a
program that was paused or cut off cannot write any more once another has taken over.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
import time
import weakref
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus

from rankloop.live.entries import Entry
from rankloop.live.stores import (
    SCHEMA_VERSION,
    Batch,
    Header,
    KnownLearner,
    Snapshot,
    StoreConflict,
    StoreError,
    StoreLost,
    not_yet_written,
)

logger = logging.getLogger("rankloop.live")

ROWS_AT_ONCE = 5_000
REMOVED_AT_ONCE = 20_000
STATES_AT_ONCE = 500
LEASE = 8.0
"""Seconds: how soon after a crash another program can take over, and how long the server may be away unnoticed."""
RENEWED = 4
"""Times that a lease is renewed before it would end."""
PATIENCE = 5.0
"""Seconds to wait for a connection and for an answer, unless the address has a `connect_timeout`."""
PATIENCE_AT_WORK = 600.0
"""Seconds to wait for an answer to what may take long, such as a change of tables."""
RETRY_AFTER = 0.5
"""Seconds after a failed connection in which nobody waits for another one."""
PARTITION = 0

_SCHEMA = """
CREATE TABLE rankloop.meta (version integer NOT NULL, store bytea NOT NULL, secret bytea NOT NULL);
CREATE TABLE rankloop.partitions (
    partition integer PRIMARY KEY, owner text NOT NULL, epoch bigint NOT NULL, expires timestamptz NOT NULL,
    clean boolean NOT NULL, checkpoint bigint NOT NULL, cursor bigint NOT NULL, trimmed bigint NOT NULL
);
CREATE TABLE rankloop.journal (
    partition integer NOT NULL, seq bigint NOT NULL, at bigint NOT NULL, kind smallint NOT NULL,
    learner bigint NOT NULL, impression bigint, body bytea NOT NULL, PRIMARY KEY (partition, seq)
);
CREATE INDEX journal_by_impression ON rankloop.journal (partition, impression, seq) WHERE impression IS NOT NULL;
CREATE INDEX journal_of_store ON rankloop.journal (partition, seq) WHERE learner = 0;
CREATE TABLE rankloop.learners (
    partition integer NOT NULL, number bigint NOT NULL, loop bigint NOT NULL, key bytea NOT NULL,
    PRIMARY KEY (partition, number)
);
CREATE UNIQUE INDEX learners_by_key ON rankloop.learners (partition, loop, sha256(key));
CREATE TABLE rankloop.snapshots (
    partition integer NOT NULL, learner bigint NOT NULL, seq bigint NOT NULL, state bytea NOT NULL,
    PRIMARY KEY (partition, learner)
);
CREATE TABLE rankloop.bases (
    partition integer NOT NULL, learner bigint NOT NULL, seq bigint NOT NULL, state bytea NOT NULL,
    PRIMARY KEY (partition, learner)
);
CREATE TABLE rankloop.totals (
    partition integer NOT NULL, loop bigint NOT NULL, counts bytea NOT NULL, PRIMARY KEY (partition, loop)
);
"""
# Keys are UTF-8 in bytea, so that any database holds any of them, whatever its encoding; and their index holds digests,
# because an entry of an index has at most 2,704 bytes.

_KEYS = "CREATE TABLE rankloop.keys (name text PRIMARY KEY, record bytea NOT NULL);"

MIGRATIONS: dict[int, str] = {1: _KEYS}
"""What turns the tables of one version into those of the next."""

_MAKING = 0x524C6F70
"""Advisory lock of whoever makes the tables."""

_SESSION = """
SELECT set_config('synchronous_commit', CASE WHEN current_setting('synchronous_commit') IN ('off', 'local')
                                        THEN 'on' ELSE current_setting('synchronous_commit') END, false),
       set_config('default_transaction_isolation', 'read committed', false),
       set_config('default_transaction_read_only', %(read_only)s, false),
       set_config('lock_timeout', %(patience)s, false),
       set_config('idle_in_transaction_session_timeout', '30s', false)
"""
_FREE = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE application_name = 'rankloop ' || %s AND datname = current_database() AND state <> 'idle'
      AND wait_event = 'ClientRead' AND pid <> pg_backend_pid()
"""
"""End the sessions of an owner that has gone away, or was paused, in the middle of a transaction."""
_CLAIM = """
UPDATE rankloop.partitions SET owner = %(owner)s, epoch = epoch + 1, expires = now() + make_interval(secs => %(lease)s)
WHERE partition = %(partition)s AND (expires < now() OR owner = %(owner)s) RETURNING epoch
"""
_RECLAIM = """
UPDATE rankloop.partitions SET epoch = epoch + 1, expires = now() + make_interval(secs => %(lease)s)
WHERE partition = %(partition)s AND owner = %(owner)s RETURNING epoch
"""
_HOLDER = """
SELECT owner, epoch, expires::text, extract(epoch FROM expires - clock_timestamp())::float8
FROM rankloop.partitions WHERE partition = %s
"""
_FENCE = """
UPDATE rankloop.partitions
SET expires = now() + make_interval(secs => %(lease)s), clean = coalesce(%(clean)s, clean),
    checkpoint = coalesce(%(checkpoint)s, checkpoint), cursor = coalesce(%(cursor)s, cursor),
    trimmed = greatest(trimmed, %(trimmed)s)
WHERE partition = %(partition)s AND owner = %(owner)s AND epoch = %(epoch)s
"""
_RELEASE = "UPDATE rankloop.partitions SET expires = 'epoch' WHERE partition = %s AND owner = %s AND epoch = %s"
_REMOVE = f"""
DELETE FROM rankloop.journal WHERE partition = %s AND seq IN (
    SELECT seq FROM rankloop.journal WHERE partition = %s AND seq <= %s AND learner <> 0
    ORDER BY seq LIMIT {REMOVED_AT_ONCE})
"""
_HEADER = """
SELECT meta.store, meta.secret,
       greatest(mine.trimmed, (SELECT max(seq) FROM rankloop.journal WHERE partition = mine.partition)),
       coalesce((SELECT max(number) FROM rankloop.learners WHERE partition = mine.partition), 0),
       mine.clean, mine.checkpoint, mine.cursor, mine.trimmed
FROM rankloop.meta, rankloop.partitions AS mine WHERE mine.partition = %s
"""


class Silent(psycopg.OperationalError):
    """The server has not answered for too long."""


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that does not wait for ever: neither for a server that hangs nor for bytes that a network swallows.

    Time is measured while nothing comes only, so that a wait with an answer costs no more than before.
    """

    patience = PATIENCE
    """Seconds without a byte from the server."""

    def wait(self, gen: Generator[Any, Any, Any], *args: Any, **kwargs: Any) -> Any:
        """Run what waits for the server."""
        try:
            return super().wait(_limited(gen, self.patience), *args, **kwargs)
        except Silent:
            self.pgconn.finish()  # what it was doing may still happen: nobody can go on from here
            raise


def _limited(gen: Generator[Any, Any, Any], patience: float) -> Generator[Any, Any, Any]:
    until = 0.0
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if ready:
                until = 0.0
            elif not until:
                until = time.monotonic() + patience
            elif time.monotonic() > until:
                raise Silent(f"nothing has come from it for {patience:g} s")
            wanted = gen.send(ready)
    except StopIteration as end:
        return end.value


class PostgresStore:
    """A journal in PostgreSQL 11 or later, in the schema `rankloop` of a database.

    Connect directly, or through a pooler that gives each client a session of its own. A server from which nothing comes
    for 5 seconds, or as many as `connect_timeout` in the address says, counts as lost until it answers again.

    Parameters
    ----------
    url
        Address of the database: `postgresql://user:password@host:5432/database`.
    read_only
        Whether to look only, beside a program that writes.
    lease
        Seconds after which another program may take over from one that does not renew its lease.

    Examples
    --------
    >>> PostgresStore("postgresql://shop:secret@db.example.org/shop").name
    'postgresql://shop@db.example.org/shop'
    """

    def __init__(self, url: str, *, read_only: bool = False, lease: float = LEASE) -> None:
        try:
            given = conninfo_to_dict(url)
        except psycopg.Error:  # whose message may hold a part of the password
            raise ValueError(
                "store is not an address that PostgreSQL understands: write postgresql://user:password@host:5432/name, "
                "with % and two digits for characters that have a meaning in addresses"
            ) from None
        self.name = _name_of(given)
        defaults = {
            "connect_timeout": int(PATIENCE), "keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3,
            "tcp_user_timeout": 10_000,
        }  # fmt: skip
        self._parameters: dict[str, Any] = defaults | given
        self._patience = _seconds(self._parameters["connect_timeout"])
        self._read_only, self._lease = read_only, lease
        self._lock = threading.RLock()
        self._connection: Connection | None = None
        self._is_open = False
        self._taken = ""
        """What to say if another program has taken over."""
        self._silent = False
        """Whether the server has fallen silent: the thread that renews the lease connects again, and no call waits."""
        self._owner = ""
        self._epoch = self._process = self._depth = 0
        self._renewed = self._retry_at = 0.0
        self._stop = threading.Event()
        self._keeper: threading.Thread | None = None

    # -- opening and closing -------------------------------------------------------------------------------------

    def open(self) -> Header:
        """Claim the store, making its tables if they are not there.

        Where another program holds it, wait until its lease has ended, or refuse as soon as it is seen to be renewed.
        """
        with self._lock:
            if self._is_open:
                raise StoreError(f"{self.name} is open already")
            self._process = os.getpid()
            host = socket.gethostname().encode("ascii", "replace").decode().replace(":", ".")[:30]
            self._owner = f"{host}:{self._process}:{secrets.token_hex(4)}"
            self._taken, self._retry_at, self._silent = "", 0.0, False
            self._connection = self._connect()
            self._is_open = True
            try:
                version = self._prepare()
                if not self._read_only:
                    self._claim()
                    for old in range(version, SCHEMA_VERSION):
                        self._migrate(old)
                header = Header(*self._query(_HEADER, (PARTITION,))[0])
            except BaseException:
                self.close()
                raise
            if not self._read_only:
                self._stop = threading.Event()
                arguments = (weakref.ref(self), self._stop, self._lease / RENEWED)
                self._keeper = threading.Thread(target=_keep, args=arguments, daemon=True, name="rankloop-lease")
                self._keeper.start()
            return header

    def _connect(self) -> Connection:
        """A new connection."""
        if time.monotonic() < self._retry_at:
            raise StoreLost(f"{self.name} could not be reached a moment ago")
        settings = {
            "read_only": "on" if self._read_only else "off",
            "patience": str(int(1000 * max(1.0, self._lease))),
        }
        try:
            conninfo = make_conninfo(**self._parameters | {"application_name": f"rankloop {self._owner}"})
            connection = Connection.connect(conninfo, autocommit=True)
            connection.patience = self._patience
            try:
                connection.execute(_SESSION, settings)
            except BaseException:
                connection.close()
                raise
        except psycopg.Error as error:
            self._retry_at = time.monotonic() + RETRY_AFTER
            self._silent = self._is_silence(error)
            raise StoreLost(f"{self.name} cannot be reached: {_sentence(error)}") from None
        return connection

    def _prepare(self) -> int:
        """Make the tables if they are not there; the version of those that are."""
        version = self._version()
        if version == 0:
            if self._read_only:
                raise StoreError(f"there is no store in {self.name}: open it for writing once")
            with self._session() as connection, connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MAKING,))
                version = self._version()
                if version == 0:
                    self._make(connection)
                    version = SCHEMA_VERSION
        if version > SCHEMA_VERSION:
            raise StoreError(
                f"{self.name} was written by a newer rankloop (format {version}, this one reads up to "
                f"{SCHEMA_VERSION}): upgrade rankloop"
            )
        return version

    def _version(self) -> int:
        """The version of the tables, 0 if there are none."""
        found = self._query(
            "SELECT coalesce(array_agg(relname::text), '{}') FROM pg_class "
            "WHERE relnamespace = to_regnamespace('rankloop') AND relkind IN ('r', 'p')"
        )[0][0]
        if not found:
            return 0
        if not {"meta", "partitions", "journal"} <= set(found):
            raise StoreError(f"{self.name} has a schema rankloop of another program: give rankloop another database")
        return self._query("SELECT version FROM rankloop.meta")[0][0]

    def _make(self, connection: Connection) -> None:
        if not self._query("SELECT to_regnamespace('rankloop') IS NOT NULL")[0][0]:
            connection.execute("CREATE SCHEMA rankloop")
        connection.execute((_SCHEMA + _KEYS).encode())
        row = (SCHEMA_VERSION, secrets.token_bytes(4), secrets.token_bytes(32))
        connection.execute("INSERT INTO rankloop.meta VALUES (%s, %s, %s)", row)
        values = "VALUES (%s, '', 0, 'epoch', true, 0, 0, 0)"
        connection.execute(f"INSERT INTO rankloop.partitions {values}", (PARTITION,))

    def _migrate(self, old: int) -> None:
        with self._transaction() as connection, _at_work(connection, PATIENCE_AT_WORK):
            connection.execute(MIGRATIONS[old].encode())
            connection.execute("UPDATE rankloop.meta SET version = %s", (old + 1,))

    def _claim(self) -> None:
        """Take the lease, as soon as it has ended."""
        begun, first = time.monotonic(), None
        while True:
            owner, *lease, left = self._query(_HOLDER, (PARTITION,))[0]
            if left <= 0:
                self._free(owner)
                epochs = self._query_lease(_CLAIM)
                if epochs:
                    self._epoch, self._renewed = epochs[0][0], time.monotonic()
                    return
            if first is None:
                first = lease
                logger.warning("%s is held by %s: waiting for its lease to end", self.name, _holder(owner))
            waited = time.monotonic() - begun
            if lease != first or waited > self._lease + 1:
                raise StoreError(
                    f"{self.name} is held by {_holder(owner)}, whose lease ends in {max(left, 0):.1f} s unless it is "
                    "renewed: one program at a time writes to a store. Close it there, or let several programs share "
                    "`rankloop serve`"
                )
            time.sleep(min(max(left, 0.02), 0.1))

    def _free(self, owner: str) -> None:
        try:
            self._query(_FREE, (owner,))
        except StoreLost:
            raise
        except StoreError as error:  # sessions of another role: their own time limits end them
            logger.warning("the sessions of %s could not be ended: %s", _holder(owner), error)

    @property
    def _mine(self) -> dict[str, Any]:
        return {"partition": PARTITION, "owner": self._owner, "lease": self._lease}

    def close(self) -> None:
        """Let go of the store, so that another program can have it at once."""
        self._stop.set()
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None and os.getpid() == self._process:
                with suppress(psycopg.Error):  # the lease then ends by itself
                    if self._epoch and not self._read_only:
                        connection.execute(_RELEASE, (PARTITION, self._owner, self._epoch))
                connection.close()
            self._is_open, self._epoch = False, 0
        if self._keeper is not None and threading.current_thread() is not self._keeper:
            self._keeper.join()
            self._keeper = None

    # -- the connection ------------------------------------------------------------------------------------------

    @contextmanager
    def _session(self) -> Iterator[Connection]:
        """The connection for this thread alone, made anew if it was lost; its errors become ours."""
        with self._lock:
            if not self._is_open:
                raise StoreError(f"{self.name} is closed")
            if os.getpid() != self._process:
                raise StoreError(f"{self.name} was opened before this process was forked: open it after the fork")
            if self._taken:
                raise StoreError(self._taken)
            try:
                self._depth += 1
                if self._connection is None:
                    if self._silent:
                        raise StoreLost(f"{self.name} does not answer: it is tried again in the background")
                    self._connection = self._connect()
                    if self._epoch:
                        self._reclaim()
                yield self._connection
            except psycopg.Error as error:
                raise self._failed(error) from None
            finally:
                self._depth -= 1
                if self._depth == 0:
                    self._drop_unfinished()

    def _reclaim(self) -> None:
        """Find out after a lost connection whether the lease is still ours.

        The row is locked by a transaction of the lost connection until that has ended, so its outcome is known
        afterwards; and the new epoch keeps anything that is still under way there from being written.
        """
        try:
            self._free(self._owner)
            epochs = self._query_lease(_RECLAIM)
            if not epochs:
                self._refuse()
        except BaseException:
            self._drop()
            raise
        self._epoch, self._renewed = epochs[0][0], time.monotonic()

    def _refuse(self) -> None:
        owner = self._query(_HOLDER, (PARTITION,))[0][0]
        self._taken = (
            f"{self.name} has been taken over by {_holder(owner)}, because this program had not renewed its lease: "
            "it cannot write any more. Open the store anew, unless the other is to go on"
        )
        raise StoreError(self._taken)

    def _drop_unfinished(self) -> None:
        """Give up a connection that is lost, or still in the middle of something."""
        if self._connection is not None and self._connection.info.transaction_status != TransactionStatus.IDLE:
            self._drop()

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _failed(self, error: psycopg.Error) -> StoreError:
        text = _sentence(error)
        self._silent = self._is_silence(error)
        if isinstance(error, psycopg.IntegrityError):
            return StoreConflict(f"{self.name} holds something else already ({text})")
        lost = self._connection is None or self._connection.closed
        passing = psycopg.OperationalError, psycopg.InterfaceError, psycopg.errors.ReadOnlySqlTransaction
        if lost or isinstance(error, passing):
            return StoreLost(f"{self.name} did not answer ({text})")
        return StoreError(f"{self.name} refused ({text})")

    def _is_silence(self, error: psycopg.Error) -> bool:
        """Whether the server has not answered in time, where there is a thread that connects again."""
        return self._keeper is not None and isinstance(error, Silent | psycopg.errors.ConnectionTimeout)

    def _mend(self) -> None:
        """Connect again after the server had fallen silent: no call waits meanwhile."""
        connection = self._connect()
        with self._lock:
            if self._stop.is_set() or self._connection is not None:
                connection.close()
                return
            self._connection, self._silent = connection, False
            with self._session():
                self._reclaim()

    def _query_lease(self, statement: str) -> list[Any]:
        """What a statement that may wait for the lease's row gives."""
        with self._session() as connection, _at_work(connection, self._lease + self._patience):
            return self._query(statement, self._mine)

    def _query(self, statement: str, values: Any = ()) -> list[Any]:
        with self._session() as connection:
            return connection.cursor(binary=True).execute(statement.encode(), values).fetchall()

    # -- writing -------------------------------------------------------------------------------------------------

    @contextmanager
    def _transaction(self, batch: Batch | None = None, trimmed: int = 0) -> Iterator[Connection]:
        """A transaction that has the lease's row locked, and renews it."""
        with self._session() as connection:
            if self._read_only:
                raise StoreError(f"{self.name} was opened for reading only")
            marks = batch or Batch()
            values = self._mine | {
                "epoch": self._epoch, "clean": marks.clean, "checkpoint": marks.checkpoint, "cursor": marks.cursor,
                "trimmed": trimmed,
            }  # fmt: skip
            with connection.transaction():
                begun = time.monotonic()
                if not connection.execute(_FENCE, values).rowcount:
                    self._refuse()
                yield connection
            self._renewed = begun

    def write(self, batch: Batch) -> None:
        """Write a batch in one transaction and return once it is durable."""
        with self._lock:
            try:
                self._write(batch)
            except StoreConflict:
                self._write(not_yet_written(self, batch))

    def _write(self, batch: Batch) -> None:
        with self._transaction(batch) as connection:
            if batch.learners:
                rows = ((PARTITION, number, loop, key.encode()) for number, loop, key in batch.learners)
                _copy(connection, "learners (partition, number, loop, key)", "int4 int8 int8 bytea", rows)
            if batch.entries:
                columns = "journal (partition, seq, at, kind, learner, impression, body)"
                types = "int4 int8 int8 int2 int8 int8 bytea"
                _copy(connection, columns, types, ((PARTITION, *entry) for entry in batch.entries))
            if batch.snapshots:
                _put_states(connection, "snapshots", batch.snapshots)
            if batch.totals:
                connection.cursor().executemany(
                    "INSERT INTO rankloop.totals VALUES (%s, %s, %s) "
                    "ON CONFLICT (partition, loop) DO UPDATE SET counts = excluded.counts",
                    [(PARTITION, *total) for total in batch.totals.items()],
                )

    def trim(self, upto: int, bases: Iterable[Snapshot]) -> None:
        """Remove the entries up to one of them, and keep the states that learners had there."""
        with self._transaction(trimmed=upto) as connection:
            rest = iter(bases)
            while some := list(islice(rest, STATES_AT_ONCE)):
                _put_states(connection, "bases", some)
        while True:  # nobody asks for entries before the mark: those that a crash leaves go with the next ones
            with self._transaction() as connection:
                if not connection.execute(_REMOVE, (PARTITION, PARTITION, upto)).rowcount:
                    return

    def renew(self) -> None:
        """Renew the lease, unless a write has just done so."""
        with self._lock:
            if self._is_open and not self._silent and time.monotonic() - self._renewed >= self._lease / RENEWED / 2:
                with self._transaction():
                    pass

    # -- reading -------------------------------------------------------------------------------------------------

    def entries(self, after: int, upto: int | None = None, learner: int | None = None) -> Iterator[Entry]:
        """The entries after one and up to another, in order; of one learner if so asked."""
        limit = upto if upto is not None else 2**62
        mine = "" if learner is None else f" AND learner = {int(learner)}"  # in the text, so that 0 finds its index
        while True:
            rows = self._query(
                "SELECT seq, at, kind, learner, impression, body FROM rankloop.journal "
                f"WHERE partition = %s AND seq > %s AND seq <= %s{mine} ORDER BY seq LIMIT {ROWS_AT_ONCE}",
                (PARTITION, after, limit),
            )
            yield from map(Entry._make, rows)
            if len(rows) < ROWS_AT_ONCE:
                return
            after = rows[-1][0]

    def entry(self, seq: int) -> Entry | None:
        """One entry, if it is there."""
        return next(self.entries(seq - 1, seq), None)

    def of_impressions(self, first: int, last: int) -> Iterable[Entry]:
        """All later entries about the impressions that began from entry `first` to entry `last`, in order."""
        rows = self._query(
            "SELECT seq, at, kind, learner, impression, body FROM rankloop.journal "
            "WHERE partition = %s AND impression BETWEEN %s AND %s ORDER BY seq",
            (PARTITION, first, last),
        )
        return list(map(Entry._make, rows))

    def find_learner(self, loop: int, key: str) -> KnownLearner | None:
        """The learner of a key."""
        return self._learner("loop = %s AND sha256(key) = sha256(%s)", loop, key.encode())

    def learner(self, number: int) -> KnownLearner | None:
        """A learner by its number."""
        return self._learner("number = %s", number)

    def _learner(self, condition: str, *values: Any) -> KnownLearner | None:
        statement = f"SELECT number, loop, key FROM rankloop.learners WHERE partition = %s AND {condition}"
        rows = self._query(statement, (PARTITION, *values))
        return _known(rows[0]) if rows else None

    def learners(self, loop: int | None = None, after: int = 0, limit: int | None = None) -> Iterator[KnownLearner]:
        """Learners in the order of their numbers, after one of them."""
        mine = "" if loop is None else f" AND loop = {int(loop)}"
        left = 2**62 if limit is None else limit
        while left > 0:
            wanted = min(left, ROWS_AT_ONCE)
            rows = self._query(
                "SELECT number, loop, key FROM rankloop.learners "
                f"WHERE partition = %s AND number > %s{mine} ORDER BY number LIMIT {wanted}",
                (PARTITION, after),
            )
            yield from map(_known, rows)
            if len(rows) < wanted:
                return
            after, left = rows[-1][0], left - len(rows)

    def snapshot(self, learner: int) -> Snapshot | None:
        """The last snapshot of a learner."""
        return self._state("snapshots", learner)

    def base(self, learner: int) -> Snapshot | None:
        """A learner's state where the journal begins, if its first entries have been removed."""
        return self._state("bases", learner)

    def _state(self, table: str, learner: int) -> Snapshot | None:
        statement = f"SELECT learner, seq, state FROM rankloop.{table} WHERE partition = %s AND learner = %s"
        rows = self._query(statement, (PARTITION, learner))
        return Snapshot._make(rows[0]) if rows else None

    def totals(self) -> Mapping[int, bytes]:
        """The counts of each loop, as last written."""
        return dict(self._query("SELECT loop, counts FROM rankloop.totals WHERE partition = %s", (PARTITION,)))

    def keys(self) -> Mapping[str, bytes]:
        """What is kept of each access key, by the key's name."""
        return dict(self._query("SELECT name, record FROM rankloop.keys"))

    def put_key(self, name: str, record: bytes) -> None:
        """Keep something of an access key, in place of what is there."""
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO rankloop.keys VALUES (%s, %b) ON CONFLICT (name) DO UPDATE SET record = excluded.record",
                (name, record),
            )

    def size(self) -> int:
        """Bytes that the tables and their indexes take."""
        return self._query(
            "SELECT sum(pg_total_relation_size(oid))::int8 FROM pg_class "
            "WHERE relnamespace = to_regnamespace('rankloop') AND relkind = 'r'"
        )[0][0]


def _copy(connection: Connection, target: str, types: str, rows: Iterable[tuple[Any, ...]]) -> None:
    with connection.cursor().copy(f"COPY rankloop.{target} FROM STDIN (FORMAT BINARY)".encode()) as copy:
        copy.set_types(types.split())
        for row in rows:
            copy.write_row(row)


def _put_states(connection: Connection, table: str, states: Iterable[Snapshot]) -> None:
    last = {state.learner: state for state in states}.values()
    connection.execute(
        f"INSERT INTO rankloop.{table} SELECT %s, * FROM unnest(%b::int8[], %b::int8[], %b::bytea[]) "
        "ON CONFLICT (partition, learner) DO UPDATE SET seq = excluded.seq, state = excluded.state".encode(),
        (PARTITION, [each.learner for each in last], [each.seq for each in last], [each.state for each in last]),
    )


@contextmanager
def _at_work(connection: Connection, patience: float) -> Iterator[None]:
    """More time for an answer than others get."""
    before, connection.patience = connection.patience, patience
    try:
        yield
    finally:
        connection.patience = before


def _seconds(timeout: Any) -> float:
    """What a `connect_timeout` means: at least 2 seconds, and 0 for as long as it takes."""
    try:
        seconds = float(timeout)
    except ValueError:
        raise ValueError(f"connect_timeout in the address must be a number of seconds, not {timeout!r}") from None
    return max(2.0, seconds) if seconds > 0 else float("inf")


def _known(row: tuple[int, int, bytes]) -> KnownLearner:
    number, loop, key = row
    return KnownLearner(number, loop, key.decode())


def _name_of(given: Mapping[str, Any]) -> str:
    """An address without its password."""
    user = f"{given['user']}@" if given.get("user") else ""
    host = str(given.get("host") or given.get("hostaddr") or "")
    port = f":{given['port']}" if given.get("port") else ""
    return f"postgresql://{user}{host}{port}/{given.get('dbname') or ''}"


def _holder(owner: str) -> str:
    host, _, rest = owner.partition(":")
    return f"process {rest.partition(':')[0]} on {host}"


def _sentence(error: psycopg.Error) -> str:
    """What went wrong, in one line."""
    return error.diag.message_primary or " ".join(str(error).split()) or type(error).__name__


def _keep(reference: weakref.ref[PostgresStore], stop: threading.Event, pause: float) -> None:
    """The thread that renews the lease where no write does."""
    while not stop.wait(pause):
        store = reference()
        if store is None or store._taken:
            return
        try:
            if store._silent:
                store._mend()
            else:
                store.renew()
        except StoreError as error:
            if not stop.is_set():
                logger.error("the lease was not renewed: %s", error)
        del store
