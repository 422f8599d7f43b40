"""The web page: a search box, results, and a page for each document. It needs no script, and nothing from elsewhere."""

from __future__ import annotations

import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

from rankloop.examples.docs_search.corpus import Document
from rankloop.examples.docs_search.search import DocsSearch, Page

LONGEST_QUERY = 200

STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #566273; --line: #d8dee6; --paper: #fff; --link: #1a4fb4; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6ebf2; --soft: #a3afbf; --line: #37414f; --paper: #151a21; --link: #8fb7ff; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 46rem; padding: 1.5rem 1rem 3rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; }
a { color: var(--link); } h1 { font-size: 1.3rem; } h1 a { color: inherit; text-decoration: none; }
form { display: flex; gap: .5rem; margin: 1rem 0 1.5rem; }
input, button { font: inherit; padding: .5rem .75rem; border: 1px solid var(--soft); border-radius: .4rem;
  background: var(--paper); color: var(--ink); }
input { flex: 1; min-width: 0; } button { cursor: pointer; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
ol { padding: 0; list-style: none; } li { padding: .7rem 0; border-top: 1px solid var(--line); }
li a { font-weight: 600; } code, pre { font: .9rem/1.45 ui-monospace, monospace; overflow-wrap: anywhere; }
p { margin: .2rem 0; } .soft, footer { color: var(--soft); } pre { white-space: pre-wrap; }
footer { margin-top: 2rem; padding-top: 1rem; border-top: 1px solid var(--line); font-size: .9rem; }
"""

HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def page(title: str, query: str, content: str, note: str = "") -> str:
    """A whole page around its content."""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title><style>{STYLE}</style></head><body>
<header><h1><a href="/">Search Python’s standard library</a></h1>
<form action="/" role="search">
<input name="q" type="search" value="{escape(query)}" maxlength="{LONGEST_QUERY}"
 aria-label="Words to search for"
 placeholder="for example: parse a date" autocomplete="off"{"" if query else " autofocus"}>
<button>Search</button></form></header>
<main>{content}</main>
<footer>{note}</footer></body></html>"""


def results(search: DocsSearch, query: str, found: Page) -> str:
    """The page of results: each link carries the impression, so that opening it is reported as a click."""
    rows = []
    for id_ in found.items:
        document = search.corpus.documents.get(id_)
        if document is not None:
            address = f"/doc/{quote(id_, safe='')}?{urlencode({'q': query, 'impression': found.impression})}"
            rows.append(
                f'<li><a href="{escape(address)}">{escape(id_)}</a> <code class="soft">{escape(_call(document))}</code>'
                f"<p>{escape(document.summary[:300])}</p></li>"
            )
    if not rows:
        return page("Nothing found", query, "<p>Nothing was found. Try other words, or fewer.</p>")
    notes = {
        "rankers": "Two rankers answered, and their lists were interleaved: clicks decide which is better.",
        "queries": "This query is asked often: its list is improved by what people click.",
        "": "rankloop is away: this is the default ranking.",
    }
    count = f'<p class="soft" role="status">{len(rows)} results</p>'
    return page(f"{query} – results", query, f"{count}<ol>{''.join(rows)}</ol>", notes[found.loop])


def document_page(document: Document, query: str) -> str:
    """The page of a document."""
    content = (
        f"<h2>{escape(document.id)} <code>{escape(_call(document))}</code></h2>"
        f'<p class="soft">in {escape(document.module)}</p><pre>{escape(document.text)}</pre>'
        f'<p><a href="{escape("/?" + urlencode({"q": query}))}">Back to the results</a></p>'
    )
    return page(document.id, query, content)


def _call(document: Document) -> str:
    return f"({document.signature})" if document.signature else ""


class Website(ThreadingHTTPServer):
    """The site at an address; `serve_forever` runs it.

    Parameters
    ----------
    search
        The search engine.
    host, port
        Where to listen; port 0 takes any that is free.
    note
        What the first page says of itself, as HTML.
    """

    daemon_threads = True

    def __init__(self, search: DocsSearch, host: str = "127.0.0.1", port: int = 0, note: str = "") -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), _Handler)
        self.search, self.note = search, note

    @property
    def address(self) -> str:
        """Where it is."""
        host, port = str(self.server_address[0]), self.server_address[1]
        shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
        return f"http://{shown}:{port}"

    @contextmanager
    def running(self) -> Iterator[str]:
        """Serve in a thread while the block runs; gives the address."""
        thread = threading.Thread(target=self.serve_forever, daemon=True, name="docs_search")
        thread.start()
        try:
            yield self.address
        finally:
            self.shutdown()
            self.server_close()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: Website
    timeout = 30  # seconds that a connection may be silent

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(address.query).items()}
        query = " ".join(asked.get("q", "").split())[:LONGEST_QUERY]
        if address.path == "/":
            self._send(results(self.server.search, query, self._found(query)) if query else self._first())
        elif address.path.startswith("/doc/"):
            self._open(unquote(address.path.removeprefix("/doc/")), query, asked.get("impression", ""))
        else:
            self._send(page("No such page", "", "<p>There is no such page.</p>"), HTTPStatus.NOT_FOUND)

    def _first(self) -> str:
        n = len(self.server.search.corpus.documents)
        return page(
            "Search", "", f"<p>{n:,} modules, classes, functions and methods of this Python.</p>", self.server.note
        )

    def _found(self, query: str) -> Page:
        return self.server.search.search(query, self._visitor())

    def _open(self, id_: str, query: str, impression: str) -> None:
        document = self.server.search.corpus.documents.get(id_)
        if document is None:
            self._send(page("No such document", query, "<p>There is no such document.</p>"), HTTPStatus.NOT_FOUND)
            return
        if impression and self.headers.get("Sec-Purpose", "") == "":  # a browser that looks ahead has not clicked
            self.server.search.click(impression, id_)
        self._send(document_page(document, query))

    def _visitor(self) -> str:
        """Who it is: a random number in a cookie."""
        try:
            given = SimpleCookie(self.headers.get("Cookie", "")).get("visitor")
        except CookieError:
            given = None
        self._who = given.value[:40] if given is not None and given.value.isalnum() else secrets.token_hex(8)
        return self._who

    def _send(self, text: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        body = text.encode()
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        who = getattr(self, "_who", None)
        if who:
            self.send_header("Set-Cookie", f"visitor={who}; Path=/; HttpOnly; SameSite=Lax")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, *_: object) -> None:
        """Say nothing of requests."""
