"""What a supervisor tells its workers, and what they tell it: one JSON object per line."""

from __future__ import annotations

from msgspec import Struct

THIS_MACHINE = "127.0.0.1"
"""Address at which workers reach each other where all of them are on one machine."""
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
    machine
        What the workers of one supervisor have in common in their ids, and share with nobody else.
    name
        What to call the worker in metrics: `host:port/number`, with the port of the service.
    peer_host
        Address at which other workers reach this one.
    peer_port
        Port at which other workers reach this one; 0 for any that is free.
    lease
        Seconds after which others take over from a worker that is silent.
    workers
        Number of workers that the supervisor starts.
    """

    store: str
    config: str | None
    listening: int
    machine: str
    name: str
    peer_host: str
    peer_port: int
    lease: float
    workers: int


class Word(Struct, omit_defaults=True):
    """What a worker says of itself: that it has begun, is ready, or has failed, and why."""

    worker: str
    what: str
    why: str = ""
