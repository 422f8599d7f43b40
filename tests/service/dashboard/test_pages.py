"""Each page of the dashboard on a store with known content: its numbers are those of `live.status`."""

from __future__ import annotations

from dashboard_pages import Open, address, fact, section
from dashboard_world import ARABIC, EMOJI, HTML, LISTS, RANKERS, REVERTED, STORIES, TOPICS
from playwright.sync_api import expect
from service_client import Running


def test_the_overview_has_the_numbers_of_the_loops(visit: Open, shop: Running) -> None:
    page = visit()
    expect(page).to_have_title("Overview · rankloop")
    statuses = shop.service.live.status()
    for loop, status in statuses.items():
        card = page.locator("li.loop", has=page.get_by_role("link", name=loop, exact=True))
        expect(card.locator(".number").first).to_contain_text(f"{status['open']:,}")
        expect(card.locator(".tags")).to_contain_text(status["kind"])
        if status["kind"] == "evaluate":
            expect(card).to_contain_text(f"{len(status['survivors'])} of {len(RANKERS)} rankers")
            expect(card).to_contain_text(f"{status['best']} looks best")
        elif status["uplift"].difference is not None:
            sign = "+" if status["uplift"].difference > 0 else ""
            expect(card.locator(".verdict")).to_contain_text(
                f"{sign}{100 * status['uplift'].difference:.2f}".replace("-", "−")
            )
    total = sum(status["impressions"] for status in statuses.values())
    assert fact(page, "Impressions").startswith(f"{total / 1000:.1f}".removesuffix(".0"))
    assert fact(page, "Clicks") == f"{sum(status['clicks'] for status in statuses.values()):,}"
    expect(page.locator("li.loop", has_text="new loop")).to_contain_text("no traffic yet")
    lately = section(page, "Lately")
    for word in ("exchange", "eliminated", "reverted"):  # each once the whole journal has been counted
        expect(lately.locator(".badge", has_text=word).first).to_be_visible()


def test_a_rerank_loop_lists_its_keys_by_traffic(visit: Open, shop: Running) -> None:
    page = visit(address("search"))
    status = shop.service.live.status("search")
    assert fact(page, "Impressions") == f"{status['impressions']:,}"
    assert fact(page, "Learned from") == f"{status['learned']:,}"
    assert fact(page, "Keys") == f"{status['keys']:,}"
    first = page.locator("tbody tr", has=page.get_by_role("link")).first
    expect(first).to_contain_text("laptop")
    compared = status["uplift"]
    holdout = page.locator("tr", has_text="Holdout")
    expect(holdout).to_contain_text(f"{compared.impressions[1]:,}")
    expect(holdout).to_contain_text(f"{100 * compared.holdout:.2f} %")
    names = set(page.locator("tbody tr a bdi").all_inner_texts())
    assert {HTML, ARABIC, EMOJI, REVERTED} <= names


def test_a_key_shows_its_lists_exchanges_and_receipt(visit: Open, shop: Running) -> None:
    page = visit(address("search", "laptop"))
    live = shop.service.live
    best, receipt = live.best("search", "laptop"), live.receipt("search", "laptop")
    assert best != LISTS["laptop"]  # something has been exchanged, or there is nothing to see
    shown = [column.locator("li bdi").all_inner_texts() for column in page.locator("ol.places").all()]
    assert shown == [LISTS["laptop"], best]
    for exchange in receipt.exchanges:
        row = page.locator("tr", has_text=f"{exchange.raised} took the place of {exchange.lowered}")
        expect(row.first).to_contain_text("needed more than")
    panel = section(page, "Receipt")
    expect(panel).to_contain_text(f"{receipt.lists_learned_from:,} lists")
    expect(panel).to_contain_text("with probability at least")
    pairs = section(page, "Evidence about neighbours")
    expect(pairs.locator("tbody tr")).to_have_count(len(receipt.pairs))


def test_a_key_that_was_reverted_says_so(visit: Open) -> None:
    page = visit(address("search", REVERTED))
    expect(page.get_by_role("heading", name="This key was set back to production's list")).to_be_visible()
    columns = page.locator("ol.places").all()
    assert columns[0].inner_text() == columns[1].inner_text()


def test_the_race_of_rankers(visit: Open, shop: Running) -> None:
    page = visit(address("rankers"))
    status = shop.service.live.status("rankers")
    assert fact(page, "Rankers in the race") == f"{len(status['survivors'])} of {len(RANKERS)}"
    chips = set(page.locator(".chips li").all_inner_texts())
    assert chips == set(status["survivors"])
    standings = section(page, "Standings")
    gone = set(RANKERS) - set(status["survivors"])
    assert gone
    listed = set(standings.locator("tr.out th bdi").all_text_contents())  # some are folded away
    assert listed == gone
    expect(standings.locator("tbody tr", has_text="leader").first).to_contain_text(status["best"])
    expect(standings.locator("tr.out").first).to_contain_text("by ")
    expect(page.locator("dt", has_text="Days until a decision")).to_be_visible()
    expect(page.locator("dt", has_text="Regret so far")).to_be_visible()
    assert section(page, "Pairs").locator("svg rect").count() == len(RANKERS) ** 2


