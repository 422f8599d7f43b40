"""A worker process: what it is told comes as one line on standard input, and it says on standard output how it fares.

Standard input stays open as long as the supervisor lives. When it ends, so does the worker.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
import threading

import msgspec

from rankloop.live import StoreError
from rankloop.service.fleet.fleet import Fleet
from rankloop.service.fleet.worker_messages import Orders, Word
from rankloop.service.run import Server, serve_from
from rankloop.service.service import Service, admin_key

SECONDS_TO_MOVE = 3.0
"""How long clients that keep their connections may take to send their next request, and hear that this is the last."""


def say(word: Word) -> None:
    """Tell the supervisor something."""
    with contextlib.suppress(OSError):  # it has gone
        os.write(1, msgspec.json.encode(word) + b"\n")


def _watch_supervisor() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def main() -> None:
    """Serve until told to end."""
    orders = msgspec.json.decode(sys.stdin.buffer.readline(), type=Orders)
    admin = admin_key()
    fleet = Fleet(
        orders.store, config=orders.config, admin=admin, machine=orders.machine, name=orders.name,
        peer_host=orders.peer_host, peer_port=orders.peer_port, lease=orders.lease, workers=orders.workers,
    )  # fmt: skip
    service = Service(orders.store, config=orders.config, admin=admin, workers=fleet)
    service.when_ready = lambda: say(Word(fleet.id, "ready"))

    async def leave(server: Server) -> None:
        """Take no new connections, hand over all partitions, and let clients go elsewhere with their next request."""
        with listening.dup() as last:
            for each in server.servers:
                each.close()
            await server.take_waiting(last)
        service.leaving = True
        await fleet.leave()
        connections = server.server_state.connections
        for _ in range(int(SECONDS_TO_MOVE / 0.02)):
            if not connections:
                return
            await asyncio.sleep(0.02)

    say(Word(fleet.id, "begun"))
    threading.Thread(target=_watch_supervisor, daemon=True).start()
    with socket.socket(fileno=orders.listening) as listening:
        try:
            serve_from(listening, service, leave)
        except (StoreError, ValueError) as error:
            say(Word(fleet.id, "failed", str(error)))
            sys.exit(1)


if __name__ == "__main__":
    main()
