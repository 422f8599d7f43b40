"""The hot path: lists and single events are answered as soon as they have been read, without a task for each.

uvicorn makes a task, an event and several objects for each request, which costs as much as all the rest. So requests
to `rank` and `events` whose answer is in memory are answered by the protocol itself. Everything else (new keys,
batches, web pages, errors about keys, requests that wait behind others) goes through the application.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from rankloop.live import StoreError
from rankloop.live.events import FIELDS
from rankloop.service.dispatch import problem
from rankloop.service.event_requests import hear
from rankloop.service.handlers import ranked, read_event, read_rank
from rankloop.service.header_cache import Head
from rankloop.service.logs import tell_unusual
from rankloop.service.messages import encode
from rankloop.service.problems import ProblemDetails, senseless

if TYPE_CHECKING:
    from rankloop.service.app import App

LARGEST = 65_536
"""Bytes of a body that is answered here."""
LONGEST_LENGTH = 5
"""Digits of the length of such a body."""
RANK_END = b"/rank"
LARGEST_HEAD = 65_536
"""Bytes of a head that are read, after those that came with its beginning: the parser itself would take any number."""


class _Nobody:
    """Nobody waits for this."""

    @staticmethod
    def set() -> None:
        """Do nothing."""


class _Waiting:
    """Stands where uvicorn expects the request that is being answered, while an event waits for the disk."""

    __slots__ = ("disconnected", "keep_alive", "response_complete")
    message_event = _Nobody

    def __init__(self) -> None:
        self.disconnected, self.keep_alive, self.response_complete = False, True, False


class QuickProtocol(HttpToolsProtocol):
    """uvicorn's protocol with a shorter way for lists and events."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._quick: App = self.config.app  # type: ignore[assignment]
        self._hot = ""
        """What is asked for, where the request may be answered here: the route's name."""
        self._large = False
        self._between = True
        """Whether the parser is not in the middle of a request."""
        self._in_head = False
        """Whether it is in the middle of a request's head."""
        self._head_size = 0
        self._data = b""
        """What has come, if it began with a request."""
        self._loop_asked = ""
        self._body = b""
        self._waiting = _Waiting()
        self._reply = b""
        self._fate = ""
        self._begun = self._idle_since = 0.0
        self._id = self._id_given = b""

    # -- reading a request ---------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Answer a request whose head is known; let the parser read all others."""
        self._data = self._id_given = b""
        if self._between:
            found = self._quick.heads.find(data)
            if found is not None and self._is_free and self._answer(*found):
                return
            self._data = data
        was_in_head = self._in_head
        super().data_received(data)
        self._head_size = self._head_size + len(data) if was_in_head and self._in_head else 0
        if self._head_size > LARGEST_HEAD:
            self.transport.close() if not self._is_free else self.send_400_response("The head is too large.")

    @property
    def _is_free(self) -> bool:
        """Whether nothing is being answered, so that an answer may be written at once."""
        return (self.cycle is None or self.cycle.response_complete) and not self.flow.write_paused

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, but none that follows the body: it would count as if it had been checked with the others."""
        if not self._in_head:
            return
        super().on_header(name, value)
        if len(value) > LONGEST_LENGTH and name.lower() == b"content-length":
            self._large = True

    def on_message_begin(self) -> None:
        """Begin with another request."""
        super().on_message_begin()
        self._large = self._between = False
        self._in_head = True

    def on_headers_complete(self) -> None:
        """Decide which way a request goes."""
        self._in_head = False
        if self._large:
            super().on_headers_complete()
            return
        if self.parser.get_method() == b"POST" and not self.expect_100_continue and self._is_free:
            url = self.url
            if self.parser.should_keep_alive():
                if url == b"/v1/events":
                    self._hot, self._loop_asked = "events", ""
                elif url.endswith(RANK_END) and (found := self._quick.hot_loop(url)):
                    self._hot, self._loop_asked = "rank", found
        if self._hot:
            self._body = b""
        else:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of the body."""
        if not self._hot:
            super().on_body(body)
            return
        self._body += body
        if len(self._body) > LARGEST:
            self._hand_over()

    def on_message_complete(self) -> None:
        """Answer at once, or go the other way."""
        self._between = True
        if self._hot:
            head = self._read_head()
            if head is not None and self._answer(head, self._body):
                self._hot = ""
                if self._data and not self._id_given:
                    self._quick.heads.remember(self._data, head)
                return
            self._hand_over()
        super().on_message_complete()

    def _read_head(self) -> Head | None:
        """What the headers say; None if that is for the application."""
        key = ""
        self._id_given = b""
        for name, value in self.headers:
            if name == b"authorization":
                if key or value[:7].lower() != b"bearer ":
                    return None
                key = value[7:].decode("latin-1").strip()
            elif name in (b"origin", b"content-encoding", b"transfer-encoding"):
                return None
            elif name == b"x-request-id":
                self._id_given = self._quick.checked_id(value)
        return Head(self._hot, self._loop_asked, key, len(self._body)) if key else None  # type: ignore[arg-type]

    def _hand_over(self) -> None:
        """Let the application answer, as if nothing had happened."""
        self._hot = ""
        super().on_headers_complete()
        if self._body:
            super().on_body(self._body)

    # -- answering -----------------------------------------------------------------------------------------------

    def _answer(self, head: Head, body: bytes) -> bool:
        """Answer a request, or begin to wait for the disk; False if it must go the other way."""
        quick, service = self._quick, self._quick.service
        if not service.ready or service.leaving or service.limits.rate:
            return False
        self._begun = time.perf_counter()
        key = service.keys.find(head.key)
        if key is None or key.origins or not key.allows(head.route):
            return False
        self._id = self._id_given or quick.new_id()
        if head.route == "events":
            return self._take(body, key.loops or None)
        return key.sees(head.loop) and self._rank(head.loop, body)

    def _rank(self, loop: str, body: bytes) -> bool:
        service = self._quick.service
        try:
            asked = read_rank(body)
            part = service.only or service.find(loop, asked.key)
            if part is None:
                return False
            shown = part.prompt.rank(
                loop, asked.key, asked.items, user=asked.user, pinned=asked.pinned, deferred=asked.deferred
            )
        except Exception:  # which is told better there, and answered with production's list if it is a bug
            return False
        if shown is None:
            return False
        if shown.arm == "fallback":
            service.metrics.fallbacks[loop] += 1
        self.transport.write(self._whole(200, encode(ranked(shown))))
        service.metrics.observe("rank", 200, time.perf_counter() - self._begun)
        self.on_response_complete()
        return True

    def _take(self, body: bytes, loops: tuple[str, ...] | None) -> bool:
        service = self._quick.service
        try:
            given = read_event(body)
            part = service.only or service.find_id(given.get("impression"))
            if part is None or part.committer.waiting >= service.limits.requests:
                return False
            heard = hear(part, given, loops)
        except Exception:
            return False
        if heard is None:
            return False
        self._fate = heard.fate
        if heard.fate == "invalid":
            self._reply = self._problem(senseless(ValueError(heard.reason), FIELDS))
        else:
            self._reply = self._whole(200, encode(heard))
        self._waiting = _Waiting()  # requests that come meanwhile wait behind it, and take its place
        self.cycle = self._waiting  # type: ignore[assignment]
        service.requests += 1
        part.committer.when_durable(self._durable)
        return True

    def _durable(self, error: Exception | None) -> None:
        """The event has been written for good, or could not be."""
        service, waiting = self._quick.service, self._waiting
        service.requests -= 1
        waiting.response_complete = True
        status = 422 if self._fate == "invalid" else 200
        if error is not None:
            status = 503
            told = f"{error}: send it again" if isinstance(error, StoreError) else "the event could not be written"
            self._reply = self._problem(ProblemDetails(503, told, retry_after=1))
        else:
            service.metrics.fates[self._fate] += 1
        seconds = time.perf_counter() - self._begun
        service.metrics.observe("events", status, seconds)
        tell_unusual(service.limits.slow, "events", status, seconds, self._id)
        if waiting.disconnected or self.transport.is_closing():
            return
        self.transport.write(self._reply)
        if not waiting.keep_alive:
            self.transport.close()
        self.on_response_complete()

    def _problem(self, error: ProblemDetails) -> bytes:
        reply = problem(error, self._id.decode())
        return self._whole(reply.status, reply.body, reply.media, reply.headers)

    def _whole(self, status: int, body: bytes, media: bytes = b"application/json", more: Any = ()) -> bytes:
        head = b"%bcontent-type: %b\r\ncontent-length: %d\r\nx-request-id: %b\r\n%b" % (
            STATUS_LINE[status], media, len(body), self._id, self._quick.security,
        )  # fmt: skip
        for name, value in more:
            head += name + b": " + value + b"\r\n"
        return head + b"\r\n" + body

    # -- keeping connections -------------------------------------------------------------------------------------

    # uvicorn sets a timer after each answer and cancels it with the next request. Here each connection has one timer,
    # which looks how long nothing has come; from the beginning, so that nobody holds connections and asks for nothing.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody has come."""
        super().connection_made(transport)
        self._idle_since = self.loop.time()
        self._set_timer(self.timeout_keep_alive)

    def on_response_complete(self) -> None:
        """Go on with the next request, if it is there already."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            cycle, app = self.pipeline.pop()
            self._start_asgi_task(cycle, app)
            return
        self._idle_since = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._set_timer(self.timeout_keep_alive)

    def _set_timer(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

    def _unset_keepalive_if_required(self) -> None:
        """Leave the timer as it is: it looks for itself."""

    def timeout_keep_alive_handler(self) -> None:
        """Close the connection if nothing has come for long."""
        self.timeout_keep_alive_task = None
        if self.transport.is_closing():
            return
        left = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if self.cycle is not None and not self.cycle.response_complete:
            left = self.timeout_keep_alive
        if left > 0:
            self._set_timer(left)
        else:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has gone."""
        super().connection_lost(exc)
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()
            self.timeout_keep_alive_task = None
