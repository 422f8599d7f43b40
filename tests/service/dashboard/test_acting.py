"""What people do on the dashboard: act with a key, look for keys, go back, and let the page be open for long."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from dashboard_pages import Open, address, fact, section
from dashboard_world import LISTS
from live_world import Clock
from playwright.sync_api import Page, Route, expect
from postgres_server import Server
from service_client import ADMIN, Running, served

import rankloop as rl
from rankloop.live import StoreLost
from rankloop.service import read_only as onlooking_module
from rankloop.service.app import App
from rankloop.service.read_only import Onlooker
from rankloop.service.run import address_of, listen, server_of

POLL = 3_000
"""Milliseconds between two looks of a page."""


@pytest.fixture
def quickly(alone: None, page: Page) -> Page:
    """A page whose clock the test turns, which is also that of all other pages of its context."""
    page.clock.install()
    return page


def later(page: Page, milliseconds: int = 2 * POLL) -> None:
    """Let time pass on a page."""
    page.clock.run_for(milliseconds)


# -- acting ------------------------------------------------------------------------------------------------------


def test_reverting_asks_first(visit: Open, shop: Running) -> None:
    live, key = shop.service.live, "desk lamp"
    page = visit(address("search", key))
    button = page.get_by_role("button", name="Revert…")
    learned = live.receipt("search", key).lists_learned_from
    assert learned > 0
    for way_out in ("button", "Escape"):
        button.click()
        dialog = page.get_by_role("dialog", name="Set this key back?")
        expect(dialog).to_contain_text(key)
        expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
        if way_out == "button":
            dialog.get_by_role("button", name="Cancel").click()
        else:
            page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        expect(button).to_be_focused()
        assert live.receipt("search", key).lists_learned_from == learned
    button.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="This key was set back to production's list")).to_be_visible()
    expect(page.locator("#said")).to_have_text("The key was set back to production's list.")
    expect(button).to_be_focused()
    assert live.receipt("search", key).lists_learned_from == 0


def test_pausing_and_resuming_ask_first(visit: Open, shop: Running) -> None:
    page = visit(address("front page"))
    for word, mode in (("Pause", "paused"), ("Resume", "live")):
        page.get_by_role("button", name=f"{word}…").click()
        page.get_by_role("dialog").get_by_role("button", name=word, exact=True).click()
        expect(page.locator(".head .badge", has_text=mode)).to_be_visible()
        assert shop.service.live.status("front page")["mode"] == mode


def test_a_key_to_read_cannot_act(visit: Open, shop: Running) -> None:
    key = shop.key("read")
    page = visit(address("search", "laptop"), key=key)
    expect(page.locator(".whose")).to_contain_text("read")
    assert page.get_by_role("button", name="Revert…").count() == 0
    answer = shop.client(key).post("/v1/loops/search/revert", json={"key": "laptop"})
    assert answer.status_code == 403  # the service refuses, whatever the page shows


def test_a_refused_action_is_told(visit: Open, page: Page) -> None:
    problem = {"detail": "the disk is full"}
    page.route("**/pause", lambda route: route.fulfill(status=503, json=problem))
    visit(address("search"))
    page.get_by_role("button", name="Pause…").click()
    page.get_by_role("dialog").get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_role("dialog", name="That did not work")).to_contain_text("the disk is full")


# -- keys --------------------------------------------------------------------------------------------------------


def test_a_key_in_the_address_leaves_it_at_once(page: Page, shop: Running) -> None:
    page.goto(f"{shop.address}/#key={ADMIN}&to=/loops/search")
    expect(page.get_by_role("heading", name="search")).to_be_visible()
    assert page.url == f"{shop.address}/#/loops/search"
    assert page.evaluate("sessionStorage.getItem('rankloop key')") == ADMIN
    assert page.evaluate("[document.cookie, localStorage.length]") == ["", 0]
    page.go_back()
    assert ADMIN not in page.url


def test_a_key_is_asked_for_and_can_be_forgotten(page: Page, shop: Running) -> None:
    page.goto(f"{shop.address}/{address('search')}")
    expect(page.get_by_role("heading", name="Enter an access key")).to_be_visible()
    page.get_by_label("Access key").fill("rl_wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("not known here, has expired or was revoked")
    expect(page.get_by_label("Access key")).to_be_focused()
    page.get_by_label("Access key").fill(ADMIN)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="search")).to_be_visible()
    page.get_by_role("button", name="Forget it").click()
    expect(page.get_by_role("heading", name="Enter an access key")).to_be_visible()
    assert page.evaluate("sessionStorage.length") == 0
    expect(page.locator("#side")).to_be_hidden()


def test_a_key_of_another_role_is_told_which_it_takes(page: Page, shop: Running) -> None:
    page.goto(f"{shop.address}/#key={shop.key('rank')}")
    expect(page.get_by_role("heading", name="This key may not see that")).to_be_visible()
    expect(page.locator("main")).to_contain_text("role rank")


def test_a_key_that_is_revoked_while_the_page_is_open(quickly: Page, visit: Open, shop: Running) -> None:
    key = shop.key("read")
    page = visit(key=key)
    shop.admin.delete(f"/v1/keys/{key.split('_')[1]}")
    later(page)
    expect(page.get_by_role("heading", name="This key is not valid any more")).to_be_visible()
    assert page.evaluate("sessionStorage.length") == 0
    assert page.locator("li.loop").count() == 0  # nothing of what it had seen is left on the page
    page.get_by_label("Access key").fill(ADMIN)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()


def test_a_key_that_expires_while_the_page_is_open(
    quickly: Page, visit: Open, shop: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = shop.key("read", expires="1h")
    page = visit(address("search"), key=key)
    keys, now = shop.service.keys, time.time()
    monkeypatch.setattr(keys, "_clock", lambda: now + 3_590)
    later(page)
    expect(page.locator("h1")).to_have_text("search")
    monkeypatch.setattr(keys, "_clock", lambda: now + 3_610)
    later(page)
    expect(page.get_by_role("heading", name="This key is not valid any more")).to_be_visible()
    expect(page.locator("main")).to_contain_text("It has expired or was revoked")
    assert page.evaluate("sessionStorage.length") == 0


def test_a_key_for_one_loop_sees_that_loop(visit: Open, shop: Running) -> None:
    page = visit(key=shop.key("read", loops=["rankers"]))
    expect(page.locator("li.loop")).to_have_count(1)
    expect(page.locator("main")).not_to_contain_text("shop.db")


# -- finding things ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def crowd(shop: Running) -> str:
    """A loop with 60 keys, the first of which has most traffic."""
    shop.admin.put("/v1/loops/crowd", json={"kind": "rerank", "seed": 9})
    for number in range(60):
        for _ in range(3 if number == 0 else 2 if number < 30 else 1):
            shop.admin.post("/v1/loops/crowd/rank", json={"key": f"query {number:02}", "items": ["a", "b"]})
    return "crowd"


def test_keys_are_searched_and_paged(visit: Open, crowd: str) -> None:
    page = visit(address(crowd))
    keys = section(page, "Keys by traffic")
    expect(keys.locator("tbody tr")).to_have_count(25)
    expect(keys.locator("tbody tr").first).to_contain_text("query 00")
    expect(keys).to_contain_text("1 to 25 of 60 keys")
    assert page.get_by_role("link", name="First page").count() == 0
    seen = set(keys.locator("tbody th").all_inner_texts())
    for more, told in ((25, "26 to 50 of 60 keys"), (10, "51 to 60 of 60 keys")):
        page.get_by_role("link", name="Next page").click()
        expect(keys).to_contain_text(told)
        expect(keys.locator("tbody tr")).to_have_count(more)
        seen |= set(keys.locator("tbody th").all_inner_texts())
    assert len(seen) == 60
    assert page.get_by_role("link", name="Next page").count() == 0
    page.reload()
    expect(keys).to_contain_text("51 to 60 of 60 keys")
    page.get_by_role("link", name="First page").click()
    expect(keys).to_contain_text("1 to 25 of 60 keys")
    page.get_by_label("Find a key").fill("query 4")
    page.keyboard.press("Enter")
    expect(keys.locator("tbody tr")).to_have_count(10)
    assert "search=query+4" in page.url
    page.get_by_role("link", name="query 41").click()
    expect(page.locator("h1")).to_have_text("query 41")
    page.go_back()
    expect(keys.locator("tbody tr")).to_have_count(10)
    expect(page.get_by_label("Find a key")).to_have_value("query 4")
    page.get_by_label("Find a key").fill("<nothing>")
    page.keyboard.press("Enter")
    expect(keys).to_contain_text("No key contains “<nothing>”.")


def test_back_and_forward(visit: Open) -> None:
    page = visit()
    page.get_by_role("navigation", name="Loops").get_by_role("link", name="search").click()
    expect(page.locator("h1")).to_have_text("search")
    expect(page.locator("h1")).to_be_focused()  # so that it is read out
    page.get_by_role("link", name="laptop").first.click()
    expect(page.locator("h1")).to_have_text("laptop")
    page.go_back()
    expect(page.locator("h1")).to_have_text("search")
    expect(page).to_have_title("search · rankloop")
    page.go_back()
    expect(page.locator("h1")).to_have_text("Overview")
    page.go_forward()
    expect(page.locator("h1")).to_have_text("search")


# -- an open page ------------------------------------------------------------------------------------------------


def test_numbers_change_without_reloading(quickly: Page, visit: Open, shop: Running) -> None:
    """What has not changed keeps its focus, its text and its place; only a page that is seen asks."""
    page = visit(address("search"))
    before = fact(page, "Impressions")
    box = page.get_by_label("Find a key")
    box.fill("half a wo")
    page.evaluate("document.querySelector('h1').mine = 'the same'")
    page.evaluate("scrollTo(0, 200)")
    shop.admin.post("/v1/loops/search/rank", json={"key": "laptop", "items": LISTS["laptop"], "user": "another"})
    assert fact(page, "Impressions") == before
    later(page)
    now = shop.service.live.status("search")["impressions"]
    expect(page.locator(".facts")).to_contain_text(f"{now:,}")
    expect(box).to_be_focused()
    expect(box).to_have_value("half a wo")
    assert page.evaluate("document.querySelector('h1').mine") == "the same"
    assert page.evaluate("scrollY") == 200
    assert page.locator("#said").inner_text() == ""  # nothing is read out for a number

    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.evaluate("Object.defineProperty(document, 'hidden', {get: () => true, configurable: true})")
    later(page, 10 * POLL)
    assert not asked
    page.evaluate("delete document.hidden; document.dispatchEvent(new Event('visibilitychange', {bubbles: true}))")
    page.wait_for_timeout(0)
    deadline = time.monotonic() + 30
    while not asked and time.monotonic() < deadline:
        page.wait_for_timeout(20)
    assert asked


def test_a_store_that_vanishes_and_comes_back(
    quickly: Page, visit: Open, shop: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = visit(address("search"))
    before = fact(page, "Impressions")

    async def lost(*_: Any, **__: Any) -> None:
        raise StoreLost("the store cannot be reached")

    with monkeypatch.context() as patch:
        patch.setattr(type(shop.service), "call", lost)
        patch.setattr(type(shop.service), "gather", lost, raising=False)
        later(page)
        banner = page.locator(".banner")
        expect(banner).to_contain_text("The store cannot be reached")
        expect(page.locator("#said")).to_contain_text("What you see may be old.")
        assert fact(page, "Impressions") == before  # what is known stays on the page
        page.goto(f"{shop.address}/{address('rankers')}")
        page.reload()
        expect(page.get_by_role("heading", name="The service cannot answer now")).to_be_visible()
    later(page, 60_000)
    expect(page.locator("h1")).to_have_text("rankers")
    expect(page.locator(".banner")).to_have_count(0)


def test_a_service_that_is_away(quickly: Page, visit: Open) -> None:
    page = visit()
    asked: list[str] = []

    def away(route: Route) -> None:
        asked.append(route.request.url)
        route.abort()

    page.route("**/v1/**", away)
    later(page)
    expect(page.locator(".banner")).to_contain_text("The service does not answer")
    for _ in range(20):  # in a minute of the page's time
        later(page, POLL)
        page.wait_for_timeout(5)
    assert 3 <= len(asked) <= 10, "it asks less and less often"
    page.unroute("**/v1/**")
    page.get_by_role("button", name="Try now").click()
    expect(page.locator(".banner")).to_have_count(0)
    expect(page.locator("#said")).to_have_text("The service answers again.")


def rank(running: Running, key: str = "laptop") -> None:
    """Somebody asks a loop for a list, and clicks the first item."""
    shown = running.admin.post("/v1/loops/search/rank", json={"key": key, "items": ["a", "b", "c"]}).json()
    running.admin.post("/v1/events", json={"impression": shown["id"], "item": shown["items"][0]})


def test_a_database_that_is_stopped_and_started(quickly: Page, visit: Open, postgres: Server) -> None:
    """A real server that ends while the page is open, and comes back."""
    postgres.settle()
    with served(postgres.empty_database()) as running:
        running.admin.put("/v1/loops/search", json={"kind": "rerank", "holdout": 0})
        rank(running)
        page = visit(running=running)
        assert fact(page, "Impressions") == "1"
        postgres.stop()
        try:
            later(page)
            expect(page.locator(".banner")).to_contain_text("The service cannot answer now.")
            assert fact(page, "Impressions") == "1"
        finally:
            postgres.start()
        deadline = time.monotonic() + 60
        while page.locator(".banner").count() and time.monotonic() < deadline:
            later(page, 60_000)
            page.wait_for_timeout(200)
        expect(page.locator(".banner")).to_have_count(0)
        rank(running)
        later(page)
        expect(page.locator(".facts")).to_contain_text("2")


@contextmanager
def onlooking(path: Path) -> Iterator[Running]:
    """The dashboard alone, beside the program that writes to a store."""
    service, ready = Onlooker(path), threading.Event()
    service.when_ready = ready.set
    listening, server = listen("127.0.0.1", 0), server_of(App(service))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        assert ready.wait(60), service.failed
        yield Running(service, address_of(listening))
    finally:
        server.should_exit = True
        thread.join(60)
        listening.close()
    assert not thread.is_alive()


def test_a_file_that_is_removed_and_put_back(
    quickly: Page, visit: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The read-only dashboard of a store whose file goes away while the page is open."""
    monkeypatch.setattr(onlooking_module, "LOOK_AGAIN", 0.0)
    monkeypatch.setattr(onlooking_module, "SHARE", 1e9)
    path = tmp_path / "shop.db"
    with rl.Live(path, background=False) as live:
        live.create("search", kind="rerank", holdout=0)
        live.rank("search", "laptop", ["a", "b"])
    with onlooking(path) as running:
        page = visit(running=running, key=running.service.keys.text)
        assert fact(page, "Impressions") == "1"
        expect(page.locator(".whose")).to_have_text("Read-only")
        assert page.get_by_role("button", name="Pause…").count() == 0
        path.rename(tmp_path / "elsewhere.db")
        later(page)
        expect(page.locator(".banner")).to_contain_text("There is no store")
        assert fact(page, "Impressions") == "1"
        (tmp_path / "elsewhere.db").rename(path)
        later(page, 60_000)
        expect(page.locator(".banner")).to_have_count(0)


