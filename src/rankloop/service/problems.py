"""Errors as `application/problem+json` (RFC 9457): each names what was wrong, in which field, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

TITLES = {
    400: "The request cannot be read",
    401: "An access key is needed",
    403: "This access key may not do that",
    404: "There is no such thing here",
    405: "This path does not take that method",
    408: "The request did not come in time",
    409: "It contradicts what is there",
    413: "The request is too large",
    422: "The request does not make sense",
    429: "Too many requests",
    500: "Something failed inside",
    503: "The service cannot do that now",
}
MEDIA_TYPE = b"application/problem+json"

_PLACE = re.compile(r" - at (?:`?key`? in )?`(.*)`$", re.DOTALL)
_UNKNOWN = re.compile(r"unknown field `(.*?)`")
_NO_SUCH = re.compile(r"there is no ([\w ]+) '(.*?)':")
_MISSING = re.compile(r"missing required field `(.*?)`")


class ProblemDetails(Exception):
    """An answer that says why something was not done.

    Parameters
    ----------
    status
        HTTP status.
    detail
        What was wrong and what to do, in a sentence.
    field
        The field that was wrong, such as `items[3]`, if it was a single one.
    retry_after
        Seconds after which to try again, where that helps.
    headers
        Further headers of the answer.

    Examples
    --------
    >>> ProblemDetails(422, "items must not be empty", field="items").to_json()["title"]
    'The request does not make sense'
    """

    def __init__(
        self, status: int, detail: str, *, field: str | None = None, retry_after: int | None = None,
        headers: Sequence[tuple[bytes, bytes]] = (),
    ) -> None:  # fmt: skip
        super().__init__(detail)
        self.status, self.detail, self.field, self.retry_after = status, detail, field, retry_after
        self.headers = list(headers)
        if retry_after is not None:
            self.headers.append((b"retry-after", str(retry_after).encode()))

    def to_json(self, request: str = "") -> dict[str, Any]:
        """The body of the answer."""
        body: dict[str, Any] = {
            "type": "about:blank",
            "title": TITLES[self.status],
            "status": self.status,
            "detail": self.detail,
        }
        if self.field is not None:
            body["field"] = self.field
        if request:
            body["request"] = request
        return body


def unreadable(error: Exception) -> ProblemDetails:
    """What to say of a body that is no JSON, or not of the shape that is asked for.

    >>> from rankloop.service.messages import RankRequest
    >>> try:
    ...     msgspec.json.decode(b'{"key": "laptop", "items": [3]}', type=RankRequest)
    ... except msgspec.ValidationError as error:
    ...     print(unreadable(error).detail)
    items[0]: expected `str`, got `int`
    """
    if isinstance(error, RecursionError):
        return ProblemDetails(400, "the body is nested too deeply")
    text = str(error)
    if not isinstance(error, msgspec.ValidationError):
        return ProblemDetails(400, f"the body is not JSON ({text}): send a JSON document in UTF-8")
    place = _PLACE.search(text)
    field = "" if place is None else place[1].removeprefix("$").removeprefix(".")
    told = text if place is None else text[: place.start()]
    for pattern in (_UNKNOWN, _MISSING):
        named = pattern.search(told)
        if named is not None:
            field = f"{field}.{named[1]}".removeprefix(".")
    told = told[:1].lower() + told[1:]
    return ProblemDetails(422, f"{field}: {told}" if field else told, field=field or None)


def senseless(error: ValueError, fields: Iterable[str]) -> ProblemDetails:
    """What to say of values that the live loop refuses; its sentence names the field.

    >>> senseless(ValueError("positions must be at least 1, not 0"), ["key", "positions"]).field
    'positions'
    """
    text = str(error)
    missing = _NO_SUCH.match(text)
    if missing is not None:
        what = missing[1].split()[0]
        return ProblemDetails(422, text, field=missing[2] if what in ("field", "setting", "parameter") else what)
    found = {field: match.start() for field in fields if (match := re.search(rf"\b{field}\b", text))}
    return ProblemDetails(422, text, field=min(found, key=lambda field: found[field]) if found else None)
