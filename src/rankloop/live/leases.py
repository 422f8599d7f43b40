"""Who may write to a journal in PostgreSQL: one program at a time, which another replaces soon after it has died.

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
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus

import rankloop.live.postgres_tables as sql
from rankloop.live.postgres_connection import (
    PATIENCE,
    PATIENCE_AT_WORK,
    Connection,
    Silent,
    at_work,
    name_of,
    seconds_of,
    sentence,
)
from rankloop.live.stores import SCHEMA_VERSION, Batch, Header, StoreConflict, StoreError, StoreLost

logger = logging.getLogger("rankloop.live")

LEASE = 8.0
"""Seconds: how soon after a crash another program can take over, and how long the server may be away unnoticed."""
RENEWED = 4
"""Times that a lease is renewed before it would end."""
RETRY_AFTER = 0.5
"""Seconds after a failed connection in which nobody waits for another one."""


class LeasedDatabase:
    """A database that one program at a time may write to, as long as it renews its lease.

    Parameters
    ----------
    url
        Address of the database.
    read_only
        Whether to look only, beside a program that writes.
    lease
        Seconds after which another program may take over from one that does not renew its lease.
    """

    def __init__(self, url: str, *, read_only: bool = False, lease: float = LEASE) -> None:
        try:
            given = conninfo_to_dict(url)
        except psycopg.Error:  # whose message may hold a part of the password
            raise ValueError(
                "store is not an address that PostgreSQL understands: write postgresql://user:password@host:5432/name, "
                "with % and two digits for characters that have a meaning in addresses"
            ) from None
        self.name = name_of(given)
        defaults = {
            "connect_timeout": int(PATIENCE), "keepalives_idle": 5, "keepalives_interval": 2, "keepalives_count": 3,
            "tcp_user_timeout": 10_000,
        }  # fmt: skip
        self._parameters: dict[str, Any] = defaults | given
        self._patience = seconds_of(self._parameters["connect_timeout"])
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
                header = Header(*self._query(sql.HEADER, (sql.PARTITION,))[0])
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
                connection.execute(sql.SESSION, settings)
            except BaseException:
                connection.close()
                raise
        except psycopg.Error as error:
            self._retry_at = time.monotonic() + RETRY_AFTER
            self._silent = self._is_silence(error)
            raise StoreLost(f"{self.name} cannot be reached: {sentence(error)}") from None
        return connection

    def _prepare(self) -> int:
        """Make the tables if they are not there; the version of those that are."""
        version = self._version()
        if version == 0:
            if self._read_only:
                raise StoreError(f"there is no store in {self.name}: open it for writing once")
            with self._session() as connection, connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (sql.MAKING,))
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
        connection.execute((sql.SCHEMA + sql.KEYS).encode())
        row = (SCHEMA_VERSION, secrets.token_bytes(4), secrets.token_bytes(32))
        connection.execute("INSERT INTO rankloop.meta VALUES (%s, %s, %s)", row)
        values = "VALUES (%s, '', 0, 'epoch', true, 0, 0, 0)"
        connection.execute(f"INSERT INTO rankloop.partitions {values}", (sql.PARTITION,))

    def _migrate(self, old: int) -> None:
        with self._transaction() as connection, at_work(connection, PATIENCE_AT_WORK):
            connection.execute(sql.MIGRATIONS[old].encode())
            connection.execute("UPDATE rankloop.meta SET version = %s", (old + 1,))

    def _claim(self) -> None:
        """Take the lease, as soon as it has ended."""
        begun, first = time.monotonic(), None
        while True:
            owner, *lease, left = self._query(sql.HOLDER, (sql.PARTITION,))[0]
            if left <= 0:
                self._free(owner)
                epochs = self._query_lease(sql.CLAIM)
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
            self._query(sql.FREE, (owner,))
        except StoreLost:
            raise
        except StoreError as error:  # sessions of another role: their own time limits end them
            logger.warning("the sessions of %s could not be ended: %s", _holder(owner), error)

    @property
    def _mine(self) -> dict[str, Any]:
        return {"partition": sql.PARTITION, "owner": self._owner, "lease": self._lease}

    def close(self) -> None:
        """Let go of the store, so that another program can have it at once."""
        self._stop.set()
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None and os.getpid() == self._process:
                with suppress(psycopg.Error):  # the lease then ends by itself
                    if self._epoch and not self._read_only:
                        connection.execute(sql.RELEASE, (sql.PARTITION, self._owner, self._epoch))
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
            epochs = self._query_lease(sql.RECLAIM)
            if not epochs:
                self._refuse()
        except BaseException:
            self._drop()
            raise
        self._epoch, self._renewed = epochs[0][0], time.monotonic()

    def _refuse(self) -> None:
        owner = self._query(sql.HOLDER, (sql.PARTITION,))[0][0]
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
        text = sentence(error)
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
        with self._session() as connection, at_work(connection, self._lease + self._patience):
            return self._query(statement, self._mine)

    def _query(self, statement: str, values: Any = ()) -> list[Any]:
        with self._session() as connection:
            return connection.cursor(binary=True).execute(statement.encode(), values).fetchall()

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
                if not connection.execute(sql.FENCE, values).rowcount:
                    self._refuse()
                yield connection
            self._renewed = begun

    def renew(self) -> None:
        """Renew the lease, unless a write has just done so."""
        with self._lock:
            if self._is_open and not self._silent and time.monotonic() - self._renewed >= self._lease / RENEWED / 2:
                with self._transaction():
                    pass


def _holder(owner: str) -> str:
    host, _, rest = owner.partition(":")
    return f"process {rest.partition(':')[0]} on {host}"


def _keep(reference: weakref.ref[LeasedDatabase], stop: threading.Event, pause: float) -> None:
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
