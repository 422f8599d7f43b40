"""Which partition of a store a key belongs to, and which one an impression's id names.

A store is divided into partitions when it is made. Each is a journal of its own with one writer, so that several
programs can share a store, and whoever gets a request can tell whose it is without asking anybody.
"""

from __future__ import annotations

import binascii
import hashlib
from typing import Any

MOST_PARTITIONS = 1_024

_STANDARD = bytes.maketrans(b"-_", b"+/")
_LETTERS = 8
"""Characters of an id that hold its version and the mark of its store."""


def partition_of(loop: str, key: str, n: int) -> int:
    """The partition of a key, of n.

    >>> [partition_of("search", key, 8) for key in ("laptop", "phone", "tv")]
    [0, 4, 4]
    """
    name = loop.encode()
    content = len(name).to_bytes(4, "little") + name + key.encode()
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little") % n


def mark_of(store: bytes, partition: int) -> bytes:
    """The four bytes that stand in the ids of a partition; those of the first are the store's.

    >>> mark_of(bytes([1, 2, 3, 4]), 0) == bytes([1, 2, 3, 4]), mark_of(bytes([1, 2, 3, 4]), 5).hex()
    (True, '04020304')
    """
    return (int.from_bytes(store, "little") ^ partition).to_bytes(4, "little")


def partition_named(id_: Any, store: bytes, n: int) -> int | None:
    """The partition that an impression's id names, genuine or not; None if it names none of this store's.

    >>> from rankloop.live.tokens import Signer, Ticket
    >>> id_ = Signer(mark_of(b"shop", 5), b"secret").write(Ticket(1, 2, 3, b"body"))
    >>> partition_named(id_, b"shop", 8), partition_named(id_, b"mine", 8), partition_named("x", b"shop", 8)
    (5, None, None)
    """
    try:
        head = binascii.a2b_base64(id_[:_LETTERS].encode().translate(_STANDARD))
    except (binascii.Error, ValueError, TypeError, AttributeError):
        return None
    number = int.from_bytes(head[1:5], "little") ^ int.from_bytes(store, "little")
    return number if len(head) > 4 and number < n else None
