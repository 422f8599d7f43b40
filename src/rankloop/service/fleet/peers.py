"""Connections between workers: one to each peer that is asked, on which many questions wait for their answers."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from contextlib import suppress
from ipaddress import ip_address
from typing import Any

from rankloop.live import StoreError
from rankloop.live.directory import Worker
from rankloop.service.fleet.frames import Answer, Forward, Framed, Question, Told, encode, read_answer, read_asked
from rankloop.service.logs import logger

SECONDS_TO_CONNECT = 1.0
MOST_WAITING = 10_000
"""Questions to one peer that wait for an answer."""
SECONDS_FOR_LATE_ANSWERS = 30.0
"""How long a connection on which nothing came is kept for answers that still come."""

Asked = Forward | Question
Answered = Answer | Told
Late = Callable[[Answered], None]


class PeerLost(Exception):
    """A worker cannot be reached, or has gone before it answered."""


def cannot_reach(one: Worker, other: Worker) -> bool:
    """Whether the address of another worker is one that only its own machine has, and one worker is elsewhere.

    >>> here, there = Worker("1", "a:8000/0", "10.0.0.1:9000"), Worker("2", "b:8000/0", "127.0.0.1:9000")
    >>> cannot_reach(here, there), cannot_reach(there, here), cannot_reach(there, there._replace(name="b:8001/0"))
    (True, False, False)
    """
    host = other.address.rpartition(":")[0].strip("[]")
    try:
        loopback = ip_address(host).is_loopback
    except ValueError:
        loopback = host == "localhost"
    return loopback and one.host != other.host


class _Asking(Framed):
    """The side that asks."""

    def __init__(self, secret: bytes) -> None:
        super().__init__(secret, b"asks")
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting: dict[int, asyncio.Future[Answered] | Late] = {}
        self.lost = False
        self.heard = asyncio.get_running_loop().time()
        """When something last came."""

    def begun(self) -> None:
        if not self.ready.done():
            self.ready.set_result(None)

    def message(self, message: bytes) -> None:
        self.heard = asyncio.get_running_loop().time()
        answer = read_answer(message)
        waiter = self.waiting.pop(answer.number, None)
        if isinstance(waiter, asyncio.Future):
            if not waiter.done():
                waiter.set_result(answer)
        elif waiter is not None:
            waiter(answer)

    def connection_lost(self, _: Exception | None) -> None:
        self.lost = True
        waiting, self.waiting = self.waiting, {}
        for waiter in (self.ready, *waiting.values()):
            if isinstance(waiter, asyncio.Future) and not waiter.done():
                waiter.set_exception(PeerLost("the worker has gone"))
        with suppress(asyncio.CancelledError, PeerLost, asyncio.InvalidStateError):
            self.ready.exception()  # nobody may have been waiting


class Peer:
    """Another worker.

    Parameters
    ----------
    address
        Where it listens, `host:port`.
    secret
        What all workers know.
    """

    def __init__(self, address: str, secret: bytes) -> None:
        self.address, self._secret = address, secret
        self._numbers = itertools.count(1)
        self._link: _Asking | None = None
        self._connecting: asyncio.Task[_Asking] | None = None

    async def ask(self, make: Callable[[int], Asked], seconds: float, late: Late = lambda _: None) -> Answered:
        """What it answers; TimeoutError if that takes too long, and `late` is then called with what still comes."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        link = self._link
        if link is None or link.lost:
            link = await self._connected(seconds)
        if len(link.waiting) >= MOST_WAITING:
            raise PeerLost(f"{MOST_WAITING:,} questions to the worker wait already")
        number = next(self._numbers)
        future: asyncio.Future[Answered] = loop.create_future()
        link.waiting[number] = future
        link.write(encode(make(number)))
        timer = loop.call_at(until, self._end, link, number, future, late, loop.time())
        try:
            return await future
        except asyncio.CancelledError:
            if number in link.waiting:
                link.waiting[number] = late
            raise
        finally:
            timer.cancel()

    def _end(self, link: _Asking, number: int, future: asyncio.Future[Answered], late: Late, asked_at: float) -> None:
        """Wait no longer; and if nothing at all has come meanwhile, ask on another connection from now on."""
        if not future.done():
            link.waiting[number] = late
            future.set_exception(TimeoutError())
        if link is self._link and link.heard < asked_at:  # what lies between may have forgotten it, and tell nobody
            self._link = None
            asyncio.get_running_loop().call_later(SECONDS_FOR_LATE_ANSWERS, link.transport.abort)

    async def _connected(self, seconds: float) -> _Asking:
        if self._connecting is None:
            self._connecting = asyncio.create_task(self._connect())
            self._connecting.add_done_callback(self._connection_made)
        connecting = self._connecting
        await asyncio.wait((connecting,), timeout=seconds)
        if not connecting.done():
            raise TimeoutError
        if connecting.cancelled():
            raise PeerLost("the worker has gone")
        return connecting.result()

    def _connection_made(self, task: asyncio.Task[_Asking]) -> None:
        self._connecting = None
        if not task.cancelled() and task.exception() is None:
            self._link = task.result()

    async def _connect(self) -> _Asking:
        host, _, port = self.address.rpartition(":")
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(SECONDS_TO_CONNECT):
                _, link = await loop.create_connection(lambda: _Asking(self._secret), host.strip("[]"), int(port))
                await link.ready
        except (OSError, TimeoutError, ValueError) as error:
            raise PeerLost(
                f"the worker at {self.address} cannot be reached ({error or type(error).__name__})"
            ) from None
        return link

    def close(self) -> None:
        """Let go of the connection."""
        if self._connecting is not None:
            self._connecting.cancel()
        if self._link is not None:
            self._link.transport.close()


class _Answering(Framed):
    """The side that answers."""

    def __init__(self, secret: bytes, answer: Callable[[Asked], Awaitable[Answered]], links: set[Any]) -> None:
        super().__init__(secret, b"answers")
        self._answer, self._links = answer, links
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._links.add(self)

    def connection_lost(self, _: Exception | None) -> None:
        self._links.discard(self)

    def message(self, message: bytes) -> None:
        if len(self._tasks) > MOST_WAITING:
            self.transport.abort()
            return
        task = asyncio.create_task(self._work(read_asked(message)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _work(self, asked: Asked) -> None:
        try:
            answer = await self._answer(asked)
        except Exception as error:
            logger.exception("a question of another worker failed")
            answer = Told(asked.number, None, f"{type(error).__name__}: {error}")
        if not self.transport.is_closing():
            self.write(encode(answer))


class Listening:
    """Where other workers ask this one.

    Parameters
    ----------
    secret
        What all workers know.
    answer
        What answers.
    """

    def __init__(self, secret: bytes, answer: Callable[[Asked], Awaitable[Answered]]) -> None:
        self._secret, self._answer = secret, answer
        self._links: set[_Answering] = set()
        self._server: asyncio.Server | None = None

    async def open(self, host: str, port: int = 0) -> str:
        """Listen, on any port that is free if none is given; the address."""
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(
                lambda: _Answering(self._secret, self._answer, self._links), host, port, backlog=256
            )
        except OSError as error:
            where = f"{host} port {port}" if port else host
            told = f"cannot listen to other workers on {where} ({error.strerror or error})"
            raise StoreError(f"{told}: choose another address with --peer-host or --peer-port") from None
        port = self._server.sockets[0].getsockname()[1]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def close(self) -> None:
        """Stop listening, and end all connections."""
        if self._server is not None:
            self._server.close()
        for link in list(self._links):
            link.transport.close()