def test_a_fallback_is_told_for_an_hour(
    quickly: Page, visit: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    with served(tmp_path / "shop.db", clock=clock) as running:
        live = running.service.live
        live.create("search", kind="rerank", holdout=0)
        live.rank("search", "laptop", ["a", "b"])
        with monkeypatch.context() as patch:
            patch.setattr(type(live._showing), "_choose", lambda *_: 1 / 0)
            assert all(live.rank("search", "laptop", ["a", "b"]).fallback for _ in range(3))
        page = visit(running=running)
        bad = page.locator("li.loop .badge.bad")
        told = section(page, "Lately").locator("li", has_text="3 lists were production's because something failed")
        expect(bad).to_have_text("fallbacks")
        expect(told).to_be_visible()
        assert fact(page, "Health") == "1 loop needs a look"
        clock.now += 3_700
        later(page)
        expect(bad).to_have_count(0)
        expect(told).to_be_visible()


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Running]:
    """A service whose store has nothing."""
    with served(tmp_path / "shop.db") as running:
        yield running


def test_an_empty_store_says_how_to_begin(quickly: Page, visit: Open, empty: Running) -> None:
    page = visit(running=empty)
    expect(page.get_by_role("heading", name="This store has no loop yet")).to_be_visible()
    assert len(page.locator("pre").first.inner_text().splitlines()) == 3
    empty.admin.put("/v1/loops/search", json={"kind": "rerank"})
    later(page)
    expect(page.locator("li.loop")).to_have_count(1)


