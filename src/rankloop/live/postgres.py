"""A journal in PostgreSQL, for one program at a time: `rankloop.live.leases` says how another takes over from it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from psycopg.conninfo import make_conninfo

import rankloop.live.postgres_tables as sql
from rankloop.live.entries import CLICK, WITH_NEWS, Entry, Fate, Kind
from rankloop.live.leases import LeasedDatabase
from rankloop.live.postgres_connection import Connection
from rankloop.live.postgres_writing import WRITE, values_of
from rankloop.live.stores import Batch, KnownLearner, Snapshot, StoreConflict, Tally, in_pages, not_yet_written

STATES_AT_ONCE = 500

_REMOVE = "DELETE FROM rankloop.journal WHERE partition = %s AND seq > %s AND seq <= %s AND learner <> 0"


_TALLY = f"""
SELECT learner, coalesce(max(known.loop), 0), at / 60000, count(*), min(seq), max(seq), min(at), max(at),
       count(*) FILTER (WHERE kind IN ({Kind.CHOICE:d}, {Kind.RECOVERED:d})),
       count(*) FILTER (WHERE kind = {Kind.EVENT:d} AND substring(body from 1 for 1) = '\\x{CLICK:02x}'),
       count(*) FILTER (WHERE kind = {Kind.CLOSE:d} AND substring(body from 1 for 1) = '\\x{Fate.LEARNED:02x}')
FROM (SELECT * FROM rankloop.journal WHERE partition = %s AND seq > %s AND seq <= %s ORDER BY seq DESC LIMIT %s) AS last
LEFT JOIN rankloop.learners AS known ON known.partition = last.partition AND known.number = last.learner
GROUP BY learner, at / 60000
"""
_NOTABLE = f"""
SELECT seq, at, kind, learner, impression, body FROM rankloop.journal
WHERE partition = %s AND seq > %s AND seq <= %s AND (kind IN ({Kind.OPENED:d}, {Kind.LOOP:d}, {Kind.REVERT:d})
      OR kind = {Kind.CLOSE:d} AND substring(body from 2 for 1) >= '\\x{WITH_NEWS:02x}')
