"""A proxy in front of a PostgreSQL server that cuts a connection at a chosen moment."""

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
        self.messages = 0
        """Number of pieces that clients have sent."""
        self._cut_at: int | None = None
        self._deliver = False
        threading.Thread(target=self._listen, daemon=True).start()

    def cut(self, after: int, *, deliver: bool) -> None:
        """Cut the connection at a piece from now on; with `deliver` the server gets it, and its answer is lost."""
        self._deliver, self._cut_at = deliver, self.messages + after

    @property
    def armed(self) -> bool:
        """Whether a connection is still to be cut."""
        return self._cut_at is not None

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
        with client, socket.socket(socket.AF_UNIX) as server:
            server.connect(str(self._server))
            while True:
                readable, _, _ = select.select([client, server], [], [])
                if server in readable:
                    data = server.recv(65536)
                    if not data:
                        return
                    client.sendall(data)
                if client in readable:
                    data = client.recv(65536)
                    if not data:
                        return
                    self.messages += 1
                    if self._cut_at is not None and self.messages >= self._cut_at:
                        self._cut_at = None
                        if self._deliver:
                            server.sendall(data)
                            server.settimeout(SECONDS_FOR_AN_ANSWER)
                            with suppress(TimeoutError):  # if the server waits for more
                                server.recv(65536)
                        return
                    server.sendall(data)
