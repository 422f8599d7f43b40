"""Heads of requests that have been read before, so that they need not be read again."""

from __future__ import annotations

from typing import NamedTuple

from rankloop.service.messages import Role

HEAD_END = b"\r\n\r\n"
MOST_HEADS, LONGEST_HEAD = 2_000, 2_048
"""Heads that are remembered, and the bytes of the longest."""


class Head(NamedTuple):
    """What the head of a request says."""

    route: Role
    loop: str
    """The loop in its path, if one is."""
    key: str
    length: int
    """Bytes of the body."""


class Heads:
    """Heads of requests as the parser has read them before: a client sends the same few over and over.

    Only requests with a valid key are remembered, so that nobody else can fill the memory. What a key may do is looked
    up with every request.
    """

    def __init__(self) -> None:
        self._known: dict[bytes, Head] = {}

    def __len__(self) -> int:
        return len(self._known)

    def find(self, data: bytes) -> tuple[Head, bytes] | None:
        """The head and the body of a request, if the data is one whole request whose head is known."""
        end = data.find(HEAD_END) + len(HEAD_END)
        head = self._known.get(data[:end])
        return None if head is None or len(data) != end + head.length else (head, data[end:])

    def remember(self, data: bytes, head: Head) -> None:
        """Remember a head, if the data is that one request and nothing else: the parser has just read it."""
        end = data.find(HEAD_END) + len(HEAD_END)
        if end + head.length == len(data) and end <= LONGEST_HEAD:
            if len(self._known) >= MOST_HEADS:
                self._known.clear()
            self._known[data[:end]] = head