ORDER BY seq DESC LIMIT %s
"""


class PostgresStore(LeasedDatabase):
    """A journal in PostgreSQL 11 or later, in the schema `rankloop` of a database.

    Connect directly, or through a pooler that gives each client a session of its own. A server from which nothing comes
    for 5 seconds, or as many as `connect_timeout` in the address says, counts as lost until it answers again.

    Parameters
    ----------
    url
        Address of the database: `postgresql://user:password@host:5432/database`.
    read_only
        Whether the store is only read, beside a program that writes.
    lease
        Seconds after which another program may take over from one that does not renew its lease.
    partition
        Number of the partition, of a store that several workers share; each is a journal of its own.
    worker, wait
        Which worker has it, and whether to wait for a lease that may be about to end.

    Examples
    --------
    >>> PostgresStore("postgresql://shop:secret@db.example.org/shop").name
    'postgresql://shop@db.example.org/shop'
    """

    # -- writing -------------------------------------------------------------------------------------------------

    def write(self, batch: Batch) -> None:
        """Write a batch in one transaction and return once it is durable."""
        with self._lock:
            try:
                self._write(batch)
            except StoreConflict:
                self._write(not_yet_written(self, batch))

    def _write(self, batch: Batch) -> None:
        if batch.entries and not batch.learners and not batch.snapshots:  # as nearly always
            self._write_at_once(batch)
            return
        with self._transaction(batch) as connection:
            if batch.learners:
                rows = ((self.partition, number, loop, key.encode()) for number, loop, key in batch.learners)
                _copy(connection, "learners (partition, number, loop, key)", "int4 int8 int8 bytea", rows)
            if batch.entries:
                columns = "journal (partition, seq, at, kind, learner, impression, body)"
                types = "int4 int8 int8 int2 int8 int8 bytea"
                _copy(connection, columns, types, ((self.partition, *entry) for entry in batch.entries))
            if batch.snapshots:
                _put_states(connection, self.partition, "snapshots", batch.snapshots)
            if batch.totals:
                connection.cursor().executemany(
                    "INSERT INTO rankloop.totals VALUES (%s, %s, %s) "
                    "ON CONFLICT (partition, loop) DO UPDATE SET counts = excluded.counts",
                    [(self.partition, *total) for total in batch.totals.items()],
                )

    def _write_at_once(self, batch: Batch) -> None:
        """Write entries and counts in a single statement, which renews the lease as well."""
        with self._session() as connection:
            self._check_writable()
            begun = time.monotonic()
            values = self._marks(batch) | values_of(batch)
            if not connection.execute(WRITE, values, prepare=True).rowcount:
                self._refuse()
            self._renewed = begun

    def trim(self, upto: int, bases: Iterable[Snapshot]) -> None:
        """Remove the entries up to one of them, and keep the states that learners had there."""
        ((begun,),) = self._query("SELECT trimmed FROM rankloop.partitions WHERE partition = %s", (self.partition,))
        with self._transaction(trimmed=upto) as connection:
            rest = iter(bases)
            while some := list(islice(rest, STATES_AT_ONCE)):
                _put_states(connection, self.partition, "bases", some)
            connection.execute(_REMOVE, (self.partition, begun, upto))  # from where the last ones went: no dead rows

    # -- reading -------------------------------------------------------------------------------------------------

    def entries(self, after: int, upto: int | None = None, learner: int | None = None) -> Iterator[Entry]:
        """The entries after one and up to another, in order; of one learner if so asked."""
        limit = upto if upto is not None else 2**62
        mine = "" if learner is None else f" AND learner = {int(learner)}"  # in the text, so that 0 finds its index

        def page(after: int, wanted: int) -> list[Any]:
            return self._query(
                "SELECT seq, at, kind, learner, impression, body FROM rankloop.journal "
                f"WHERE partition = %s AND seq > %s AND seq <= %s{mine} ORDER BY seq LIMIT {wanted}",
                (self.partition, after, limit),
            )

        yield from map(Entry._make, in_pages(page, after))

    def entry(self, seq: int) -> Entry | None:
        """One entry, if it is there."""
        return next(self.entries(seq - 1, seq), None)

    def of_impressions(self, first: int, last: int) -> Iterable[Entry]:
        """All later entries about the impressions that began from entry `first` to entry `last`, in order."""
        rows = self._query(
            "SELECT seq, at, kind, learner, impression, body FROM rankloop.journal "
            "WHERE partition = %s AND impression BETWEEN %s AND %s ORDER BY seq",
            (self.partition, first, last),
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
        rows = self._query(statement, (self.partition, *values))
        return _known(rows[0]) if rows else None

    def learners(self, loop: int | None = None, after: int = 0, limit: int | None = None) -> Iterator[KnownLearner]:
        """Learners in the order of their numbers, after one of them."""
        mine = "" if loop is None else f" AND loop = {int(loop)}"

        def page(after: int, wanted: int) -> list[Any]:
            return self._query(
                "SELECT number, loop, key FROM rankloop.learners "
                f"WHERE partition = %s AND number > %s{mine} ORDER BY number LIMIT {wanted}",
                (self.partition, after),
            )

        yield from map(_known, in_pages(page, after, limit))

    def learners_with(self, text: str, loop: int, limit: int) -> list[KnownLearner]:
        """Learners of a loop whose key contains a text, in the order of their numbers."""
        statement = (
            "SELECT number, loop, key FROM rankloop.learners "
            "WHERE partition = %s AND loop = %s AND position(%b in key) > 0 ORDER BY number LIMIT %s"
        )
        return list(map(_known, self._query(statement, (self.partition, loop, text.encode(), limit))))

    def tally(self, after: int, upto: int, limit: int) -> list[Tally]:
        """The last entries after one and up to another, counted by learner and minute."""
        return list(map(Tally._make, self._query(_TALLY, (self.partition, after, upto, limit))))

    def notable(self, after: int, upto: int, limit: int) -> list[Entry]:
        """The last entries after one and up to another that are rare, in order."""
        return sorted(map(Entry._make, self._query(_NOTABLE, (self.partition, after, upto, limit))))

    def snapshot(self, learner: int) -> Snapshot | None:
        """The last snapshot of a learner."""
        return self._state("snapshots", learner)

    def base(self, learner: int) -> Snapshot | None:
        """A learner's state where the journal begins, if its first entries have been removed."""
        return self._state("bases", learner)

    def _state(self, table: str, learner: int) -> Snapshot | None:
        statement = f"SELECT learner, seq, state FROM rankloop.{table} WHERE partition = %s AND learner = %s"
        rows = self._query(statement, (self.partition, learner))
        return Snapshot._make(rows[0]) if rows else None

    def totals(self) -> Mapping[int, bytes]:
        """The counts of each loop, as last written."""
        return dict(self._query("SELECT loop, counts FROM rankloop.totals WHERE partition = %s", (self.partition,)))

    def put_key(self, name: str, record: bytes) -> None:
        """Keep something of an access key, in place of what is there."""
        with self._transaction() as connection:
            connection.execute(sql.PUT_KEY, (name, record))

    def size(self) -> int:
        """Bytes that the tables and their indexes take."""
        return self._query(
            "SELECT sum(pg_total_relation_size(oid))::int8 FROM pg_class "
            "WHERE relnamespace = to_regnamespace('rankloop') AND relkind = 'r'"
        )[0][0]

    def reader(self) -> PostgresStore:
        """The same store, read-only, over a connection of its own."""
        return PostgresStore(make_conninfo(**self._parameters), read_only=True, partition=self.partition)


def _copy(connection: Connection, target: str, types: str, rows: Iterable[tuple[Any, ...]]) -> None:
    with connection.cursor().copy(f"COPY rankloop.{target} FROM STDIN (FORMAT BINARY)".encode()) as copy:
        copy.set_types(types.split())
        for row in rows:
            copy.write_row(row)


def _put_states(connection: Connection, partition: int, table: str, states: Iterable[Snapshot]) -> None:
    last = {state.learner: state for state in states}.values()
    connection.execute(
        f"INSERT INTO rankloop.{table} SELECT %s, * FROM unnest(%b::int8[], %b::int8[], %b::bytea[]) "
        "ON CONFLICT (partition, learner) DO UPDATE SET seq = excluded.seq, state = excluded.state".encode(),
        (partition, [each.learner for each in last], [each.seq for each in last], [each.state for each in last]),
    )


def _known(row: tuple[int, int, bytes]) -> KnownLearner:
    number, loop, key = row
    return KnownLearner(number, loop, key.decode())
