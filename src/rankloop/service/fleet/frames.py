"""What workers say to each other: small messages in MessagePack, each behind its length, on connections that are kept.

Before anything else both sides prove that they know the store's secret. Nothing is decoded but plain data of the shapes
below, and nothing that is larger than it may be.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from typing import Any

import msgspec
from msgspec import Struct

LARGEST = 64_000_000
"""Bytes of a message: the largest body of a request, and what a partition has counted for many loops, are less."""
LARGEST_BEFORE = 256
"""Bytes of a message of somebody who has not proven anything yet."""
NONCE = 32
SECONDS_TO_PROVE = 5.0


class Forward(Struct, array_like=True, tag="f", frozen=True):
    """A request whose key has been checked, for a partition of the worker that gets it."""

    number: int
    route: str
    parameters: dict[str, str]
    body: bytes
    loops: list[str]
    """Loops that its key is for; none for all."""
    id: str


class Question(Struct, array_like=True, tag="q", frozen=True):
    """Something that a worker wants to know, or to be done."""

    number: int
    what: str
    arguments: list[Any]


class Answer(Struct, array_like=True, tag="a", frozen=True):
    """The answer to a request; status 0 says that the worker does not own the partition."""

    number: int
    status: int
    body: bytes = b""
    media: bytes = b""
    headers: list[tuple[bytes, bytes]] = []


class Told(Struct, array_like=True, tag="t", frozen=True):
    """The answer to a question, or why there is none."""

    number: int
    value: Any
    error: str = ""


encode = msgspec.msgpack.Encoder().encode
read_asked = msgspec.msgpack.Decoder(Forward | Question).decode
read_answer = msgspec.msgpack.Decoder(Answer | Told).decode


def peer_secret(secret: bytes) -> bytes:
    """The secret that workers share, made from that of the store.

    >>> peer_secret(b"secret") == peer_secret(b"secret") != peer_secret(b"other")
    True
    """
    return hashlib.blake2b(b"workers", key=secret[:64], digest_size=32).digest()


def proof(secret: bytes, side: bytes, theirs: bytes, mine: bytes) -> bytes:
    """What only somebody can write who knows the secret, for these two random numbers and this side."""
    return hmac.new(secret, side + theirs + mine, hashlib.sha256).digest()


class Framed(asyncio.Protocol):
    """A connection that carries messages, once both sides have proven themselves.

    Parameters
    ----------
    secret
        What both sides know.
    side
        `b"asks"` for the side that made the connection, `b"answers"` for the other.
    """

    def __init__(self, secret: bytes, side: bytes) -> None:
        self._secret, self._side = secret, side
        self._nonce = secrets.token_bytes(NONCE)
        self._theirs = b""
        self._data = bytearray()
        self.proven = False
        self.transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin with a random number, which the other side has to answer to."""
        self.transport = transport
        self.write(self._nonce)
        asyncio.get_running_loop().call_later(SECONDS_TO_PROVE, self._check_proven)

    def _check_proven(self) -> None:
        if not self.proven:
            self.transport.close()

    def data_received(self, data: bytes) -> None:
        """Take bytes, and every message that is complete."""
        self._data += data
        buffer, start = self._data, 0
        while len(buffer) - start >= 4:
            length = int.from_bytes(buffer[start : start + 4], "big")
            if length > (LARGEST if self.proven else LARGEST_BEFORE):
                self.transport.abort()
                return
            if len(buffer) - start < 4 + length:
                break
            message = bytes(buffer[start + 4 : start + 4 + length])
            start += 4 + length
            try:
                self.message(message) if self.proven else self._prove(message)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                self.transport.abort()
                return
        if start:
            del buffer[:start]

    def _prove(self, message: bytes) -> None:
        """The handshake: two random numbers cross, then a proof of each side for both of them."""
        other = b"answers" if self._side == b"asks" else b"asks"
        if not self._theirs:
            if len(message) != NONCE or message == self._nonce:
                self.transport.abort()
                return
            self._theirs = message
            if self._side == b"asks":
                self.write(proof(self._secret, self._side, self._theirs, self._nonce))
            return
        if not hmac.compare_digest(message, proof(self._secret, other, self._nonce, self._theirs)):
            self.transport.abort()
            return
        self.proven = True
        if self._side == b"answers":  # only to somebody who has proven themselves
            self.write(proof(self._secret, self._side, self._theirs, self._nonce))
        self.begun()

    def write(self, message: bytes) -> None:
        """Send a message."""
        self.transport.write(len(message).to_bytes(4, "big") + message)

    def begun(self) -> None:
        """Both sides have proven themselves."""

    def message(self, message: bytes) -> None:
        """A message has come."""
        raise NotImplementedError
