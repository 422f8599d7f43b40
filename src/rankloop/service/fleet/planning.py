"""Who should have which partitions: every worker decides for itself, from the same facts, in the same way."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from rankloop.live.directory import Lease


class Handover(NamedTuple):
    """Partitions to claim, and partitions to hand over."""

    claim: list[int]
    release: list[int]


def share(me: str, workers: Collection[str], n: int) -> int:
    """How many of n partitions a worker should have; together they have all.

    >>> [share(worker, "abc", 8) for worker in "abc"]
    [3, 3, 2]
    """
    ordered = sorted({me, *workers})
    return n // len(ordered) + (ordered.index(me) < n % len(ordered))


def plan(me: str, workers: Collection[str], leases: Sequence[Lease], mine: Collection[int]) -> Handover:
    """What a worker should do now.

    Parameters
    ----------
    me
        The worker.
    workers
        All workers that are alive.
    leases
        Who has each partition, and for how much longer.
    mine
        Partitions that the worker holds.

    Examples
    --------
    >>> leases = [Lease(0, "a", 4.0), Lease(1, "a", 4.0), Lease(2, "b", -1.0), Lease(3, "", -9.0)]
    >>> plan("a", {"a", "c"}, leases, {0, 1})
    Handover(claim=[], release=[])
    >>> plan("c", {"a", "c"}, leases, ())
    Handover(claim=[3, 2], release=[])
    >>> plan("a", {"a", "c", "d", "e"}, leases, {0, 1})
    Handover(claim=[], release=[1])
    """
    wanted = share(me, workers, len(leases)) - len(mine)
    if wanted < 0:
        return Handover([], sorted(mine)[wanted:])
    free = [lease.partition for lease in leases if lease.left <= 0 and lease.partition not in mine]
    ordered = sorted({me, *workers})
    first = len(free) * ordered.index(me) // len(ordered)  # so that not all ask for the same ones
    return Handover((free[first:] + free[:first])[:wanted], [])
