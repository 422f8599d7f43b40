"""A request as handlers see it, and what they answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rankloop.service.keys import Key
from rankloop.service.messages import encode
from rankloop.service.problems import Problem

Headers = Sequence[tuple[bytes, bytes]]

JSON = b"application/json"


class Request:
    """A request whose key has been checked.

    Parameters
    ----------
    parameters
        What stands in the path.
    body
        What was sent.
    key
        Whose request it is; None where no key is needed.
    id
        Id of the request.
    """

    __slots__ = ("body", "id", "key", "parameters")

    def __init__(self, parameters: dict[str, str], body: bytes, key: Key | None, id_: str) -> None:
        self.parameters, self.body, self.key, self.id = parameters, body, key, id_

    @property
    def loop(self) -> str:
        """The loop in the path."""
        return self.parameters["loop"]

    @property
    def loops(self) -> tuple[str, ...] | None:
        """Loops that the key is for; None for all."""
        return self.key.loops or None if self.key is not None else ()

    def sees(self, loop: str) -> bool:
        """Whether its key is for a loop."""
        return self.key is not None and self.key.sees(loop)


class Reply:
    """An answer."""

    __slots__ = ("body", "headers", "media", "status")

    def __init__(self, status: int, body: bytes, media: bytes = JSON, headers: Headers = ()) -> None:
        self.status, self.body, self.media, self.headers = status, body, media, headers

    @classmethod
    def of(cls, value: Any, status: int = 200) -> Reply:
        """An answer in JSON."""
        return cls(status, encode(value))


def no_loop(loop: str) -> Problem:
    """What to say where there is no such loop, or none that the key may know of."""
    return Problem(
        404, f"there is no loop {loop[:80]!r}: create it with PUT /v1/loops/NAME, or ask GET /v1/loops", field="loop"
    )
