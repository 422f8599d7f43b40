"""The dashboard for everybody: by keyboard and screen reader, in light and dark, on a phone and on a large screen."""

from __future__ import annotations

from pathlib import Path

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from browser import SECONDS
from dashboard_pages import Open, address
from dashboard_world import ARABIC, REVERTED
from playwright.sync_api import Browser, Page, expect
from service_client import ADMIN, Running, served

PAGES = {
    "overview": ("#/", "Overview"),
    "rerank": (address("search"), "search"),
    "key": (address("search", "laptop"), "laptop"),
    "reverted": (address("search", REVERTED), REVERTED),
    "right to left": (address("search", ARABIC), ARABIC),
    "evaluate": (address("rankers"), "rankers"),
    "follow": (address("front page"), "front page"),
    "diversify": (address("home"), "home"),
    "no traffic": (address("new loop"), "new loop"),
    "impression": ("#/impressions/{impression}", "An impression"),
    "impression of a duel": ("#/impressions/{duel}", "An impression"),
    "key entry": ("#/key", "Enter an access key"),
    "nowhere": ("#/nowhere", "There is no such page"),
}
"""The address of each page, and its heading."""


@pytest.fixture(scope="module")
def impression(shop: Running) -> dict[str, str]:
    """The ids of a list and of a duel."""
    given = {"key": "laptop", "items": ["a", "b", "c"], "user": "u1"}
    shown = shop.admin.post("/v1/loops/search/rank", json=given).json()
    shop.admin.post("/v1/events", json={"impression": shown["id"], "item": "b"})
    duel = shop.admin.post("/v1/loops/rankers/duel", json={"user": "u1"}).json()
    lists = {ranker: [f"{ranker}: {i}" for i in range(3)] for ranker in duel["rankers"]}
    page = shop.admin.post("/v1/loops/rankers/interleave", json={"duel": duel["id"], "lists": lists}).json()
    shop.admin.post("/v1/events", json={"impression": page["id"], "item": page["items"][0]})
    return {"impression": shown["id"], "duel": page["id"]}


def look(page: Page, running: Running, name: str, impression: dict[str, str]) -> None:
    """Open a page by its name, and wait until its charts are drawn."""
    place, title = PAGES[name]
    page.goto(f"{running.address}/{place.format(**impression)}")
    expect(page.locator("main h1")).to_have_text(title)
    page.evaluate("new Promise(requestAnimationFrame)")


