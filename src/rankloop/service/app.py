"""The ASGI application: finds the route, checks the key and the limits, and answers.

There is no framework underneath: with two routes that carry nearly all traffic and twenty that are rare, a table and
msgspec do all that is needed, at about half of the cost of Starlette per request.
"""

from __future__ import annotations

import asyncio
import itertools
import re
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import msgspec

from rankloop.live import StoreError
from rankloop.service.dispatch import answer, told
from rankloop.service.header_cache import Heads
from rankloop.service.keys import Key
from rankloop.service.logs import logger, tell_unusual
from rankloop.service.openapi import document
from rankloop.service.problems import ProblemDetails
from rankloop.service.request import Reply, Request, no_loop, read_query
from rankloop.service.routes import ROUTES, Route, Router
from rankloop.service.service import Service

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

SECURITY = [
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
]
"""Headers of every answer that does not bring its own of that name."""
PREFLIGHT = [
    (b"access-control-allow-methods", b"POST"),
    (b"access-control-allow-headers", b"authorization, content-type"),
    (b"access-control-max-age", b"600"),
]
LARGEST_ENVELOPE = 65_536
"""Bytes of a body with its key inside, which is read before anybody knows whose it is: browsers send no larger ones."""
SECONDS_FOR_A_BODY = 10.0
TOO_MANY_REQUESTS = "too many requests are being answered"

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")


class Envelope(msgspec.Struct):
    """A body with its key, as `navigator.sendBeacon` must send it: it cannot set headers."""

    key: str
    events: msgspec.Raw


_read_envelope = msgspec.json.Decoder(Envelope).decode


