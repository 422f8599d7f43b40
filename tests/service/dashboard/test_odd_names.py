"""Names with HTML, right-to-left text and emoji, of loops, rankers, topics, stories, items and keys, on every page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from dashboard_pages import Open, address, section
from live_world import Clock
from playwright.sync_api import Page, expect
from service_client import Running, served
from views_world import raced, wanted

import rankloop as rl

HTML = '<b onclick="document.title=1">&amp;</b>'
HEBREW = "שלום עולם"
EMOJI = "👩🏽‍💻 🇺🇳"
TURNED = "\u202eright to left\u202c"
NAMES = [HTML, HEBREW, EMOJI, TURNED]
RERANK, FOLLOW, EVALUATE, DIVERSIFY = (f"{kind} {HTML} {HEBREW} {EMOJI}" for kind in ("r", "f", "e", "d"))


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service whose loops, rankers, topics and keys all have odd names."""
    path, clock = tmp_path_factory.mktemp("odd") / "shop.db", Clock()
    _fill(path, clock)
    with served(path, clock=clock) as running:
        yield running


def _fill(path: Path, clock: Clock) -> None:
    with rl.Live(path, clock=clock, background=False) as live:
        live.create(RERANK, kind="rerank", delta=0.2, holdout=0, seed=1)
        live.create(FOLLOW, kind="follow", positions=2, holdout=0, gamma=0.9)
        live.create(EVALUATE, kind="evaluate", rankers=NAMES, c=1, alpha=0.1, seed=2)
        live.create(DIVERSIFY, kind="diversify", relevance=1, topics=NAMES[:3], positions=3, holdout=0)
        features = {
            f"{name} {i}": {"relevance": [0.2 * i], "topics": [float(k == n) for k in range(3)]}
            for n, name in enumerate(NAMES[:3])
            for i in range(2)
        }
        live.put_items(DIVERSIFY, features)
        for name in NAMES:
            for item in (NAMES[1], NAMES[0]):
                for _ in range(8):
                    clock.now += 60.0
                    wanted(live, RERANK, name, item, 8, NAMES)
                    shown = live.rank(FOLLOW, name, NAMES)
                    live.finish(shown.id)
            for item in (NAMES[2], NAMES[3]):
                for _ in range(60):
                    clock.now += 60.0
                    shown = live.rank(FOLLOW, name, NAMES)
                    if item in shown.items:
                        live.click(shown.id, item)
                    live.finish(shown.id)
            for _ in range(12):
                shown = live.rank(DIVERSIFY, name, list(features))
                live.click(shown.id, shown.items[1])
                live.finish(shown.id)
        raced(live, EVALUATE, 40, NAMES)
        live.revert(RERANK, NAMES[3])


@pytest.fixture(autouse=True)
def nothing_runs(page: Page, violations: list[str]) -> Iterator[None]:
    """No name becomes an element, and no script of a name runs."""
    yield
    assert page.locator("main b, main img, main script").count() == 0
    assert "rankloop" in page.title()
    assert not violations


def test_overview_and_lately(visit: Open, odd: Running) -> None:
    page = visit(running=odd)
    expect(section(page, "Lately").locator(".badge", has_text="created").first).to_be_visible()
    names = page.locator("li.loop h3 bdi").all_inner_texts()
    assert names == [RERANK, FOLLOW, EVALUATE, DIVERSIFY]
    assert page.get_by_role("navigation", name="Loops").locator("bdi").all_inner_texts() == names
    told = odd.admin.get("/v1/overview").json()["happenings"]
    assert {"exchange", "eliminated", "winner", "reverted"} <= {each["kind"] for each in told}
    lately = section(page, "Lately").locator("ol.events > li")
    for i, each in enumerate(told[:30]):
        parts = lately.nth(i).locator("bdi").all_inner_texts()
        loop_and_key = [name for name in (each["loop"], each["key"]) if name]
        assert parts == [*loop_and_key, each["text"]]


