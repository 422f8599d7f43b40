"""The script for web pages, in Chromium: a page of another site, whose visitors click and scroll."""

from __future__ import annotations

import html
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from browser import SECONDS
from playwright.sync_api import Page
from service_client import Running

from rankloop.service.beacon import script

ITEMS = [f"sku-{n}" for n in range(1, 9)]
ODD = ['<b>"big" & bold</b>', "it's 50% off", "🚲 Fahrrad ☕", "a\tb\\c", "</script>"]
TALL = 450
"""Pixels of an item: two fill the window."""
FRAMES = "() => new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(go, 50))))"


class Site:
    """A shop at another site than the service: `localhost`, not `127.0.0.1`."""

    def __init__(self) -> None:
        pages = self.pages = {"/other": "<p>Another page.</p>"}

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = f"<!doctype html><meta charset=utf-8>{pages.get(self.path, '')}".encode()
                self.send_response(200 if self.path in pages else 404)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://localhost:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.server.shutdown()
    made.server.server_close()


class Shop:
    """A loop, a browser's key, and pages that show lists."""

    def __init__(self, running: Running, site: Site) -> None:
        self.running, self.site = running, site
        self.key = running.key("events", origins=[site.origin])
        running.admin.put("/v1/loops/search", json={"kind": "follow", "policy": "CascadeUCB1", "holdout": 0})

    def rank(self, items: list[str] = ITEMS, key: str = "q") -> Any:
        return self.running.admin.post("/v1/loops/search/rank", json={"key": key, "items": items}).json()

    def markup(self, shown: Any, start: int = 0) -> str:
        items = "".join(
            f'<li style="height:{TALL}px;margin:0" data-rankloop-item="{html.escape(item)}">'
            f'<a href="/other" id="link-{n}">{html.escape(item)}</a> <button id="button-{n}">Look</button></li>'
            for n, item in enumerate(shown["items"])
        )
        more = f' data-rankloop-start="{start}"' if start else ""
        return f'<ol style="margin:0;padding:0" data-rankloop="{shown["id"]}"{more}>{items}</ol>'

    def open(self, page: Page, body: str, *, key: str | None = None, settle: bool = True) -> None:
        src = f"{self.running.address}/beacon.js"
        head = f'<style>body{{margin:0}}</style><script src="{src}" data-key="{key or self.key}"></script>'
        self.site.pages["/"] = head + body
        page.goto(self.site.origin + "/")
        if settle:
            page.evaluate(FRAMES)

    def told(self, shown: Any) -> list[str]:
        """What has come of an impression, in sentences."""
        return list(self.running.admin.get(f"/v1/impressions/{shown['id']}").json()["events"])

    def until(self, found: Callable[[], bool]) -> None:
        end = time.monotonic() + SECONDS
        while not found():
            assert time.monotonic() < end
            time.sleep(0.02)

    def heard(self, shown: Any, *parts: str) -> list[str]:
        """Wait until something has come that names all of these."""
        self.until(lambda: any(all(part in line for part in parts) for line in self.told(shown)))
        return self.told(shown)

    def status(self) -> dict[str, Any]:
        return dict(self.running.admin.get("/v1/loops/search").json()["status"])


@pytest.fixture
def shop(on_sqlite: Running, site: Site) -> Shop:
    return Shop(on_sqlite, site)


def test_as_it_is_served(on_sqlite: Running) -> None:
    answer = on_sqlite.client(None).get("/beacon.js")
    assert answer.status_code == 200
    assert len(answer.content) < 3_072
    assert answer.content == script()
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert "max-age=3600" in answer.headers.get_list("cache-control")[0]
    assert answer.headers.get_list("cache-control") == ["public, max-age=3600"]
    assert answer.headers["access-control-allow-origin"] == "*"
    assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_click_that_leaves_the_page(shop: Shop, page: Page) -> None:
    shown = shop.rank()
    shop.open(page, shop.markup(shown))
    page.click("#link-1")
    page.wait_for_url("**/other")
    told = shop.heard(shown, "click", repr(shown["items"][1])[1:-1])
    assert len(told) == 2  # the click, and how far was seen
    shop.heard(shown, "2 positions")
    assert shop.status()["clicks"] == 1
    assert shop.running.service.metrics.fates["invalid"] == 0


def test_positions_that_nobody_saw_are_not_learned_from(shop: Shop, page: Page) -> None:
    shown = shop.rank()
    shop.open(page, shop.markup(shown))
    for far in (3, 5, 4):  # down, and up again
        page.evaluate(f"scrollTo(0, {TALL * far} - innerHeight)")
        page.evaluate(FRAMES)
    page.goto(shop.site.origin + "/other")
    shop.heard(shown, "5 positions")
    shop.running.admin.post("/v1/events", json={"impression": shown["id"], "type": "finish"})
    again = shop.rank()
    evidence = shop.running.admin.get(f"/v1/impressions/{again['id']}").json()["evidence"]
    looks = {each["item"]: each["looks"] for each in evidence}
    assert {item: looks.get(item, 0) for item in shown["items"]} == {
        item: int(place < 5) for place, item in enumerate(shown["items"])
    }


