"""A request as handlers see it, and what they answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from rankloop.service.keys import Key
from rankloop.service.messages import encode
from rankloop.service.problems import ProblemDetails

Headers = Sequence[tuple[bytes, bytes]]

JSON = b"application/json"


class QueryParameter(NamedTuple):
    """Something that may stand in an address after a question mark."""

    description: str
    schema: Mapping[str, Any]
    """What it must be, in the words of JSON Schema: a string, or a whole number with its limits."""
    default: str = ""


def read_query(given: bytes, known: Mapping[str, QueryParameter]) -> dict[str, str]:
    """What stands in an address after the question mark; what is not known is left out, and the last of several counts.

    >>> known = {"limit": QueryParameter("How many.", {"type": "integer", "minimum": 1, "maximum": 200}, "50")}
    >>> read_query(b"limit=7&other=1", known), read_query(b"", known)
    ({'limit': '7'}, {'limit': '50'})
    """
    try:
        pairs = dict(parse_qsl(given.decode("latin-1"), keep_blank_values=True, errors="strict"))
    except ValueError:
        raise ProblemDetails(422, "what follows the question mark is not UTF-8, percent-encoded") from None
    found = {name: pairs.get(name, each.default) for name, each in known.items()}
    for name, value in found.items():
        schema = known[name].schema
        if schema["type"] == "integer":
            is_number = value.isascii() and value.isdigit() and len(value) < 10
            if not is_number or not schema["minimum"] <= int(value) <= schema["maximum"]:
                wanted = f"a whole number from {schema['minimum']} to {schema['maximum']}"
                raise ProblemDetails(422, f"{name} must be {wanted}, not {value[:40]!r}", field=name)
        elif len(value) > schema["maxLength"]:
            raise ProblemDetails(422, f"{name} must have at most {schema['maxLength']:,} characters", field=name)
    return found


class Request:
    """A request whose key has been checked.

    Parameters
    ----------
    parameters
        What stands in the path, and after the question mark.
    body
        What was sent.
    key
        Whose request it is; None where no key is needed.
    id
        Id of the request.
    forwarded
        Whether another worker has passed it on: it is not passed on again.
    """

    __slots__ = ("body", "forwarded", "id", "key", "parameters")

    def __init__(
        self, parameters: dict[str, str], body: bytes, key: Key | None, id_: str, *, forwarded: bool = False
    ) -> None:
        self.parameters, self.body, self.key, self.id, self.forwarded = parameters, body, key, id_, forwarded

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


def no_loop(loop: str) -> ProblemDetails:
    """What to say where there is no such loop, or none that the key may know of."""
    return ProblemDetails(
        404, f"there is no loop {loop[:80]!r}: create it with PUT /v1/loops/NAME, or ask GET /v1/loops", field="loop"
    )
