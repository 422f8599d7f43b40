"""Hands out the dashboard's files, which are kept in memory: one page, its styles and its scripts.

The page names its files under a path that holds a digest of all of them, so browsers may keep those for ever, and ask
for the page alone.
"""

from __future__ import annotations

import functools
import hashlib
from importlib.resources import files

from rankloop.service.messages import KeyUsed
from rankloop.service.problems import ProblemDetails
from rankloop.service.request import Reply, Request
from rankloop.service.service import Service

PAGE = "index.html"
MEDIA = {
    "css": b"text/css; charset=utf-8",
    "html": b"text/html; charset=utf-8",
    "js": b"text/javascript; charset=utf-8",
    "svg": b"image/svg+xml",
}
CONTENT_SECURITY = (
    b"content-security-policy",
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    b"form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
)
"""The page loads what this service serves, and nothing else: no script in a name or in a link can run."""
ALWAYS_ASK = (b"cache-control", b"no-cache")
KEEP = (b"cache-control", b"public, max-age=31536000, immutable")


@functools.cache
def assets() -> tuple[str, dict[str, bytes]]:
    """The version of all files together, and their content by name.

    >>> version, content = assets()
    >>> version.encode() in content["index.html"], sum(map(len, content.values())) < 1_500_000
    (True, True)
    """
    folder = files("rankloop.service.dashboard") / "assets"
    found = {file.name: file.read_bytes() for file in sorted(folder.iterdir(), key=lambda file: file.name)}
    digest = hashlib.blake2b(digest_size=6)
    for name, content in found.items():
        digest.update(name.encode() + b"\0" + content)
    version = digest.hexdigest()
    return version, {**found, PAGE: found[PAGE].replace(b"VERSION", version.encode())}


async def dashboard(service: Service, request: Request) -> Reply:
    """The page."""
    _, content = assets()
    return Reply(200, content[PAGE], MEDIA["html"], [CONTENT_SECURITY, ALWAYS_ASK])


async def dashboard_file(service: Service, request: Request) -> Reply:
    """One of its files. A page from before the service was renewed gets the new ones, which nobody keeps."""
    version, content = assets()
    name = request.parameters["file"]
    if name not in content or name == PAGE:
        raise ProblemDetails(404, "the dashboard has no such file: load the page again", field="file")
    caching = KEEP if request.parameters["version"] == version else ALWAYS_ASK
    return Reply(200, content[name], MEDIA[name.rpartition(".")[2]], [CONTENT_SECURITY, caching])


async def key_used(service: Service, request: Request) -> Reply:
    """What the key that asks may do."""
    assert request.key is not None
    key = request.key
    return Reply.of(KeyUsed(key.id, key.role, list(key.loops), key.expires, service.read_only))