def test_a_double_click_is_one_vote(shop: Shop, page: Page) -> None:
    shown = shop.rank()
    shop.open(page, shop.markup(shown))
    page.dblclick("#button-0")
    shop.until(lambda: shop.status()["duplicates"] >= 1)
    assert shop.status()["clicks"] == 1


def test_other_buttons(shop: Shop, page: Page) -> None:
    shown = shop.rank()
    shop.open(page, shop.markup(shown))
    page.click("#button-0", button="right")
    page.click("#link-1", button="middle")  # opens a tab
    shop.heard(shown, "click", shown["items"][1])
    assert shop.status()["clicks"] == 1


def test_names_of_all_kinds(shop: Shop, page: Page) -> None:
    shown = shop.rank(ODD, "odd")
    shop.open(page, shop.markup(shown))
    for place in range(len(ODD)):
        page.click(f"#button-{place}")
    shop.until(lambda: shop.status()["clicks"] == len(ODD))
    shop.heard(shown, f"{len(ODD)} positions")
    assert shop.running.service.metrics.fates["invalid"] == 0


def test_lists_that_come_later(shop: Shop, page: Page) -> None:
    first, second, third = shop.rank(key="1"), shop.rank(key="2"), shop.rank(key="3")
    shop.open(page, f"<div id=here></div><div id=there></div>{shop.markup(shop.rank(key='0'))}")
    page.evaluate("(markup) => { here.innerHTML = markup }", shop.markup(first))
    page.evaluate(FRAMES)
    page.click("#here #button-1")
    shop.heard(first, "click", first["items"][1])
    # the same elements now show another list, as frameworks do it
    page.evaluate(
        """([id, items]) => {
            here.querySelectorAll("li").forEach((li, n) => { li.dataset.rankloopItem = items[n] })
            here.firstChild.dataset.rankloop = id
        }""",
        [second["id"], second["items"]],
    )
    page.evaluate(FRAMES)
    # and a component keeps its elements to itself
    page.evaluate(
        """(markup) => {
            const root = there.attachShadow({ mode: "open" })
            root.innerHTML = markup
            rankloop.watch(root)
            there.scrollIntoView()
        }""",
        shop.markup(third),
    )
    page.evaluate(FRAMES)
    page.click("#there #button-1")
    shop.heard(third, "click", third["items"][1])
    page.goto(shop.site.origin + "/other")
    shop.heard(second, "2 positions")
    shop.heard(third, "positions")


def test_a_second_page_of_the_same_list(shop: Shop, page: Page) -> None:
    shown = shop.rank()
    both = ({**shown, "items": shown["items"][:2]}, {**shown, "items": shown["items"][2:]})
    shop.open(page, shop.markup(both[1], start=2))
    page.goto(shop.site.origin + "/other")
    shop.heard(shown, "4 positions")


def test_what_is_not_reported(shop: Shop, page: Page) -> None:
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    shop.open(page, shop.markup({"id": "", "items": ITEMS}) + '<p id="outside" data-rankloop-item="x">No list</p>')
    page.click("#button-0")  # on production's list, which has no id
    page.click("#outside")
    page.goto(shop.site.origin + "/other")
    shop.open(page, shop.markup(shop.rank()))
    page.click("#button-0")
    shop.until(lambda: shop.status()["clicks"] == 1)
    assert len(sent) == 1


def test_another_sites_key(shop: Shop, page: Page) -> None:
    shown = shop.rank()
    stolen = shop.running.key("events", origins=["https://shop.example"])
    shop.open(page, shop.markup(shown), key=stolen)
    page.click("#button-0")
    refused = shop.running.service.metrics.requests
    shop.until(lambda: refused["events", 403] == 1)
    assert shop.told(shown) == []


def test_what_could_not_be_sent_is_sent_later(shop: Shop, page: Page) -> None:
    page.add_init_script(
        """window.bodies = []; let free = false; const send = navigator.sendBeacon.bind(navigator);
        navigator.sendBeacon = (url, body) => { bodies.push(body); return free && send(url, body) };
        window.go = () => { free = true }"""
    )
    shown = shop.rank()
    shop.open(page, shop.markup(shown))
    page.click("#button-0")
    page.evaluate("go()")
    page.click("#button-1")
    shop.until(lambda: shop.status()["clicks"] == 2)
    first, second = map(json.loads, page.evaluate("bodies"))
    assert second["events"][: len(first["events"])] == first["events"]  # with the ids that they had
    ids = [event["id"] for event in second["events"]]
    assert len(set(ids)) == len(ids) == 3
    assert second["key"] == shop.key


def test_what_else_counts(shop: Shop, page: Page) -> None:
    """A page can tell of what no click on an item shows."""
    shown = shop.rank()
    shop.open(page, shop.markup(shown))
    page.evaluate("([id, item]) => rankloop.tell(id, item)", [shown["id"], shown["items"][0]])
    page.evaluate("([id, item]) => rankloop.tell(id, item, 'add_to_cart')", [shown["id"], shown["items"][1]])
    shop.heard(shown, "add_to_cart")
    assert shop.status()["clicks"] == 1
    assert shop.status()["ignored"] == 1
