"""A worker that takes no more connections answers those that were made before and waited to be taken."""

from __future__ import annotations

import asyncio
import socket
import threading
from pathlib import Path

from service_client import ADMIN, SECONDS

from rankloop.service.app import App
from rankloop.service.run import listen, server_of
from rankloop.service.service import Service


def test_connections_that_wait_are_answered(tmp_path: Path) -> None:
    service = Service(tmp_path / "shop.db", admin=ADMIN)
    server = server_of(App(service))
    ready, loops = threading.Event(), []

    def when_ready() -> None:
        loops.append(asyncio.get_running_loop())
        ready.set()

    service.when_ready = when_ready
    with listen("127.0.0.1", 0) as listening, listen("127.0.0.1", 0) as last:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            assert ready.wait(SECONDS)
            clients = [socket.create_connection(last.getsockname(), SECONDS) for _ in range(3)]
            for client in clients:
                client.sendall(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
            asyncio.run_coroutine_threadsafe(server.take_waiting(last), loops[0]).result(SECONDS)
            last.close()
            for client in clients:
                with client:
                    assert client.recv(65_536).startswith(b"HTTP/1.1 200 ")
        finally:
            server.should_exit = True
            thread.join(SECONDS)
    assert not thread.is_alive()