def violations_on(page: Page, name: str) -> list[tuple[str, str, list[str]]]:
    """What axe finds that is serious.

    Pages that follow each other without loading share one axe: given to each anew, it would be compiled anew too.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found = page.evaluate("axe.run({resultTypes: ['violations']}).then(results => results.violations)")
    return [
        (name, violation["id"], [node["html"][:200] for node in violation["nodes"][:3]])
        for violation in found
        if violation["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 1280), ("light", 360), ("dark", 360)])
def test_axe_finds_nothing_serious(
    browser: Browser, shop: Running, impression: dict[str, str], theme: str, width: int
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(f"{shop.address}/#key={ADMIN}")
    found = []
    for name in PAGES:
        look(page, shop, name, impression)
        found += violations_on(page, name)
    look(page, shop, "key", impression)
    page.get_by_role("button", name="Revert…").click()
    found += violations_on(page, "dialog")
    context.close()
    assert not found


@pytest.mark.parametrize("width", [1280, 360])
def test_axe_on_pages_that_say_what_is_the_matter(browser: Browser, shop: Running, tmp_path: Path, width: int) -> None:
    """An empty store, a key that has ended or may not look, nobody who answers, a page that cannot be drawn."""
    context = browser.new_context(viewport={"width": width, "height": 900})
    context.set_default_timeout(1000 * SECONDS)
    page = context.new_page()
    found = []

    def see(name: str, title: str) -> None:
        expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
        found.extend(violations_on(page, name))

    with served(tmp_path / "shop.db") as empty:
        page.goto(f"{empty.address}/#key={ADMIN}")
        see("empty store", "This store has no loop yet")
    page.goto(f"{shop.address}/#key={shop.key('rank')}")
    see("another role", "This key may not see that")
    page.goto(f"{shop.address}/#key=rl_ended")
    see("ended key", "This key is not valid any more")
    page.goto(f"{shop.address}/#key={ADMIN}")
    expect(page.locator("h1")).to_have_text("Overview")
    page.route("**/v1/loops/**", lambda route: route.fulfill(status=503, json={"detail": "the store is away"}))
    page.goto(f"{shop.address}/{address('search', 'laptop')}")
    see("store away", "The service cannot answer now")
    page.unroute("**/v1/loops/**")
    page.route("**/v1/overview", lambda route: route.abort())
    page.goto(f"{shop.address}/{address('search')}")
    see("nobody answers", "The service does not answer")
    page.unroute("**/v1/overview")
    page.goto(f"{shop.address}/#/")
    expect(page.locator("h1")).to_have_text("Overview")
    page.route("**/v1/overview", lambda route: route.abort())
    page.evaluate("dispatchEvent(new Event('visibilitychange'))")
    page.locator(".banner").wait_for()
    found.extend(violations_on(page, "banner"))
    page.unroute("**/v1/overview")
    page.route("**/race", lambda route: route.fulfill(json={"leader": "x", "batches": None}))
    page.goto(f"{shop.address}/{address('rankers')}")
    see("cannot be drawn", "This page cannot be drawn")
    context.close()
    assert not found


@pytest.mark.parametrize("width", [360, 1280, 2560])
def test_no_page_is_wider_than_its_window(
    browser: Browser, shop: Running, impression: dict[str, str], width: int
) -> None:
    """Wide tables scroll in boxes of their own; nothing else stands over the edge."""
    context = browser.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    page.goto(f"{shop.address}/#key={ADMIN}")
    too_wide = []
    for name in PAGES:
        look(page, shop, name, impression)
        more = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if more > 0:
            too_wide.append((name, more))
    context.close()
    assert not too_wide


def test_the_frame_by_keyboard(visit: Open) -> None:
    """The first stop is the way past the navigation, every stop can be seen, and one comes out at the end."""
    page = visit(address("search"))
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    assert page.url.endswith(address("search"))  # the address is still that of the page
    page.keyboard.press("Tab")
    stops = []
    for _ in range(80):
        stop = page.evaluate(
            "(() => { const e = document.activeElement, r = e.getBoundingClientRect(), s = getComputedStyle(e);"
            " return [e.tagName, r.width > 0 && r.height > 0, s.outlineStyle !== 'none'] })()"
        )
        if stop[0] == "BODY":
            break
        stops.append(stop)
        page.keyboard.press("Tab")
    assert stop[0] == "BODY", "there is no end to it"
    assert len(stops) > 10
    assert all(seen and marked for _, seen, marked in stops), stops


def test_landmarks_headings_and_tables(visit: Open) -> None:
    page = visit(address("search", "laptop"))
    for role in ("banner", "main", "search", "status"):
        assert page.get_by_role(role).count() == 1, role  # type: ignore[arg-type]
    assert page.locator("h1").count() == 1
    for table in page.locator("table").all():
        assert table.locator("caption").count() == 1
        assert table.locator("th[scope=col]").count() > 0
        assert table.locator("tbody tr").count() == table.locator("tbody th[scope=row]").count()
    for drawing in page.locator("main svg").all():
        assert drawing.get_attribute("role") == "img"
        assert drawing.get_attribute("aria-label")


def test_the_colours_are_those_of_the_system_unless_chosen(visit: Open, page: Page) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    page.emulate_media(color_scheme="light")
    visit()
    light = page.evaluate(ground)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(ground)
    assert light != dark
    page.get_by_label("Colours").select_option("Light")
    assert page.evaluate(ground) == light
    page.reload()
    expect(page.get_by_label("Colours")).to_have_value("light")
    assert page.evaluate(ground) == light
    page.get_by_label("Colours").select_option("System")
    assert page.evaluate(ground) == dark


def test_it_works_offline(
    visit: Open, page: Page, shop: Running, impression: dict[str, str], violations: list[str]
) -> None:
    """No page asks anybody but its own service for anything, and no page breaks its own rules."""
    strangers: list[str] = []
    page.on("request", lambda request: request.url.startswith(shop.address) or strangers.append(request.url))
    visit()
    for name in PAGES:
        look(page, shop, name, impression)
    assert not strangers
