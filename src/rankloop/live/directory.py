"""What the workers of a store share: who they are, who has which partition, access keys, and what loops were told.

Nobody needs a lease for that. Loops are created and changed by a row in a numbered list of changes; whoever owns a
partition takes them over into its journal, in their order, each once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import rankloop.live.postgres_tables as sql
from rankloop.live.partition_ids import MOST_PARTITIONS
from rankloop.live.postgres import PostgresStore
from rankloop.live.postgres_database import Database
from rankloop.live.stores import StoreError

FORGOTTEN_AFTER = 60.0
"""Seconds after which a worker that has not been heard of is forgotten."""


class Worker(NamedTuple):
    """A worker: an id of its own, a name for people, and where others can reach it.

    >>> worker = Worker("1f0c-9a", "shop-1:8000/0", "10.0.0.1:8001")
    >>> worker.machine, worker.host
    ('1f0c', 'shop-1')
    """

    id: str
    name: str
    address: str

    @property
    def machine(self) -> str:
        """What those workers have in common in their ids that one supervisor has started."""
        return self.id.partition("-")[0]

    @property
    def host(self) -> str:
        """Name of the machine that it runs on."""
        return self.name.partition(":")[0]


class Lease(NamedTuple):
    """Who has a partition, and for how many more seconds."""

    partition: int
    worker: str
    left: float


@dataclass(frozen=True)
class Sight:
    """What a worker sees when it looks around."""

    workers: Mapping[str, Worker]
    leases: tuple[Lease, ...]
    version: int
    """Number of the last change of loops."""


class Directory(Database):
    """What the workers of a store share.

    Parameters
    ----------
    url
        Address of the database.
    partitions
        Number of partitions that the store must have, if that is known.
    making
        Number of partitions of a store that is made because there is none.

    Examples
    --------
    >>> Directory("postgresql://shop:secret@db.example.org/shop", partitions=8).name
    'postgresql://shop@db.example.org/shop'
    """

    def __init__(self, url: str, *, partitions: int | None = None, making: int = 1) -> None:
        made = making if partitions is None else partitions
        if not 1 <= made <= MOST_PARTITIONS:
            raise ValueError(f"a store has from 1 to {MOST_PARTITIONS:,} partitions, not {made:,}")
        super().__init__(url, making=made)
        self._url, self._wanted = url, partitions
        self.store = self.secret = b""
        self.partitions = 0

    def open(self) -> None:
        """Connect, making the store if it is not there."""
        with self._lock:
            version = self._begin()
            try:
                if version < sql.VERSION:
                    old = PostgresStore(self._url, partition=0)  # who has the only partition may change the tables
                    old.open()
                    old.close()
                self.store, self.secret, self.partitions = self._query(
                    "SELECT store, secret, (SELECT count(*) FROM rankloop.partitions) FROM rankloop.meta"
                )[0]
                if self._wanted not in (None, self.partitions):
                    raise StoreError(
                        f"{self.name} was made with {self.partitions} partitions, which stay: leave out --partitions, "
                        f"or make another store with {self._wanted}"
                    )
            except BaseException:
                self._end()
                raise

    def close(self) -> None:
        """Let go of the connection."""
        with self._lock:
            self._end()

    # -- workers -------------------------------------------------------------------------------------------------

    def look(self, me: Worker | None, alive: float) -> Sight:
        """Say that a worker is there, and look who else was so within some seconds, and who has what."""
        with self._session() as connection, connection.transaction():
            if me is not None:
                connection.execute(
                    "INSERT INTO rankloop.workers VALUES (%s, %s, %s, clock_timestamp()) "
                    "ON CONFLICT (worker) DO UPDATE SET seen = excluded.seen",
                    me,
                )
                connection.execute(
                    "DELETE FROM rankloop.workers WHERE seen < clock_timestamp() - make_interval(secs => %s)",
                    (FORGOTTEN_AFTER,),
                )
            workers = connection.execute(
                "SELECT worker, name, address FROM rankloop.workers "
                "WHERE seen > clock_timestamp() - make_interval(secs => %s) ORDER BY worker",
                (alive,),
            ).fetchall()
            leases = connection.execute(
                "SELECT partition, worker, extract(epoch FROM expires - clock_timestamp())::float8 "
                "FROM rankloop.partitions ORDER BY partition"
            ).fetchall()
            version = connection.execute("SELECT changes FROM rankloop.meta").fetchall()[0][0]
        found = map(Worker._make, workers)
        return Sight({each.id: each for each in found}, tuple(map(Lease._make, leases)), version)

    def leave(self, worker: str) -> None:
        """Say that a worker has gone, in good order."""
        with self._session() as connection:
            connection.execute("DELETE FROM rankloop.workers WHERE worker = %s", (worker,))

    def bury(self, worker: str) -> None:
        """Let others take over at once from a worker whose process is known to have ended."""
        with self._session() as connection:
            connection.execute("UPDATE rankloop.partitions SET expires = 'epoch' WHERE worker = %s", (worker,))
        self.leave(worker)

    # -- what loops were told ------------------------------------------------------------------------------------

    def changes(self, after: int) -> list[tuple[int, bytes]]:
        """The changes after one of them, in order."""
        return self._query("SELECT version, body FROM rankloop.changes WHERE version > %s ORDER BY version", (after,))

    def add_change(self, make: Callable[[], bytes | None]) -> int:
        """Add a change, made while nobody else can add one, unless there is none to make; the last one's number."""
        with self._session() as connection, connection.transaction():
            version: int = connection.execute(
                "UPDATE rankloop.meta SET changes = changes + 1 RETURNING changes"
            ).fetchall()[0][0]
            body = make()
            if body is None:
                connection.execute("UPDATE rankloop.meta SET changes = changes - 1")
                return version - 1
            connection.execute("INSERT INTO rankloop.changes VALUES (%s, %b)", (version, body))
        return version

    # -- access keys ---------------------------------------------------------------------------------------------

    def put_key(self, name: str, record: bytes) -> None:
        """Keep something of an access key, in place of what is there."""
        with self._session() as connection:
            connection.execute(sql.PUT_KEY, (name, record))
