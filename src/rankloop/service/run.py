"""Running the service: a socket, a server, and an orderly end."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import uvicorn

from rankloop.live.stores import Store, StoreError
from rankloop.service.app import App
from rankloop.service.fast_path import QuickProtocol
from rankloop.service.logs import log_to
from rankloop.service.service import Service, admin_key

SECONDS_TO_DRAIN = 10
"""How long requests that are being answered may take after SIGTERM."""
SWITCH_INTERVAL = 0.0005
"""Seconds after which the thread that commits gets its turn, under full load."""


def listen(host: str, port: int) -> socket.socket:
    """A socket to serve from; OSError says why there is none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048, reuse_port=False)
    except OSError as error:
        told = f"cannot listen on {host} port {port} ({error.strerror or error}): choose another with --host or --port"
        raise StoreError(told) from None


def address_of(listening: socket.socket) -> str:
    """The address of a service that listens here."""
    host, port = listening.getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{port}"


class Greeting(NamedTuple):
    """What to say when a service is ready: the store, the address, the admin key if it was made just now."""

    store: str
    address: str
    first_key: str | None
    fixed: bool
    """Whether the environment sets an admin key."""


Leave = Callable[["Server"], Awaitable[None]]


class Server(uvicorn.Server):
    """uvicorn's server, which may have something to do before it ends.

    Parameters
    ----------
    config
        What uvicorn is told.
    leave
        What is done when the process is told to end; nothing if not given, or if it is told twice.
    """

    def __init__(self, config: uvicorn.Config, leave: Leave | None) -> None:
        super().__init__(config)
        self._leave = leave
        self._leaving: asyncio.Task[None] | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end."""
        leave, self._leave = self._leave, None
        if leave is None or not self.started:
            super().handle_exit(sig, frame)
        else:
            loop = asyncio.get_running_loop()
            loop.call_soon_threadsafe(self._begin_to_leave, leave, sig, frame)

    async def take_waiting(self, listening: socket.socket) -> None:
        """Take the connections that have been made and wait; they would be reset when the socket is closed."""
        loop = asyncio.get_running_loop()
        listening.setblocking(False)
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:  # none is left
                return
            connection.setblocking(False)
            await loop.connect_accepted_socket(self._protocol, connection)

    def _protocol(self) -> asyncio.Protocol:
        state = self.lifespan.state
        return QuickProtocol(config=self.config, server_state=self.server_state, app_state=state)

    def _begin_to_leave(self, leave: Leave, sig: int, frame: FrameType | None) -> None:
        async def leaving() -> None:
            try:
                await leave(self)
            finally:
                super(Server, self).handle_exit(sig, frame)

        self._leaving = asyncio.get_running_loop().create_task(leaving())


def server_of(app: App, leave: Leave | None = None) -> Server:
    """A server for the application: plain ASGI on uvicorn, with a shorter way for what is hot."""
    return Server(
        uvicorn.Config(
            app,
            loop="uvloop",
            http=QuickProtocol,
            ws="none",
            lifespan="on",
            proxy_headers=False,
            access_log=False,
            log_config=None,
            server_header=False,
            date_header=False,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=SECONDS_TO_DRAIN,
            backlog=2048,
        ),
        leave,
    )


def serve(
    store: str | Path | Store,
    *,
    config: str | Path | None = None,
    host: str = "127.0.0.1",
    port: int = 8000,
    when_ready: Callable[[Greeting], None] = lambda _: None,
    **options: Any,
) -> None:
    """Serve until SIGTERM or Ctrl-C; then finish what has begun, write everything and let go of the store.

    Parameters
    ----------
    store
        Path of an SQLite file or `postgresql://...`.
    config
        Path of a `rankloop.toml`.
    host, port
        Where to listen; port 0 takes any that is free.
    when_ready
        Called once it is ready.
    options
        What `Service` takes besides.
    """
    service = Service(store, config=config, admin=admin_key(), **options)
    with listen(host, port) as listening:
        address = address_of(listening)
        service.when_ready = lambda: when_ready(
            Greeting(service.store_name, address, service.first_key, service.keys.fixed)
        )
        serve_from(listening, service)


def serve_from(listening: socket.socket, service: Service, leave: Leave | None = None) -> None:
    """Serve from a socket until SIGTERM or Ctrl-C.

    Parameters
    ----------
    listening
        The socket.
    service
        What answers.
    leave
        What is to be done when the process is told to end, before the server is closed.
    """
    patient = service.workers is not None
    app = App(service, on_failure=lambda: setattr(server, "should_exit", True), patient=patient)
    server = server_of(app, leave)
    log_to()
    sys.setswitchinterval(SWITCH_INTERVAL)
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGINT):  # the server handles them, and then passes them on to these
            signal.signal(number, lambda *_: None)
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))  # a terminal that is closed
    server.run(sockets=[listening])
    if service.failed is not None:
        raise service.failed
