"""Serving a store that several workers share, from one machine of perhaps several."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable

from rankloop.live import StoreError
from rankloop.live.directory import Directory
from rankloop.service.fleet.supervisor import Supervisor
from rankloop.service.fleet.worker_messages import LEASE, THIS_MACHINE, Orders
from rankloop.service.keys import KeyRing
from rankloop.service.logs import log_to
from rankloop.service.run import Greeting, address_of, listen
from rankloop.service.service import admin_key

PARTITIONS_PER_WORKER = 4
"""Of a new store: enough that workers which come and go leave each with about the same."""
EVERYWHERE = ("0.0.0.0", "::", "")


def prepare(
    store: str, *, workers: int = 1, partitions: int | None = None, peer_host: str = THIS_MACHINE
) -> tuple[int, str | None, bool]:
    """Make a store in PostgreSQL if it is not there.

    Gives its number of partitions, an admin key if it was made just now, and whether the environment sets one.
    """
    several = workers > 1 or peer_host != THIS_MACHINE
    directory = Directory(store, partitions=partitions, making=PARTITIONS_PER_WORKER * workers if several else 1)
    directory.open()
    try:
        if directory.partitions == 1:
            if several:
                raise StoreError(
                    f"{directory.name} was made with one partition, which one worker has: leave out --workers and "
                    "--peer-host, or begin with a new store, which gets several partitions with --partitions"
                )
            return 1, None, False
        keys = KeyRing(directory, admin=admin_key())
        text = None
        if not keys.has_admin:
            text, _ = keys.make("admin", note="made when the service first started")
        return directory.partitions, text, keys.fixed
    finally:
        directory.close()


def serve(
    store: str,
    *,
    config: str | None = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    workers: int = 1,
    peer_host: str = THIS_MACHINE,
    peer_port: int = 0,
    lease: float = LEASE,
    first_key: str | None = None,
    fixed: bool = False,
    when_ready: Callable[[Greeting], None] = lambda _: None,
) -> None:
    """Serve with several workers until SIGTERM or Ctrl-C.

    Parameters
    ----------
    store
        `postgresql://...` with several partitions.
    config
        Path of a `rankloop.toml`.
    host, port
        Where to listen; port 0 takes any that is free.
    workers
        Number of worker processes on this machine.
    peer_host
        Address of this machine at which workers of other machines reach those of this one.
    peer_port
        First of the ports for that, of which there is one for each worker and one more, for a worker that is being
        replaced; 0 for any that are free.
    lease
        Seconds after which others take over from a worker that is silent.
    first_key, fixed
        The admin key, if it was made just now, and whether the environment sets one.
    when_ready
        Called once all workers are ready.
    """
    if peer_host in EVERYWHERE:
        raise ValueError(
            "--peer-host must be an address at which other workers can reach this machine, not all of them"
        )
    if peer_port + workers > 65_535:
        raise ValueError(f"--peer-port must leave room for {workers + 1} ports, up to 65535; {peer_port} does not")
    log_to()
    with listen(host, port) as listening:
        listening.set_inheritable(True)
        address = address_of(listening)
        name = f"{socket.gethostname()}:{listening.getsockname()[1]}"
        orders = Orders(
            store, config, listening.fileno(), secrets.token_hex(4), name, peer_host, peer_port, lease, workers
        )
        told = Greeting(Directory(store).name, address, first_key, fixed)
        Supervisor(orders, listening, lambda: when_ready(told)).run()
