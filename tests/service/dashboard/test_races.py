"""The race page for every policy that compares rankers, for duels with keys, and before the first duel."""

from __future__ import annotations

import pytest
from dashboard_pages import Open, address, fact, section
from playwright.sync_api import Browser, expect
from service_client import ADMIN, Running

from rankloop.live.settings import POLICIES

RANKERS = ["good", "fair", "<b>poor</b>"]


def race(running: Running, loop: str, n: int, key: str = "") -> None:
    """So many duels, each of which the ranker wins that stands first in `RANKERS`."""
    for _ in range(n):
        duel = running.admin.post(f"/v1/loops/{loop}/duel", json={"key": key} if key else {}).json()
        lists = {ranker: [f"{ranker} {i}" for i in range(4)] for ranker in duel["rankers"]}
        given = {"duel": duel["id"], "lists": lists, "positions": 4}
        shown = running.admin.post(f"/v1/loops/{loop}/interleave", json=given).json()
        better = min(duel["rankers"], key=RANKERS.index)
        clicked = next(item for item in shown["items"] if item.startswith(better))
        running.admin.post("/v1/events", json={"impression": shown["id"], "item": clicked})
        running.admin.post("/v1/events", json={"impression": shown["id"], "type": "finish"})


@pytest.mark.parametrize("policy", POLICIES["evaluate"])
def test_every_policy_has_a_page(visit: Open, shop: Running, policy: str) -> None:
    loop = f"race of {policy}"
    shop.admin.put(f"/v1/loops/{loop}", json={"kind": "evaluate", "rankers": RANKERS, "policy": policy, "seed": 3})
    page = visit(address(loop))
    expect(page.get_by_role("heading", name="This loop has no traffic yet")).to_be_visible()
    race(shop, loop, 12)
    page.reload()
    page.wait_for_selector(".facts")
    found = shop.admin.get(f"/v1/loops/{loop}/race").json()
    expect(page.locator("main")).to_contain_text(f"Leader: {found['leader']}")
    rows = section(page, "Standings").locator("tbody th bdi").all_inner_texts()
    assert rows == [each["ranker"] for each in found["standings"]]
    known = {"Duels with a winner": found["duels"], "Regret so far (estimate)": found["regret"]}
    for label, value in known.items():
        assert (fact(page, label) == "Not known") == (value is None), label
    assert (fact(page, "Days until a decision") == "Not known") == (found["decision"] is None)
    assert section(page, "Pairs").count() == (found["duels"] is not None)
    assert section(page, "How this is estimated").count() == (found["regret"] is not None)
    assert "`" not in page.locator("main").inner_text()


def test_duels_that_all_have_keys(visit: Open, shop: Running) -> None:
    """The busiest key's race is shown, the page says so, and leads to the others."""
    loop = "keyed race"
    shop.admin.put(f"/v1/loops/{loop}", json={"kind": "evaluate", "rankers": RANKERS, "seed": 4})
    race(shop, loop, 6, "news")
    race(shop, loop, 3, "sport <b>")
    page = visit()
    card = page.locator("li.loop", has=page.get_by_role("link", name=loop, exact=True))
    expect(card.locator(".verdict")).to_have_text("Each of 2 keys has a race of its own.")
    page = visit(address(loop))
    expect(page.locator("p.inset")).to_contain_text("This is the race of the busiest key, news")
    assert fact(page, "Duels with a winner") == "6"
    section(page, "Keys by traffic").get_by_role("link", name="sport <b>").click()
    expect(page.locator("h1")).to_have_text("sport <b>")
    assert fact(page, "Duels with a winner") == "3"
    expect(section(page, "Standings").locator("tbody tr")).to_have_count(3)
    race(shop, loop, 2)
    page = visit(address(loop))
    expect(page.locator("p.inset")).to_contain_text("This is the race of duels without a key")
    assert fact(page, "Duels with a winner") == "2"
    keys = section(page, "Keys by traffic").locator("tbody th").all_inner_texts()
    assert keys == ["news", "sport <b>", "without a key"]


def test_a_page_that_cannot_be_drawn_says_so(browser: Browser, shop: Running) -> None:
    """Whatever the script stumbles over: people read what is the matter, and the page tries again."""
    context = browser.new_context()
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.route("**/race", lambda route: route.fulfill(json={"loop": "rankers", "leader": "x", "batches": None}))
    page.goto(f"{shop.address}/#key={ADMIN}&to={address('rankers')[1:]}")
    expect(page.get_by_role("heading", name="This page cannot be drawn")).to_be_visible()
    expect(page.locator("main pre")).to_contain_text("TypeError")
    expect(page).to_have_title("This page cannot be drawn · rankloop")
    assert errors  # it is told to those who watch the browser, too
    page.unroute("**/race")
    page.get_by_role("button", name="Try now").click()
    expect(page.locator("h1")).to_have_text("rankers")
    context.close()
