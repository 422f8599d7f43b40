"""Connections to PostgreSQL that do not wait for ever, and how they are spoken of."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import psycopg

PATIENCE = 5.0
"""Seconds to wait for a connection and for an answer, unless the address has a `connect_timeout`."""
PATIENCE_AT_WORK = 600.0
"""Seconds to wait for an answer to what may take long, such as a change of tables."""


class ServerSilent(psycopg.OperationalError):
    """The server has not answered for too long."""


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that does not wait for ever: neither for a server that hangs nor for bytes that a network swallows.

    Time is measured while nothing comes only, so that a wait with an answer costs no more than before.
    """

    patience = PATIENCE
    """Seconds without a byte from the server."""

    def wait(self, gen: Generator[Any, Any, Any], *args: Any, **kwargs: Any) -> Any:
        """Run what waits for the server."""
        try:
            return super().wait(_limited(gen, self.patience), *args, **kwargs)
        except ServerSilent:
            self.pgconn.finish()  # what it was doing may still happen: nobody can go on from here
            raise


def _limited(gen: Generator[Any, Any, Any], patience: float) -> Generator[Any, Any, Any]:
    until = 0.0
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if ready:
                until = 0.0
            elif not until:
                until = time.monotonic() + patience
            elif time.monotonic() > until:
                raise ServerSilent(f"nothing has come from it for {patience:g} s")
            wanted = gen.send(ready)
    except StopIteration as end:
        return end.value


@contextmanager
def at_work(connection: Connection, patience: float) -> Iterator[None]:
    """More time for an answer than others get."""
    before, connection.patience = connection.patience, patience
    try:
        yield
    finally:
        connection.patience = before


def seconds_of(timeout: Any) -> float:
    """What a `connect_timeout` means: at least 2 seconds, and 0 for as long as it takes."""
    try:
        seconds = float(timeout)
    except ValueError:
        raise ValueError(f"connect_timeout in the address must be a number of seconds, not {timeout!r}") from None
    return max(2.0, seconds) if seconds > 0 else float("inf")


def name_of(given: Mapping[str, Any]) -> str:
    """An address without its password."""
    user = f"{given['user']}@" if given.get("user") else ""
    host = str(given.get("host") or given.get("hostaddr") or "")
    port = f":{given['port']}" if given.get("port") else ""
    return f"postgresql://{user}{host}{port}/{given.get('dbname') or ''}"


def sentence(error: psycopg.Error) -> str:
    """What went wrong, in one line."""
    return error.diag.message_primary or " ".join(str(error).split()) or type(error).__name__
