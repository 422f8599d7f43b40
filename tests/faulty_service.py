"""A service that does not behave: it answers each request as a script says, or not."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

Behaviour = Callable[["Faulty", socket.socket], None]


class Faulty:
    """Listens on loopback. The last behaviour of the script is that of all further requests."""

    def __init__(self, script: Sequence[Behaviour], secure: ssl.SSLContext | None = None) -> None:
        self._script, self._secure = list(script), secure
        self.requests: list[tuple[str, Any]] = []
        """Path and body of what has come."""
        self.over = threading.Event()
        self._lock = threading.Lock()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self.over.set()
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(30.0)
        if self._secure is not None:
            try:
                connection = self._secure.wrap_socket(connection, server_side=True)
            except OSError:
                connection.close()
                return
        with connection, contextlib.suppress(OSError, ValueError):
            while not self.over.is_set():
                got = b""
                while b"\r\n\r\n" not in got:
                    got += self._some(connection)
                head, _, body = got.partition(b"\r\n\r\n")
                lines = head.decode().lower().split("\r\n")
                length = next((int(line[15:]) for line in lines if line.startswith("content-length:")), 0)
                while len(body) < length:
                    body += self._some(connection)
                with self._lock:
                    self.requests.append((head.split()[1].decode(), json.loads(body) if body else None))
                    behave = self._script.pop(0) if len(self._script) > 1 else self._script[0]
                behave(self, connection)

    def _some(self, connection: socket.socket) -> bytes:
        data = connection.recv(65536)
        if not data:
            raise OSError("closed")
        return data


@contextmanager
def faulty(*script: Behaviour, secure: ssl.SSLContext | None = None) -> Iterator[Faulty]:
    server = Faulty(script, secure)
    try:
        yield server
    finally:
        server.close()


def raw(status: int, body: Any, *headers: str) -> bytes:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} X", "Content-Type: application/json", f"Content-Length: {len(content)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + content


def answers(status: int, body: Any, *headers: str) -> Behaviour:
    """A whole answer."""
    return lambda _, connection: connection.sendall(raw(status, body, *headers))


def never(server: Faulty, connection: socket.socket) -> None:
    """Accepts, and says nothing."""
    server.over.wait(30.0)


def closes(server: Faulty, connection: socket.socket) -> None:
    """Takes the request, and closes."""
    connection.close()


def half(body: Any) -> Behaviour:
    """Half an answer."""

    def behave(_: Faulty, connection: socket.socket) -> None:
        whole = raw(200, body)
        connection.sendall(whole[: len(whole) - 5])
        connection.close()

    return behave


def drips(body: Any, *, headers: bool) -> Behaviour:
    """An answer byte by byte, for ever, as far as anybody waits for it."""

    def behave(server: Faulty, connection: socket.socket) -> None:
        whole = raw(200, json.dumps(body).encode() + b" " * 3_000, "X-Long: " + "x" * 3_000)
        start = 0 if headers else whole.index(b"\r\n\r\n") + 4
        connection.sendall(whole[:start])
        for byte in whole[start:]:
            if server.over.wait(0.02):
                return
            connection.sendall(bytes([byte]))

    return behave


def nobody() -> str:
    """An address where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return f"http://127.0.0.1:{taken.getsockname()[1]}"
