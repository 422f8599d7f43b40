"""What a supervisor tells its workers, and what they tell it: one JSON object per line."""

from __future__ import annotations

from msgspec import Struct

LEASE = 5.0
"""Seconds after which others take over from a worker that is silent."""


class Orders(Struct):
    """What a worker is told when it begins.

    Parameters
    ----------
    store
        Address of the store.
    config
        Path of a `rankloop.toml`.
    listening
        Number of the file descriptor of the socket that all workers take connections from.
    name
        What to call the worker in metrics.
    peer_host
        Address at which other workers reach this one.
    lease
        Seconds after which others take over from a worker that is silent.
    workers
        Number of workers that the supervisor starts.
    """

    store: str
    config: str | None
    listening: int
    name: str
    peer_host: str
    lease: float
    workers: int


class Word(Struct, omit_defaults=True):
    """What a worker says of itself: that it has begun, is ready, or has failed, and why."""

    worker: str
    what: str
    why: str = ""