def test_ten_thousand_rankers_are_cut_to_what_can_be_read(visit: Open, page: Page) -> None:
    """The page has few elements, and so stays quick: of 200 standings and 64 x 64 pairs it shows a part."""
    names = [f"ranker {number}" for number in range(200)]

    def many(route: Route) -> None:
        race = route.fetch().json()
        against = {"wins": 40, "losses": 60, "preference": 0.4, "low": 0.3, "high": 0.5}
        row = {"wins": 3, "losses": 4, "survives": True, "batch": 0, "against_leader": against}
        standings = [{**row, "ranker": name, "eliminated_at": None, "eliminated_by": None} for name in names]
        square = [[int(i != j) for j in range(64)] for i in range(64)]
        race |= {"rankers": 10_000, "standings": standings, "left_out": 9_800, "leader": names[0], "winner": None}
        race |= {"batches": [[f"ranker {i}" for i in range(k, 10_000, 2_500)] for k in range(2_500)]}
        race |= {"pairs": {"rankers": names[:64], "duels": square, "wins": square}}
        route.fulfill(json=race)

    page.route("**/race", many)
    visit(address("rankers"))
    assert fact(page, "Rankers in the race") == "10,000 of 10,000"
    expect(page.locator("main")).to_contain_text(
        "9,800 further rankers are not listed: 9,800 still in the race, 0 eliminated."
    )
    expect(page.locator("main")).to_contain_text("and 2,488 more batches")
    assert page.evaluate("document.querySelectorAll('*').length") < 12_000
