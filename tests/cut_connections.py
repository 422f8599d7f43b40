"""Proxies that cut a connection at a chosen moment, or swallow all they are sent: to PostgreSQL, or between workers."""

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

    HOST = "127.0.0.1"

    def __init__(self, server: Path | None) -> None:
        self._server = server
        self._listener = socket.create_server((self.HOST, 0))
        self.port = self._listener.getsockname()[1]
        self._clients: set[socket.socket] = set()
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

    def cut_all(self) -> int:
        """Cut all connections that there are; how many."""
        clients = list(self._clients)
        for client in clients:
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
        return len(clients)

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

    def _connect(self, client: socket.socket) -> socket.socket:  # noqa: ARG002 - the detour looks at it
        """A connection to where a client wants to go."""
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(str(self._server))
        except OSError:
            server.close()
            raise
        return server

    def _serve(self, client: socket.socket) -> None:
        self._clients.add(client)
        try:
            self._pass_on(client)
        finally:
            self._clients.discard(client)

    def _pass_on(self, client: socket.socket) -> None:
        with suppress(OSError), client, self._connect(client) as server:  # until one of them has gone
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


class Detour(Proxy):
    """A proxy before every port of this machine: connections to 127.a.b.2 go to port 256 a + b of 127.0.0.1."""

    HOST = "0.0.0.0"  # all of 127.0.0.0/8 is this machine

    def __init__(self) -> None:
        super().__init__(None)

    def _connect(self, client: socket.socket) -> socket.socket:
        if not client.getpeername()[0].startswith("127."):
            raise OSError("only this machine may take the detour")
        _, high, low, _ = map(int, client.getsockname()[0].split("."))
        return socket.create_connection(("127.0.0.1", 256 * high + low))


DETOUR = """
CREATE OR REPLACE FUNCTION rankloop.detour() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE port integer := split_part(NEW.address, ':', 2)::integer;
BEGIN
    NEW.address := format('127.%%s.%%s.2:%%s', port / 256, port %% 256, {port});
    RETURN NEW;
END $$;
CREATE TRIGGER detour BEFORE INSERT ON rankloop.workers FOR EACH ROW EXECUTE FUNCTION rankloop.detour()
"""
"""What lets workers reach each other by way of a detour: the address that each gives is changed on its way in."""
