"""A proxy in front of a PostgreSQL server that cuts a connection at a chosen moment, or swallows what it is sent."""

from __future__ import annotations

import select
import socket
import threading
from contextlib import suppress
from pathlib import Path

SECONDS_FOR_AN_ANSWER = 0.3


class Proxy:
    """Passes everything on, until it is told to cut the connection.

    Parameters
    ----------
    server
        Path of the server's socket.
    """

    def __init__(self, server: Path) -> None:
        self._server = server
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._pieces = 0
        self._text = b""
        self._deliver = False
        self._swallows = False
        threading.Thread(target=self._listen, daemon=True).start()

    def cut(self, *, pieces: int = 1, text: bytes = b"", deliver: bool) -> None:
        """Cut the connection when a client has sent so many pieces that hold a text.

        With `deliver` the server gets the last one, and its answer is lost.
        """
        self._text, self._deliver, self._pieces = text, deliver, pieces

    def stop_cutting(self) -> bool:
        """Cut nothing more; whether all cuts have been made."""
        left, self._pieces = self._pieces, 0
        return not left

    def swallow(self, swallows: bool) -> None:
        """Pass nothing on any more, and leave all connections open; or serve those that are made from now on."""
        self._swallows = swallows

    def close(self) -> None:
        """Take no more connections."""
        self._listener.close()

    def _listen(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError), client, socket.socket(socket.AF_UNIX) as server:  # until one of them has gone
            server.connect(str(self._server))
            swallows = self._swallows
            while True:
                readable, _, _ = select.select([client, server], [], [])
                swallows = swallows or self._swallows  # for good: bytes are missing
                if swallows:
                    if not all(end.recv(65536) for end in readable):
                        return
                    continue
                if server in readable:
                    data = server.recv(65536)
                    if not data:
                        return
                    client.sendall(data)
                if client in readable:
                    data = client.recv(65536)
                    if not data:
                        return
                    if self._pieces and self._text in data:
                        self._pieces -= 1
                        if self._pieces:
                            server.sendall(data)
                            continue
                        if self._deliver:
                            server.sendall(data)
                            server.settimeout(SECONDS_FOR_AN_ANSWER)
                            with suppress(TimeoutError):  # if the server waits for more
                                server.recv(65536)
                        return
                    server.sendall(data)
