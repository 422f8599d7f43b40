"""A service that runs, asked from the command line: it holds its store, so that nobody else can change it."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from typing import Annotated, Any
from urllib.parse import quote

import typer

from rankloop.cli.errors import Refused

SECONDS = 10.0
WAY_OUT = "While a service runs, ask it: --url http://127.0.0.1:8000, with RANKLOOP_ADMIN_KEY set"

Url = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        envvar="RANKLOOP_URL",
        help="Address of a running service to send this to, with the admin key in RANKLOOP_ADMIN_KEY.",
    ),
]


def path_of(*names: str) -> str:
    """A path of the service, with names in it that may hold anything.

    >>> path_of("v1", "loops", "a/b")
    '/v1/loops/a%2Fb'
    """
    return "".join(f"/{quote(name, safe='')}" for name in names)


def ask(url: str, method: str, path: str, body: Any = None) -> Any:
    """What a running service answers."""
    key = os.environ.get("RANKLOOP_ADMIN_KEY")
    if not key:
        raise Refused("set RANKLOOP_ADMIN_KEY to an admin key of the service")
    if not url.startswith(("http://", "https://")):
        raise Refused(f"--url must be an address such as http://127.0.0.1:8000, not {url!r}")
    request = urllib.request.Request(
        url.rstrip("/") + path,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        try:
            told = json.load(error)["detail"]
        except (ValueError, KeyError):
            told = error.reason
        raise Refused(f"{url} refused: {told}") from None
    except OSError as error:
        raise Refused(f"{url} cannot be reached: {getattr(error, 'reason', error)}") from None