def test_a_follow_loop_draws_attraction_and_its_changes(visit: Open, shop: Running) -> None:
    page = visit(address("front page", "morning"))
    panel = section(page, "Attraction of items")
    panel.locator("path.line").first.wait_for()
    assert set(panel.locator(".legend bdi").all_inner_texts()) == set(STORIES)
    assert panel.locator("path.line").count() == len(STORIES)
    panel.locator("summary").click()
    assert set(panel.locator("tbody th").all_inner_texts()) == set(STORIES)
    changes = section(page, "What changed, and why")
    expect(changes.locator("tbody tr").first).to_contain_text("film looks best, where football did")
    assert panel.locator(".marker").count() == changes.locator("tbody tr").count()
    share = section(page, "Impressions with a click").locator("svg text", has_text="%").all_text_contents()
    assert share
    assert all(0 <= float(text.removesuffix(" %")) <= 100 for text in share)
    shown = page.locator("ol.places").last.locator("bdi").all_inner_texts()
    assert shown == shop.service.live.best("front page", "morning")


def test_a_diversify_loop_explains_one_list(visit: Open, shop: Running) -> None:
    page = visit(address("home", "reader 1"))
    best = shop.service.live.best("home", "reader 1")
    listed = section(page, "The list, item by item")
    assert listed.locator("tbody th bdi").all_inner_texts() == best
    covered = section(page, "Topics covered down the list")
    assert covered.locator("thead th").all_inner_texts() == ["Position", *TOPICS]
    cells = covered.locator("tbody td:nth-child(2)").all_inner_texts()
    shares = [float(cell.removesuffix(" %")) for cell in cells]
    assert shares == sorted(shares)
    weights = section(page, "Weights of topics")
    assert weights.locator("tbody tr").count() == len(TOPICS)


def test_an_impression_is_found_by_its_id(visit: Open, shop: Running) -> None:
    rank = {"key": "laptop", "items": LISTS["laptop"], "user": "somebody new"}
    shown = shop.admin.post("/v1/loops/search/rank", json=rank).json()
    shop.admin.post("/v1/events", json={"impression": shown["id"], "item": shown["items"][2]})
    page = visit()
    page.get_by_role("searchbox", name="Id of an impression").fill(shown["id"])
    page.get_by_role("button", name="Look up").click()
    expect(page.get_by_role("heading", name="An impression")).to_be_visible()
    assert page.locator("ol.places").last.locator("li bdi").all_inner_texts() == shown["items"]
    expect(page.locator("li", has_text="clicked")).to_contain_text(shown["items"][2])
    expect(page.locator(".events")).to_contain_text(f"click on {shown['items'][2]} at position 3")
    expect(page.locator("main")).to_contain_text("open: its window has not passed")
    page.get_by_role("searchbox", name="Id of an impression").fill("nonsense")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="There is no such page")).to_be_visible()
    expect(page.locator("main")).to_contain_text("no impression")


def test_names_are_texts_whatever_stands_in_them(visit: Open, shop: Running, violations: list[str]) -> None:
    for key in (HTML, ARABIC, EMOJI):
        page = visit(address("search", key))
        expect(page.locator("h1")).to_have_text(key)
        assert page.locator("h1 bdi").count() == 1  # written from right to left without turning what stands around it
        assert page.title() == f"{key} · search · rankloop"
        assert page.locator("ol.places").first.locator("bdi").all_inner_texts()[:1] == LISTS.get(key, [f"{key} 1"])[:1]
        assert page.locator("main img, main script, main b").count() == 0


def test_a_loop_without_traffic_says_how_to_begin(visit: Open) -> None:
    page = visit(address("new loop"))
    expect(page.get_by_role("heading", name="This loop has no traffic yet")).to_be_visible()
    expect(page.locator("pre")).to_contain_text('client.rank("new loop"')


def test_addresses_of_nothing(visit: Open) -> None:
    for nowhere in (address("nothing"), address("search", "never asked for"), "#/nowhere", "#/loops/%E0%A4%A"):
        page = visit(nowhere)
        expect(page.get_by_role("heading", name="There is no such page")).to_be_visible()
        page.get_by_role("link", name="Go to the overview").click()
        expect(page.get_by_role("heading", name="Overview")).to_be_visible()