class App:
    """The service as an ASGI application.

    Parameters
    ----------
    service
        What it answers from.
    on_failure
        Called if the store cannot be opened.
    patient
        Whether to take no connections before it is ready: where others take them meanwhile.
    """

    def __init__(
        self, service: Service, on_failure: Callable[[], None] = lambda: None, *, patient: bool = False
    ) -> None:
        self._patient = patient
        self.service = service
        service.description = msgspec.json.encode(document())
        self._on_failure = on_failure
        self._router = Router(ROUTES)
        self.heads = Heads()
        self._numbers = itertools.count(1)
        self._opening: asyncio.Task[None] | None = None
        self.security = b"".join(name + b": " + value + b"\r\n" for name, value in SECURITY)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or begin and end."""
        if scope["type"] == "http":
            await self._answer(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._live_and_die(receive, send)
        else:
            raise RuntimeError(f"there is nothing here for {scope['type']}")

    async def _live_and_die(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self._opening = asyncio.get_running_loop().create_task(self._open())
                if self._patient:
                    await self._opening
                await send({"type": "lifespan.startup.complete"})
            else:
                if self._opening is not None:
                    await self._opening
                await self.service.close()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _open(self) -> None:
        try:
            await self.service.open()
        except Exception as error:
            expected = isinstance(error, StoreError | ValueError)
            logger.error("the service could not be opened: %s", error, exc_info=None if expected else error)
            self._on_failure()

    def new_id(self) -> bytes:
        """An id for a request that has none."""
        return f"{self.service.process}-{next(self._numbers):x}".encode()

    def checked_id(self, given: bytes) -> bytes:
        """The id that a client gives a request, if it can stand in logs and headers."""
        return given if _REQUEST_ID.fullmatch(given) else b""

    def hot_loop(self, path: bytes) -> str:
        """The loop of a path to `rank`, if the path is one."""
        methods, parameters = self._router.find(path)
        route = methods.get("POST")
        return parameters["loop"] if route is not None and route.name == "rank" else ""

    # -- one request ---------------------------------------------------------------------------------------------

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        service = self.service
        begun = time.perf_counter()
        authorization = origin = length = None
        id_ = b""
        foreign = False
        for name, value in scope["headers"]:
            if name == b"authorization":
                authorization = value if authorization is None else b""  # whoever stands in between may see the other
            elif name == b"content-length":
                length = value
            elif name == b"origin":
                origin = value if origin is None else b""
            elif name == b"x-request-id":
                id_ = self.checked_id(value)
            elif name == b"sec-fetch-site":
                foreign = value == b"cross-site"
        id_ = id_ or self.new_id()
        label = "none"
        cors: list[tuple[bytes, bytes]] = []
        try:
            methods, parameters = self._router.find(scope["raw_path"])
            route = methods.get(scope["method"])
            if route is None:
                reply = self._no_route(scope, methods, origin)
            else:
                label = route.name
                if service.read_only and route.method != "GET":
                    told_why = (
                        "this server only shows a store: change it with `rankloop serve`, or `rankloop live revert`"
                    )
                    raise ProblemDetails(405, told_why, headers=[(b"allow", b"GET")])
                if foreign and route.method != "GET" and not route.browser:
                    raise ProblemDetails(
                        403, "pages of other sites may not do this: send it from a program of your own"
                    )
                if route.browser and origin is not None:
                    cors = self._cors(origin)
                reply = await self._handle(route, parameters, scope, receive, authorization, origin, length, id_)
        except Exception as error:
            if isinstance(error, ProblemDetails) and error.status == 429:
                service.metrics.refused["rate"] += 1
            reply = told(error, id_.decode(), label)
        body = reply.body
        own = {name for name, _ in reply.headers}
        headers = [
            (b"content-type", reply.media),
            (b"content-length", str(len(body)).encode()),
            (b"x-request-id", id_),
            *(header for header in SECURITY if header[0] not in own),
            *cors,
            *reply.headers,
        ]
        if service.leaving:
            headers.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})
        seconds = time.perf_counter() - begun
        service.metrics.observe(label, reply.status, seconds)
        tell_unusual(service.limits.slow, label, reply.status, seconds, id_)

    async def _handle(
        self,
        route: Route,
        parameters: dict[str, str],
        scope: Scope,
        receive: Receive,
        authorization: bytes | None,
        origin: bytes | None,
        length: bytes | None,
        id_: bytes,
    ) -> Reply:
        service, key = self.service, None
        if route.role is None:  # health above all: a busy process must not be taken for a dead one
            return await route.handler(service, Request(parameters, b"", None, id_.decode()))
        if not service.ready:
            why = "the service is ending: send again" if service.draining else "the service is still loading"
            raise ProblemDetails(503, why, retry_after=1)
        busy = service.requests >= service.limits.requests
        if busy and route.fall_back is None:
            service.metrics.refused["busy"] += 1
            raise ProblemDetails(503, f"{TOO_MANY_REQUESTS}: send again in a moment", retry_after=1)
        address = (scope.get("client") or ("",))[0]
        if authorization is not None:
            key = self._key(authorization, address)
            self._check(key, route, parameters, origin, address)
        elif not route.browser:
            raise self._no_key("send the header `Authorization: Bearer KEY`", address)
        if route.query:
            parameters = {**parameters, **read_query(scope["query_string"], route.query)}
        most = service.limits.body if key is not None else min(service.limits.body, LARGEST_ENVELOPE)
        body = await self._body(receive, length, most) if scope["method"] != "GET" else b""
        if key is None:
            key, body = self._open_envelope(body, address)
            self._check(key, route, parameters, origin, address)
        request = Request(parameters, body, key, id_.decode())
        if busy and route.fall_back is not None:
            return route.fall_back(service, request, TOO_MANY_REQUESTS)
        service.requests += 1  # only now: who has no key, or sends slowly, must not make the service busy
        try:
            return await answer(service, route, request)
        finally:
            service.requests -= 1

    def _check(self, key: Key, route: Route, parameters: dict[str, str], origin: bytes | None, address: str) -> None:
        """Refuse what a key may not do."""
        assert route.role is not None
        if not key.allows(route.role):
            raise ProblemDetails(
                403, f"a key of role {key.role} may not do this: it takes one of role {route.role} or admin"
            )
        loop = parameters.get("loop")
        if loop is not None and not key.sees(loop):
            raise no_loop(loop)
        if key.origins:
            if origin is None or origin.decode("latin-1").lower() not in key.origins:
                raise ProblemDetails(403, "this key is for web pages of other origins", field="Origin")
            self.service.browser_rates.check(address, "an address")
        else:
            self.service.rates.check(key.id, "a key")

    def _key(self, authorization: bytes, address: str) -> Key:
        scheme, _, text = authorization.decode("latin-1").partition(" ")
        if scheme.lower() != "bearer" or not text:
            raise self._no_key("the header must be there once, and read `Authorization: Bearer KEY`", address)
        key = self.service.keys.find(text.strip())
        if key is None:
            raise self._no_key("this key is not known here, has expired or was revoked", address)
        return key

    def _no_key(self, why: str, address: str) -> ProblemDetails:
        """Refuse somebody without a key; and, if that happens often, without looking at what they send next."""
        guesses = self.service.guesses
        wait = guesses.wait(address)
        self.service.metrics.refused["key"] += 1
        if wait:
            return ProblemDetails(429, "too many requests without a valid key: wait", retry_after=int(wait) + 1)
        return ProblemDetails(401, why, headers=[(b"www-authenticate", b'Bearer realm="rankloop"')])

    def _open_envelope(self, body: bytes, address: str) -> tuple[Key, bytes]:
        try:
            envelope = _read_envelope(body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise self._no_key("send the header `Authorization: Bearer KEY`", address) from None
        key = self.service.keys.find(envelope.key)
        if key is None:
            raise self._no_key("this key is not known here, has expired or was revoked", address)
        if not key.origins:
            raise ProblemDetails(
                403, "only a browser's key may stand in the body: send others as `Authorization: Bearer KEY`"
            )
        return key, bytes(envelope.events)

    async def _body(self, receive: Receive, length: bytes | None, most: int) -> bytes:
        if length is not None and len(length) < 20 and length.isdigit() and int(length) > most:
            raise self._too_large(most)
        parts: list[bytes] = []
        size, more = 0, True
        try:
            async with asyncio.timeout(SECONDS_FOR_A_BODY):
                while more:
                    message = await receive()
                    parts.append(message.get("body", b""))
                    size, more = size + len(parts[-1]), message.get("more_body", False)
                    if size > most:
                        raise self._too_large(most)
        except TimeoutError:
            close = [(b"connection", b"close")]
            raise ProblemDetails(408, "the body did not come in time: send it again", headers=close) from None
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _too_large(self, most: int) -> ProblemDetails:
        told = f"a request has at most {most:,} bytes here: send events or items in parts"
        return ProblemDetails(413, told, headers=[(b"connection", b"close")])

    def _no_route(self, scope: Scope, methods: dict[str, Route], origin: bytes | None) -> Reply:
        if not methods:
            raise ProblemDetails(404, "there is no such path: GET /openapi.json lists them")
        if scope["method"] == "OPTIONS" and origin is not None and any(route.browser for route in methods.values()):
            allowed = self._cors(origin)
            return Reply(204, b"", headers=[*allowed, *PREFLIGHT] if allowed else [])
        allow = ", ".join(sorted(methods))
        raise ProblemDetails(405, f"this path takes {allow}", headers=[(b"allow", allow.encode())])

    def _cors(self, origin: bytes) -> list[tuple[bytes, bytes]]:
        """What lets a web page read the answer, if some browser key is for its origin."""
        if not self.service.ready or origin.decode("latin-1").lower() not in self.service.keys.origins:
            return []
        return [(b"access-control-allow-origin", origin), (b"vary", b"origin")]
