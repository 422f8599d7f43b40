"""A service in a thread of the test, and a client that calls it as a program would."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import httpx

from rankloop.service.app import App
from rankloop.service.run import address_of, listen, server_of
from rankloop.service.service import Service

ADMIN = "admin-key-of-the-tests"
SECONDS = 200.0


class Running:
    """A service that runs, with a client for whoever holds a key."""

    def __init__(self, service: Service, address: str) -> None:
        self.service, self.address = service, address
        self._clients: list[httpx.Client] = []
        self.admin = self.client(ADMIN)

    def client(self, key: str | None, **headers: str) -> httpx.Client:
        """A client with a key."""
        given = {} if key is None else {"Authorization": f"Bearer {key}"}
        self._clients.append(httpx.Client(base_url=self.address, headers={**given, **headers}, timeout=SECONDS))
        return self._clients[-1]

    def close(self) -> None:
        """Let go of all connections."""
        for client in self._clients:
            client.close()

    def key(self, role: str, **more: Any) -> str:
        """A new access key."""
        answer = self.admin.post("/v1/keys", json={"role": role, **more})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["key"])

    def holding(self, role: str, **more: Any) -> httpx.Client:
        """A client with a new key."""
        return self.client(self.key(role, **more))


@contextmanager
def served(store: Any, **options: Any) -> Iterator[Running]:
    """A service on a port of its own while the block runs; it is drained and closed in the end."""
    service = Service(store, admin=ADMIN, **options)
    listening = listen("127.0.0.1", 0)
    server = server_of(App(service))
    ready = threading.Event()
    service.when_ready = ready.set
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        assert ready.wait(SECONDS), service.failed
        running = Running(service, address_of(listening))
        try:
            yield running
        finally:
            running.close()
    finally:
        server.should_exit = True
        thread.join(SECONDS)
        listening.close()
    assert not thread.is_alive()


def request(path: str, body: Any, *more: str, key: str = ADMIN, method: str = "POST") -> bytes:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {key}", *more]
    return "\r\n".join([*lines, f"Content-Length: {len(content)}", "", ""]).encode() + content


class Addressed(Protocol):
    """What listens somewhere."""

    address: str


class Wire:
    """A connection, read answer by answer."""

    def __init__(self, running: Addressed) -> None:
        host, port = running.address.removeprefix("http://").split(":")
        self.socket = socket.create_connection((host, int(port)), 60)
        self._got = b""

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def read(self) -> tuple[int, dict[str, str], Any]:
        """Status, headers and body of the next answer."""
        while b"\r\n\r\n" not in self._got:
            self._more()
        head, _, rest = self._got.partition(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines)
        length = int(headers["content-length"])
        while len(rest) < length:
            self._more()
            rest = self._got.partition(b"\r\n\r\n")[2]
        self._got = rest[length:]
        body = rest[:length]
        is_json = "json" in headers.get("content-type", "")
        return int(first.split()[1]), headers, json.loads(body) if is_json else body

    def _more(self) -> None:
        data = self.socket.recv(65536)
        assert data, f"the connection was closed after {self._got!r}"
        self._got += data

    def ended(self) -> bool:
        """Whether the other side has closed the connection."""
        return self.socket.recv(1) == b""


@contextmanager
def wire(running: Addressed) -> Iterator[Wire]:
    connection = Wire(running)
    try:
        yield connection
    finally:
        connection.socket.close()
