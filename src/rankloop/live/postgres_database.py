"""A database of rankloop in PostgreSQL: its tables, and a connection that is made anew when it was lost."""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import TransactionStatus

import rankloop.live.postgres_tables as sql
from rankloop.live.postgres_connection import (
    PATIENCE,
    Connection,
    ServerSilent,
    name_of,
    seconds_of,
    sentence,
)
from rankloop.live.stores import StoreConflict, StoreError, StoreLost

LEASE = 8.0
"""Seconds: how soon after a crash another program can take over, and how long the server may be away unnoticed."""
PASSING = (
    psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError, psycopg.errors.ReadOnlySqlTransaction,
)  # fmt: skip
"""Errors that may pass: among those that the server calls internal is a file that cannot grow."""
RETRY_AFTER = 0.5
"""Seconds after a failed connection in which nobody waits for another one."""


class NoStore(StoreError):
    """The database holds no store yet."""


class Database:
    """A database, over a connection for one thread at a time.

    Parameters
    ----------
    url
        Address of the database.
    read_only
        Whether read-only.
    lease
        Seconds that the server lets a transaction of ours stand still.
    making
        Number of partitions of a store that is made because there is none.
    """

    def __init__(self, url: str, *, read_only: bool = False, lease: float = LEASE, making: int = 1) -> None:
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
        self._read_only, self._lease, self._making = read_only, lease, making
        self._lock = threading.RLock()
        self._connection: Connection | None = None
        self._is_open = False
        self._taken = ""
        """What to say if another program has taken over."""
        self._silent = False
        """Whether the server has fallen silent: the thread that renews the lease connects again, and no call waits."""
        self._owner = ""
        self._process = self._depth = 0
        self._retry_at = 0.0

    def _begin(self) -> int:
        """Connect, and make the tables if they are not there; the version of those that are."""
        if self._is_open:
            raise StoreError(f"{self.name} is open already")
        self._process = os.getpid()
        host = socket.gethostname().encode("ascii", "replace").decode().replace(":", ".")[:30]
        self._owner = f"{host}:{self._process}:{secrets.token_hex(4)}"
        self._taken, self._retry_at, self._silent = "", 0.0, False
        self._connection = self._connect()
        self._is_open = True
        try:
            return self._prepare()
        except BaseException:
            self._end()
            raise

    def _end(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and os.getpid() == self._process:
            self._part(connection)
            connection.close()
        self._is_open = False

    def _part(self, connection: Connection) -> None:
        """Say good-bye before a connection is closed in good order."""

    def _reconnected(self) -> None:
        """Find out where we stand after a connection was lost and made anew."""

    def _connect(self) -> Connection:
        """A new connection."""
        if time.monotonic() < self._retry_at:
            raise StoreLost(f"{self.name} could not be reached a moment ago")
        settings = {
            "read_only": "on" if self._read_only else "off",
            "patience": str(int(1000 * max(1.0, self._lease))),
        }
        try:
            conninfo = make_conninfo(**self._parameters | {"application_name": self._session_name(self._owner)})
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
                raise NoStore(f"there is no store in {self.name}: open it for writing once")
            with self._session() as connection, connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (sql.MAKING,))
                version = self._version()
                if version == 0:
                    self._make(connection)
                    version = sql.VERSION
        if version > sql.VERSION:
            raise StoreError(
                f"{self.name} was written by a newer rankloop (format {version}, this one reads up to "
                f"{sql.VERSION}): upgrade rankloop"
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
        connection.execute((sql.SCHEMA + sql.KEYS + sql.SHARED).encode())
        row = (sql.VERSION, secrets.token_bytes(4), secrets.token_bytes(32))
        connection.execute("INSERT INTO rankloop.meta VALUES (%s, %s, %s)", row)
        connection.execute(sql.MAKE_PARTITIONS, (self._making - 1,))

    def _partitions(self) -> int:
        found: int = self._query("SELECT count(*) FROM rankloop.partitions")[0][0]
        return found

    def _session_name(self, owner: str) -> str:
        return f"rankloop {owner}"

    def keys(self) -> Mapping[str, bytes]:
        """What is kept of each access key, by the key's name."""
        return dict(self._query("SELECT name, record FROM rankloop.keys"))

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
                    self._reconnected()
                yield self._connection
            except psycopg.Error as error:
                raise self._failed(error) from None
            finally:
                self._depth -= 1
                if self._depth == 0:
                    self._drop_unfinished()

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
        if lost or isinstance(error, PASSING):
            return StoreLost(f"{self.name} did not answer ({text})")
        return StoreError(f"{self.name} refused ({text})")

    @property
    def _mends(self) -> bool:
        """Whether a thread connects again after the server has fallen silent."""
        return False

    def _is_silence(self, error: psycopg.Error) -> bool:
        """Whether the server has not answered in time, where there is a thread that connects again."""
        return self._mends and isinstance(error, ServerSilent | psycopg.errors.ConnectionTimeout)

    def _query(self, statement: str, values: Any = ()) -> list[Any]:
        with self._session() as connection:
            return connection.cursor(binary=True).execute(statement.encode(), values).fetchall()
