"""Who may write to a journal in PostgreSQL: one program at a time, which another replaces soon after it has died.

A program owns a partition of the journal by a lease: a row with its owner, an epoch that only ever grows, and the time
when it ends, by the database's clock. A transaction that writes begins by renewing the lease for its owner and epoch,
and has the row locked until it ends; where there is no such row, it does not write. So a program that was paused or cut
off cannot write any more once another has taken over.
"""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

import rankloop.live.postgres_tables as sql
from rankloop.live.partition_ids import mark_of
from rankloop.live.postgres_connection import PATIENCE_AT_WORK, Connection, at_work
from rankloop.live.postgres_database import LEASE, Database, NoStore
from rankloop.live.stores import Batch, Header, StoreError, StoreLost

logger = logging.getLogger("rankloop.live")

RENEWED = 4
"""Times that a lease is renewed before it would end."""


class LeaseHeld(StoreError):
    """Another program holds the partition, and renews its lease."""


class LeasedDatabase(Database):
    """A partition of a database that one program at a time may write to, as long as it renews its lease.

    Parameters
    ----------
    url
        Address of the database.
    read_only
        Whether the store is only read, beside a program that writes.
    lease
        Seconds after which another program may take over from one that does not renew its lease.
    partition
        Number of the partition, of a store that has several.
    worker
        Which of the workers that share the store has it.
    wait
        Whether to wait for a lease that may be about to end.
    """

    def __init__(
        self, url: str, *, read_only: bool = False, lease: float = LEASE, partition: int | None = None,
        worker: str = "", wait: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(url, read_only=read_only, lease=lease)
        self._named, self.partition, self._worker, self._wait = partition is not None, partition or 0, worker, wait
        if self.partition:
            self.name += f" partition {self.partition}"
        self._epoch = 0
        self._renewed = 0.0
        self._stop = threading.Event()
        self._keeper: threading.Thread | None = None

    # -- opening and closing -------------------------------------------------------------------------------------

    def open(self) -> Header:
        """Claim the partition, making the tables if they are not there.

        Where another program holds it, wait until its lease has ended, or refuse as soon as it is seen to be renewed.
        """
        with self._lock:
            version = self._begin()
            try:
                self._check_partition()
                if not self._read_only:
                    self._claim()
                    for old in range(version, sql.VERSION):
                        self._migrate(old)
                header = Header(*self._query(sql.HEADER, (self.partition,))[0])
            except BaseException:
                self.close()
                raise
            if not self._read_only:
                self._stop = threading.Event()
                arguments = (weakref.ref(self), self._stop, self._lease / RENEWED)
                self._keeper = threading.Thread(target=_keep, args=arguments, daemon=True, name="rankloop-lease")
                self._keeper.start()
            return replace(header, store=mark_of(header.store, self.partition))

    def count(self) -> int:
        """Number of partitions of the store, asked over a connection of its own; 1 if there is no store yet."""
        other = Database(make_conninfo(**self._parameters), read_only=True)
        with other._lock:
            try:
                return other._begin() and other._partitions()
            except NoStore:
                return 1
            finally:
                other._end()

    def _check_partition(self) -> None:
        n = self._partitions()
        if n > 1 and not self._named:
            raise StoreError(
                f"{self.name} has {n} partitions, which the workers of `rankloop serve` share: talk to the service, "
                "or look at all of them with rankloop.live.Whole or `rankloop live`"
            )
        if self.partition >= n:
            raise StoreError(f"{self.name} is not there: the store has {n} partitions, counted from 0")

    def _migrate(self, old: int) -> None:
        with self._transaction() as connection, at_work(connection, PATIENCE_AT_WORK):
            connection.execute(sql.MIGRATIONS[old].encode())
            connection.execute("UPDATE rankloop.meta SET version = %s", (old + 1,))

    def _claim(self) -> None:
        """Take the lease, as soon as it has ended."""
        begun, first = time.monotonic(), None
        while True:
            owner, *lease, left = self._query(sql.HOLDER, (self.partition,))[0]
            if left <= 0:
                self._free(owner)
                asked = time.monotonic()
                epochs = self._query_lease(sql.CLAIM_FOR_WORKER if self._worker else sql.CLAIM)
                if epochs:
                    self._epoch, self._renewed = epochs[0][0], asked
                    return
            if first is None and self._wait:
                first = lease
                logger.warning("%s is held by %s: waiting for its lease to end", self.name, _holder(owner))
            waited = time.monotonic() - begun
            if lease != first or waited > self._lease + 1 or not self._wait:
                raise LeaseHeld(
                    f"{self.name} is held by {_holder(owner)}, whose lease ends in {max(left, 0):.1f} s unless it is "
                    "renewed: one program at a time writes to a store. Close it there, or let several programs share "
                    "`rankloop serve`"
                )
            time.sleep(min(max(left, 0.02), 0.1))

    def _free(self, owner: str) -> None:
        try:
            self._query(sql.FREE, (self._session_name(owner),))
        except StoreLost:
            raise
        except StoreError as error:  # sessions of another role: their own time limits end them
            logger.warning("the sessions of %s could not be ended: %s", _holder(owner), error)

    def _session_name(self, owner: str) -> str:
        return super()._session_name(owner) + (f" {self.partition}" if self.partition else "")

    @property
    def _mine(self) -> dict[str, Any]:
        return {"partition": self.partition, "owner": self._owner, "worker": self._worker, "lease": self._lease}

    @property
    def held_until(self) -> float:
        """When the lease ends, by this program's monotonic clock, or a little later; 0 if another has it."""
        return 0.0 if self._taken else self._renewed + self._lease

    def close(self) -> None:
        """Let go of the store, so that another program can have it at once."""
        self._stop.set()
        with self._lock:
            self._end()
            self._epoch = 0
        if self._keeper is not None and threading.current_thread() is not self._keeper:
            self._keeper.join()
            self._keeper = None

    def _part(self, connection: Connection) -> None:
        with suppress(psycopg.Error):  # the lease then ends by itself
            if self._epoch and not self._read_only:
                connection.execute(sql.RELEASE, (self.partition, self._owner, self._epoch))

    # -- lost connections ----------------------------------------------------------------------------------------

    def _reconnected(self) -> None:
        if self._epoch:
            self._reclaim()

    @property
    def _mends(self) -> bool:
        return self._keeper is not None

    def _reclaim(self) -> None:
        """Find out after a lost connection whether the lease is still ours.

        The row is locked by a transaction of the lost connection until that has ended, so its outcome is known
        afterwards; and the new epoch keeps anything that is still under way there from being written.
        """
        try:
            self._free(self._owner)
            asked = time.monotonic()
            epochs = self._query_lease(sql.RECLAIM)
            if not epochs:
                self._refuse()
        except BaseException:
            self._drop()
            raise
        self._epoch, self._renewed = epochs[0][0], asked

    def _refuse(self) -> None:
        owner = self._query(sql.HOLDER, (self.partition,))[0][0]
        self._taken = (
            f"{self.name} has been taken over by {_holder(owner)}, because this program had not renewed its lease: "
            "it cannot write any more. Open the store anew, unless the other is to go on"
        )
        raise StoreError(self._taken)

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

    def _check_writable(self) -> None:
        if self._read_only:
            raise StoreError(f"{self.name} was opened for reading only")

    def _marks(self, batch: Batch, trimmed: int = 0) -> dict[str, Any]:
        """What the fence takes."""
        return self._mine | {
            "epoch": self._epoch, "clean": batch.clean, "checkpoint": batch.checkpoint, "cursor": batch.cursor,
            "trimmed": trimmed,
        }  # fmt: skip

    @contextmanager
    def _transaction(self, batch: Batch | None = None, trimmed: int = 0) -> Iterator[Connection]:
        """A transaction that has the lease's row locked, and renews it."""
        with self._session() as connection:
            self._check_writable()
            values = self._marks(batch or Batch(), trimmed)
            begun = time.monotonic()
            with connection.transaction():
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
