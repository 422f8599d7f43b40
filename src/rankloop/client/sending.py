"""Requests over httpx, each of which ends in time.

httpx limits how long each read and write may take, not how long all of them may take together: an answer that comes
byte by byte would hold a page up for ever. Under asyncio a timeout ends whatever a request does. A thread can only be
interrupted between two waits, so there each wait gets what is left of the time.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import time
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from socket import IPPROTO_TCP, getaddrinfo
from typing import Any

import httpcore
import httpx

from rankloop.client.attempts import Answer, Sending
from rankloop.client.errors import ServiceAway

LIMITS = httpx.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=20.0)
"""Connections; unused ones are closed sooner than servers and proxies use to do it."""
AT_ONCE = 65_536
"""Bytes that are written before the clock is looked at again."""

_end: ContextVar[float] = ContextVar("end", default=float("inf"))
"""Time at which the request of this thread must be over."""


def _left(late: type[Exception]) -> float:
    left = _end.get() - time.monotonic()
    if left <= 0:
        raise late("the time is over")
    return min(left, 3600.0)


class _Stream(httpcore.NetworkStream):
    """A connection whose every wait ends when the request's time is over."""

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        return self._stream.read(max_bytes, _left(httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        for start in range(0, len(buffer), AT_ONCE):
            self._stream.write(buffer[start : start + AT_ONCE], _left(httpcore.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore.NetworkStream:
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, _left(httpcore.ConnectTimeout)))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _Network(httpcore.NetworkBackend):
    """Connections that end in time, however many addresses a name has."""

    def __init__(self) -> None:
        self._network = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        try:
            found = dict.fromkeys(str(each[4][0]) for each in getaddrinfo(host, port, proto=IPPROTO_TCP))
        except OSError as error:
            raise httpcore.ConnectError(str(error)) from None
        failure: Exception = httpcore.ConnectError(f"{host} has no address")
        for address in found:
            try:
                left = _left(httpcore.ConnectTimeout)
                return _Stream(self._network.connect_tcp(address, port, left, local_address, socket_options))
            except httpcore.ConnectError as error:
                failure = error
        raise failure


class _Body(httpx.SyncByteStream):
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        yield from self._stream

    def close(self) -> None:
        self._stream.close()


class _Transport(httpx.BaseTransport):
    """httpx on such connections."""

    def __init__(self, verify: ssl.SSLContext) -> None:
        self._pool = httpcore.ConnectionPool(
            ssl_context=verify,
            max_connections=LIMITS.max_connections,
            max_keepalive_connections=LIMITS.max_keepalive_connections,
            keepalive_expiry=LIMITS.keepalive_expiry,
            network_backend=_Network(),
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        answer = self._pool.handle_request(
            httpcore.Request(
                request.method,
                httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        return httpx.Response(answer.status, headers=answer.headers, stream=_Body(answer.stream))

    def close(self) -> None:
        self._pool.close()


def _address(url: str, key: str) -> dict[str, Any]:
    return {"base_url": url, "headers": {"Authorization": f"Bearer {key}", "User-Agent": "rankloop"}}


class Sender:
    """Sends from threads."""

    def __init__(self, url: str, key: str, verify: ssl.SSLContext | None) -> None:
        self._http = httpx.Client(transport=_Transport(verify or httpx.create_ssl_context()), **_address(url, key))

    def send(self, asked: Sending) -> Answer:
        """The answer to a request; ServiceAway if none comes in time."""
        told = _end.set(time.monotonic() + asked.seconds)
        try:
            return _answer(self._http.request(timeout=httpx.Timeout(None, pool=asked.seconds), **_request(asked)))
        except _FAILURES as error:
            raise _away(error, asked) from None
        finally:
            _end.reset(told)

    def close(self) -> None:
        """Let go of all connections."""
        self._http.close()


class AsyncSender:
    """Sends from tasks."""

    def __init__(self, url: str, key: str, verify: ssl.SSLContext | None) -> None:
        self._http = httpx.AsyncClient(
            verify=verify or httpx.create_ssl_context(), limits=LIMITS, trust_env=False,
            **_address(url, key),
        )  # fmt: skip

    async def send(self, asked: Sending) -> Answer:
        """The answer to a request; ServiceAway if none comes in time."""
        try:
            async with asyncio.timeout(asked.seconds):
                # a handshake that is cancelled leaves its connection open, one that is late closes it
                connecting = httpx.Timeout(None, connect=0.9 * asked.seconds)
                return _answer(await self._http.request(timeout=connecting, **_request(asked)))
        except _FAILURES as error:
            raise _away(error, asked) from None

    async def close(self) -> None:
        """Let go of all connections."""
        with contextlib.suppress(RuntimeError):  # of an event loop that is over
            await self._http.aclose()


_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
_NOT_SENT += (httpcore.ConnectError, httpcore.ConnectTimeout, httpcore.PoolTimeout)  # type: ignore[assignment]
_LATE = (TimeoutError, httpx.TimeoutException, httpcore.TimeoutException)
_OTHER = (httpx.HTTPError, httpx.InvalidURL, httpcore.NetworkError, httpcore.ProtocolError, OSError)
_FAILURES = (*_LATE, *_OTHER)


def _away(error: Exception, asked: Sending) -> ServiceAway:
    """What to say where no answer has come."""
    undone = isinstance(error, _NOT_SENT)
    if isinstance(error, _LATE):
        told = f"the service did not answer within {asked.seconds:.3g} s"
    else:
        told = f"the service cannot be reached ({str(error) or type(error).__name__})"
    return ServiceAway(told, undone=undone)


def _answer(response: httpx.Response) -> Answer:
    return Answer(response.status_code, response.content, response.headers.get("retry-after", ""))


def _request(asked: Sending) -> dict[str, Any]:
    media = {} if asked.body is None else {"Content-Type": "application/json"}
    return {"method": asked.method, "url": asked.path, "content": asked.body, "headers": media}