def test_rerank(visit: Open, odd: Running) -> None:
    page = visit(address(RERANK), running=odd)
    expect(page.locator("h1")).to_have_text(RERANK)
    assert page.title() == f"{RERANK} · rankloop"
    keys = section(page, "Keys by traffic")
    assert set(keys.locator("tbody th bdi").all_inner_texts()) == set(NAMES)
    page.get_by_label("Find a key").fill(HEBREW)
    page.keyboard.press("Enter")
    expect(keys.locator("tbody tr")).to_have_count(1)
    for name in NAMES:
        visit(address(RERANK, name), running=odd)
        expect(page.locator("h1 bdi")).to_have_text(name)
        assert page.locator("ol.places").first.locator("bdi").all_inner_texts() == NAMES
        changes = section(page, "What changed, and why")
        expect(changes.locator("tbody tr").first).to_be_visible()
        said = set(changes.locator("tbody td.text bdi").all_inner_texts())
        assert said <= set(NAMES)
        assert len(said) >= 2
    pairs = section(page, "Evidence about neighbours")
    assert set(pairs.locator("tbody th bdi").all_inner_texts()) <= set(NAMES)


def test_follow(visit: Open, odd: Running) -> None:
    for key in NAMES:
        page = visit(address(FOLLOW, key), running=odd)
        panel = section(page, "Attraction of items")
        panel.locator("path.line").first.wait_for()
        assert set(panel.locator(".legend bdi").all_inner_texts()) == set(NAMES)
        assert set(panel.locator("svg > g[class] title").all_text_contents()) == set(NAMES)
        marks = panel.locator("svg g:not([class]) title").all_text_contents()
        assert any(mark.endswith(f": {NAMES[3]} looks best") for mark in marks)


def test_the_race(visit: Open, odd: Running) -> None:
    page = visit(address(EVALUATE), running=odd)
    assert section(page, "Standings").locator("tbody th bdi").all_inner_texts()[0] == NAMES[0]
    assert set(section(page, "Standings").locator("tbody th bdi").all_inner_texts()) == set(NAMES)
    drawn = section(page, "Pairs").locator("svg")
    found = odd.admin.get(f"/v1/loops/{quote(EVALUATE, safe='')}/race").json()["pairs"]
    for i, name in enumerate(found["rankers"]):
        assert drawn.locator("text.name").nth(i).locator("title").text_content() == name
    squares = drawn.locator("g > title").all_text_contents()
    assert any(f"{NAMES[0]} beat {NAMES[1]} in" in text for text in squares)
    lately = section(page, "Lately").locator("ol.events bdi").all_inner_texts()
    assert any(text.startswith(f"{NAMES[0]} has won") for text in lately)


def test_diversify(visit: Open, odd: Running) -> None:
    page = visit(address(DIVERSIFY, NAMES[1]), running=odd)
    assert section(page, "Weights of topics").locator("tbody th bdi").all_inner_texts() == NAMES[:3]
    covered = section(page, "Topics covered down the list")
    assert covered.locator("thead bdi").all_inner_texts() == NAMES[:3]
    listed = section(page, "The list, item by item")
    topics = set(listed.locator("tbody td:nth-child(2) bdi").all_inner_texts())
    assert topics <= set(NAMES[:3])
    assert topics
    over_time = section(page, "Weights of topics over time")
    assert set(over_time.locator(".legend bdi").all_inner_texts()) == set(NAMES[:3])


def test_an_impression(visit: Open, odd: Running) -> None:
    path = f"/v1/loops/{quote(RERANK, safe='')}/rank"
    shown = odd.admin.post(path, json={"key": HEBREW, "items": NAMES}).json()
    odd.admin.post("/v1/events", json={"impression": shown["id"], "item": HTML})
    page = visit(f"#/impressions/{shown['id']}", running=odd)
    assert page.locator("ol.places").last.locator("li > bdi").all_inner_texts() == shown["items"]
    assert page.locator("nav.crumbs bdi").all_inner_texts() == ["Overview", RERANK, HEBREW]
    assert page.locator("ol.events bdi").all_inner_texts() == [HTML]
