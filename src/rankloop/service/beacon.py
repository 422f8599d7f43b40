"""The script for web pages that reports clicks and how far lists came into view."""

from __future__ import annotations

import functools
from importlib.resources import files

from rankloop.service.request import Reply, Request
from rankloop.service.service import Service

MEDIA = "text/javascript; charset=utf-8"
HEADERS = [
    (b"access-control-allow-origin", b"*"),
    (b"cache-control", b"public, max-age=3600"),
    (b"cross-origin-resource-policy", b"cross-origin"),
]
"""Pages of any origin may load it, and keep it for an hour."""


@functools.cache
def script() -> bytes:
    """The script as it is served: without comments and indentation.

    >>> len(script()) < 3_072
    True
    """
    lines = (files("rankloop.service") / "beacon.js").read_text(encoding="utf-8").splitlines()
    bare = [line.partition(" // ")[0].strip() for line in lines if not line.lstrip().startswith("//")]
    return "\n".join(filter(None, bare)).encode()


async def beacon(service: Service, request: Request) -> Reply:
    """The script."""
    return Reply(200, script(), MEDIA.encode(), HEADERS)
