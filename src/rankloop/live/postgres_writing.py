"""What nearly every commit writes to PostgreSQL, in one statement that is a transaction by itself.

A transaction of several statements takes a journey to the server for each of them. And psycopg looks at every value of
an array by itself, which takes longer than all the rest: here arrays are made whole.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from itertools import chain
from typing import Any

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

from rankloop.live.postgres_tables import FENCE
from rankloop.live.stores import Batch

WRITE = f"""
WITH fence AS ({FENCE} RETURNING partition),
     totals AS (
         INSERT INTO rankloop.totals
         SELECT fence.partition, each.* FROM fence, unnest(%(loops)b, %(counts)b) AS each (loop, counts)
         ON CONFLICT (partition, loop) DO UPDATE SET counts = excluded.counts
     )
INSERT INTO rankloop.journal
SELECT fence.partition, each.seq, each.at, each.kind, each.learner, nullif(each.impression, 0), each.body
FROM fence, unnest(%(seqs)b, %(ats)b, %(kinds)b, %(learners)b, %(impressions)b, %(bodies)b)
            AS each (seq, at, kind, learner, impression, body)
""".encode()
"""Entries and counts, if the lease is still its owner's: else no row is written."""


class _Bigints(bytes):
    """An array of bigint as PostgreSQL reads it."""


class _Smallints(bytes):
    """An array of smallint."""


class _Bodies(bytes):
    """An array of bytea."""


class _AsItIs(Dumper):
    """Sends what has the server's form already."""

    format = Format.BINARY

    def dump(self, obj: Any) -> bytes:
        """The bytes to send."""
        return bytes(obj)


for _type, _oid in ((_Bigints, 1016), (_Smallints, 1005), (_Bodies, 1001)):
    psycopg.adapters.register_dumper(_type, type(_type.__name__, (_AsItIs,), {"oid": _oid}))

_ARRAY = struct.Struct(">5i")
"""Dimensions, whether there are nulls, type of the elements, their number, and the first index."""
_LENGTH = struct.Struct(">i")
_BIGINT, _SMALLINT, _BYTEA = 20, 21, 17
AT_ONCE = 128
"""Numbers that are packed at once."""


@cache
def _layout(code: str, n: int) -> struct.Struct:
    """So many numbers, each after its length."""
    return struct.Struct(f">{('i' + code) * n}")


def _numbers(type_: int, code: str, size: int, values: Sequence[int]) -> bytes:
    """An array of numbers."""
    parts = [_ARRAY.pack(1, 0, type_, len(values), 1)]
    for start in range(0, len(values), AT_ONCE):
        some = values[start : start + AT_ONCE]
        parts.append(_layout(code, len(some)).pack(*chain.from_iterable([(size, value) for value in some])))
    return b"".join(parts)


def _bigints(values: Sequence[int]) -> _Bigints:
    return _Bigints(_numbers(_BIGINT, "q", 8, values))


def _smallints(values: Sequence[int]) -> _Smallints:
    return _Smallints(_numbers(_SMALLINT, "h", 2, values))


def _bodies(values: Sequence[bytes]) -> _Bodies:
    parts = chain.from_iterable([(_LENGTH.pack(len(value)), value) for value in values])
    return _Bodies(_ARRAY.pack(1, 0, _BYTEA, len(values), 1) + b"".join(parts))


def values_of(batch: Batch) -> dict[str, Any]:
    """What `WRITE` takes of a batch with entries, besides what its fence takes."""
    seqs, ats, kinds, learners, impressions, bodies = zip(*batch.entries, strict=True)
    return {
        "seqs": _bigints(seqs),
        "ats": _bigints(ats),
        "kinds": _smallints(kinds),
        "learners": _bigints(learners),
        "impressions": _bigints([impression or 0 for impression in impressions]),
        "bodies": _bodies(bodies),
        "loops": _bigints(list(batch.totals)),
        "counts": _bodies(list(batch.totals.values())),
    }
