"""Impression ids: signed, and complete enough to learn from an impression whose record a crash has lost."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import struct
from typing import Any, NamedTuple

_HEAD = struct.Struct("<B4sqqq")
_VERSION = 1
_SIGNATURE = 12


class Ticket(NamedTuple):
    """What an id says: who chose what, and when. `body` is the packed choice, or empty for an interleaved page."""

    seq: int
    at: int
    learner: int
    body: bytes


class Unknown(Exception):
    """The text is no id of any store, or it has been altered."""


class Foreign(Exception):
    """The id belongs to another store."""


_HEAD_LETTERS = 40
"""Characters of an id that hold its head."""


def said_number(text: Any) -> int | None:
    """The number of the entry that an id says it began with, whether or not it is genuine; None if it says none.

    >>> said_number(Signer(b"shop", b"secret").write(Ticket(7, 2, 3, b"body")))
    7
    """
    try:
        return _HEAD.unpack_from(base64.urlsafe_b64decode(text[:_HEAD_LETTERS]))[2]
    except (binascii.Error, struct.error, ValueError, TypeError, AttributeError):
        return None


class Signer:
    """Writes and reads the ids of one store.

    >>> signer = Signer(b"shop", b"secret")
    >>> text = signer.write(Ticket(1, 2, 3, b"body"))
    >>> signer.read(text)
    Ticket(seq=1, at=2, learner=3, body=b'body')
    """

    def __init__(self, store: bytes, secret: bytes) -> None:
        self._store, self._secret = store, secret

    def write(self, ticket: Ticket) -> str:
        """The id of an impression."""
        content = _HEAD.pack(_VERSION, self._store, ticket.seq, ticket.at, ticket.learner) + ticket.body
        signature = hashlib.blake2b(content, key=self._secret, digest_size=_SIGNATURE).digest()
        return base64.urlsafe_b64encode(content + signature).rstrip(b"=").decode()

    def read(self, text: str) -> Ticket:
        """What an id says, if this store wrote it."""
        try:
            data = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
            version, store, seq, at, learner = _HEAD.unpack_from(data)
        except (binascii.Error, struct.error, ValueError, TypeError, AttributeError):
            raise Unknown from None
        if version != _VERSION or len(data) < _HEAD.size + _SIGNATURE:
            raise Unknown
        if store != self._store:
            raise Foreign
        content = data[:-_SIGNATURE]
        signature = hashlib.blake2b(content, key=self._secret, digest_size=_SIGNATURE).digest()
        if not hmac.compare_digest(signature, data[-_SIGNATURE:]):
            raise Unknown
        # Base64 has spare bits in its last character: only one of the texts that decode to these bytes is the id.
        if base64.urlsafe_b64encode(data).rstrip(b"=").decode() != text:
            raise Unknown
        return Ticket(seq, at, learner, content[_HEAD.size :])
