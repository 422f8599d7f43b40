"""Every number on every page, as a reader sees it, against what the service answers.

Pages are read whole: the facts at their top, each cell of each table (also of those that are folded away), and each
sentence with a number in it. What is expected is made of the service's answers by a few functions of this file, which
share nothing with the page's scripts. The answers themselves are compared with plain SQL in `tests/live/views`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import Any
from urllib.parse import quote

import pytest
from dashboard_pages import Open, address, facts, section, tables
from dashboard_world import HTML, REVERTED
from playwright.sync_api import Page
from service_client import Running


@pytest.fixture
def page(page: Page) -> Page:
    """A page whose times are those of UTC."""
    page.add_init_script(
        "const plain = Intl.DateTimeFormat; Intl.DateTimeFormat = function (place, more) "
        "{ return new plain(place, { ...more, timeZone: 'UTC' }); };"
    )
    return page


def get(running: Running, path: str) -> Any:
    answer = running.admin.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json()


def overview(running: Running) -> Any:
    """The overview, once the whole journal has been counted."""
    for _ in range(200):
        found = get(running, "/v1/overview")
        if found["counted"]["complete"]:
            return found
    raise AssertionError("counting does not come to an end")


def of_key(running: Running, loop: str, key: str) -> tuple[Any, Any]:
    """What is known of a key, and its history once it is complete."""
    path = f"/v1/loops/{quote(loop)}/keys/{quote(key, safe='')}"
    for _ in range(200):
        detail, history = get(running, path), get(running, f"{path}/history")
        if history["progress"]["complete"] and detail["counted"]["complete"]:
            return detail, history
    raise AssertionError("the history does not come to an end")


# -- numbers as people read them ---------------------------------------------------------------------------------


def rounded(n: float | Decimal, digits: int) -> str:
    """A number with so many digits; halves go away from 0, as people round."""
    text = f"{Decimal(n).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP):,}"
    return text.replace("-", "−")


def number(n: float | None, digits: int = 0) -> str:
    return "–" if n is None else rounded(n, digits)


def decimal(n: float | None, digits: int = 2) -> str:
    return "–" if n is None else rounded(n, digits).replace(",", "")


def short(n: float) -> str:
    """A large number in thousands."""
    return number(n) if n < 10_000 else rounded(Decimal(n) / 1000, 1).removesuffix(".0") + "K"


def percent(share: float | None, digits: int = 1) -> str:
    return "–" if share is None else f"{rounded(100 * share, digits)} %"


def points(share: float) -> str:
    return ("+" if share > 0 else "") + rounded(100 * share, 2)


def plural(n: int, one: str, many: str = "") -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def when(seconds: float) -> str:
    at = datetime.fromtimestamp(seconds, UTC)
    year = "" if at.year == datetime.now(UTC).year else f" {at.year}"
    return f"{at.day} {'Sept' if at.month == 9 else at.strftime('%b')}{year}, {at.strftime('%H:%M')}"


def lag(seconds: float) -> str:
    assert seconds < 1, "the store's windows are attended to"
    return f"{round(1000 * seconds)} ms"


def verdict(uplift: Any) -> str:
    if uplift is None or uplift["difference"] is None:
        return "Nothing to compare yet: it takes impressions with the loop and in the holdout."
    if uplift["low"] is None:
        return f"{points(uplift['difference'])} points so far; too few users for an interval."
    said = "The loop helps" if uplift["low"] > 0 else "The loop costs clicks" if uplift["high"] < 0 else "Not decided"
    return f"{said}: {points(uplift['difference'])} points ({points(uplift['low'])} to {points(uplift['high'])})."


def share(side: Any) -> str:
    return (
        f"{percent(side['clicked'] / side['impressions'])} of {side['impressions']:,}" if side["impressions"] else "–"
    )


def per_impression(of: Any) -> str:
    return decimal(of["clicks"] / of["impressions"]) if of["impressions"] else "–"


# -- pages -------------------------------------------------------------------------------------------------------


def test_overview(visit: Open, shop: Running) -> None:
    found = overview(shop)
    loops, store = found["loops"], found["store"]
    total = {word: sum(loop[word] for loop in loops) for word in ("keys", "impressions", "clicks", "open", "per_hour")}
    page = visit()
    assert facts(page) == {
        "Loops": (number(len(loops)), plural(total["keys"], "key")),
        "Impressions": (short(total["impressions"]), f"{short(total['per_hour'])} in the last hour"),
        "Clicks": (
            short(total["clicks"]),
            plural(sum(loop["duplicates"] for loop in loops), "duplicate left out", "duplicates left out"),
        ),
        "Open impressions": (short(total["open"]), "Their windows have not passed."),
        "Learning lag": (lag(max(loop["lag"] for loop in loops)), "How long windows that have passed wait."),
        "Health": (
            "All is well",
            f"{short(store['entries'])} entries, {store['bytes'] / 1e6:.1f} MB, in {store['name']}",
        ),
    }
    assert store["name"] == "shop.db"
    for loop in loops:
        card = page.locator("li.loop", has=page.get_by_role("link", name=loop["loop"], exact=True))
        assert (
            card.locator(".traffic .label").inner_text() == f"{plural(loop['per_hour'], 'impression')} in the last hour"
        )
        drawn = sum(loop["series"]["impressions"])
        assert (
            card.locator(".traffic svg").get_attribute("aria-label")
            == f"{plural(drawn, 'impression')} in the last 3 hours"
        )
        assert card.locator(".number strong").all_inner_texts() == [short(loop["open"]), lag(loop["lag"])]
        told = card.locator(".verdict p").inner_text()
        if loop["race"] is None:
            assert told == verdict(loop["uplift"])
        else:
            race = loop["race"]
            assert told == (
                f"{race['survivors']} of {race['rankers']} rankers are still in the race; {race['best']} looks best."
            )
    lately = section(page, "Lately").locator("ol.events > li")
    shown = found["happenings"][:30]
    assert lately.locator("time").all_inner_texts() == [when(each["at"]) for each in shown]
    for text, each in zip(lately.all_inner_texts(), shown, strict=True):
        assert text.endswith(each["text"])


@pytest.mark.parametrize("name", ["search", "front page", "home"])
def test_a_loop(visit: Open, shop: Running, name: str) -> None:
    loop = next(each for each in overview(shop)["loops"] if each["loop"] == name)
    keys = get(shop, f"/v1/loops/{quote(name)}/keys?limit=25")
    page = visit(address(name))
    assert facts(page) == {
        "Keys": (short(loop["keys"]), "Each has a learner of its own."),
        "Impressions": (short(loop["impressions"]), f"{short(loop['per_hour'])} in the last hour"),
        "Clicks": (short(loop["clicks"]), f"{per_impression(loop)} per impression"),
        "Open": (short(loop["open"]), "Their windows have not passed."),
        "Learned from": (short(loop["learned"]), "nothing waits"),
        "Traffic": (percent(loop["traffic"], 0), f"holdout {percent(loop['holdout_share'], 0)}"),
    }
    found, uplift, series = tables(page), loop["uplift"], loop["series"]
    assert section(page, "Does it help?").locator("strong").inner_text() == verdict(uplift)
    assert found["Impressions with at least one click"] == [
        ["With the loop", number(uplift["impressions"][0]), percent(uplift["loop"], 2)],
        ["Holdout", number(uplift["impressions"][1]), percent(uplift["holdout"], 2)],
    ]
    assert found["Traffic"] == [
        [when(series["from"] + 60 * i), *(number(sum(series[word][i : i + 5])) for word in ("impressions", "clicks"))]
        for i in range(0, 180, 5)
    ]
    told = section(page, "Traffic").locator("p.quiet").last.inner_text()
    assert re.findall(r"[\d,]+", told) == [
        number(loop[word]) for word in ("duplicates", "late", "recovered", "fallbacks")
    ]
    assert found["Keys, those with most impressions first"] == [
        [
            each["key"],
            number(each["impressions"]),
            number(each["clicks"]),
            per_impression(each),
            number(each["learned"]),
            when(each["last"]),
        ]
        for each in keys["keys"]
    ]
    assert page.locator(".pager").inner_text() == f"1 to {len(keys['keys'])} of {keys['total']} keys"


def check_key(page: Page, detail: Any, history: Any) -> dict[str, list[list[str]]]:
    """The facts and the changes of a key; all tables of its page."""
    assert facts(page) == {
        "Impressions": (short(detail["impressions"]), f"last {when(detail['last'])}"),
        "Clicks": (short(detail["clicks"]), f"{per_impression(detail)} per impression"),
        "Learned from": (short(detail["learned"]), "lists whose windows have passed"),
        "Policy": (detail["policy"], f"{detail['kind']} loop"),
    }
    found = tables(page)
    if detail["kind"] != "diversify" and history["changes"]:
        rows = found["Changes, the newest first"]
        assert [[row[0], *row[2:]] for row in rows] == [
            [when(each["at"]), evidence(each), share(each["before"]), share(each["after"])]
            for each in reversed(history["changes"])
        ]
    return found


def evidence(change: Any) -> str:
    if "attractions" in change:
        return "attraction {} against {}".format(*map(percent, change["attractions"]))
    if "lead" not in change:
        return "–"
    compared = plural(change["of"], "comparison")
    return f"lead {change['lead']:,} in {compared}, needed more than {decimal(change['needs'], 1)}"


@pytest.mark.parametrize("key", ["laptop", REVERTED, HTML])
def test_a_key_of_rerank(visit: Open, shop: Running, key: str) -> None:
    detail, history = of_key(shop, "search", key)
    page = visit(address("search", key))
    found, receipt = check_key(page, detail, history), detail["receipt"]
    assert bool(history["changes"]) == (key != HTML)
    assert found.get("Evidence about neighbours", []) == [
        [
            f"{pair['upper']} over {pair['lower']}",
            "",
            decimal(pair["lead"], 0),
            decimal(pair["threshold"], 1),
            number(pair["observations"]),
            "yes" if pair["decided"] else "not yet",
        ]
        for pair in receipt["pairs"]
    ]
    told = section(page, "Receipt").inner_text()
    if receipt["exchanges"]:
        assert f"{plural(len(receipt['exchanges']), 'exchange')} of neighbours" in told
    else:
        assert "No neighbours were exchanged for good so far." in told
    assert f"{receipt['lists_learned_from']:,} lists" in told
    moves = [
        (detail["production"].index(item) - place, item)
        for place, item in enumerate(detail["best"])
        if detail["production"][place] != item
    ]
    listed = section(page, "Production's list, and today's")
    if moves:
        assert (
            listed.locator("header + p")
            .inner_text()
            .startswith(f"{plural(len(moves), 'item has', 'items have')} moved")
        )
    shown = listed.locator("ol.places").last.locator(".badge .hidden").all_text_contents()
    assert shown == [f"{'up' if by > 0 else 'down'} {abs(by)}" for by, _ in moves]


def test_a_key_of_follow(visit: Open, shop: Running) -> None:
    detail, history = of_key(shop, "front page", "morning")
    page = visit(address("front page", "morning"))
    found, series = check_key(page, detail, history), history["series"]
    assert found["Attraction now"] == [
        [each["item"], percent(each["attraction"]), decimal(each["looks"], 1)] for each in detail["items"]
    ]
    assert found["Impressions with a click"] == [
        [when(at), number(shown), number(clicked)]
        for at, shown, clicked in zip(series["at"], series["impressions"], series["clicked"], strict=True)
    ]
    marks = section(page, "Attraction of items").locator("svg g title", has_text="looks best").all_text_contents()
    assert marks == [f"{when(each['at'])}: {each['raised']} looks best" for each in history["changes"]]
    assert {"football", "film"} <= {each["raised"] for each in history["changes"]}


def test_a_key_of_diversify(visit: Open, shop: Running) -> None:
    detail, history = of_key(shop, "home", "reader 1")
    page = visit(address("home", "reader 1"))
    found, told, series = check_key(page, detail, history), detail["explained"], history["series"]
    for caption, rows in (
        ("Weights of topics", [(each["topic"], each) for each in told["topics"]]),
        ("Weights of relevance features", [(f"Feature {each['feature'] + 1}", each) for each in told["relevance"]]),
    ):
        assert found[caption] == [
            [name, "", f"{decimal(each['weight'])} ± {decimal(each['error'])}"] for name, each in rows
        ]
    assert found["Share of each topic covered, position by position"] == [
        [f"{i + 1}. {told['list'][i]['item']}", *(percent(each, 0) for each in row)]
        for i, row in enumerate(told["covered"])
    ]
    assert found["Why each item stands where it stands"] == [
        [
            f"{i + 1}. {each['item']}",
            ", ".join(each["topics"]),
            "",
            *(decimal(each[word]) for word in ("attraction", "relevance", "novelty", "uncertainty")),
        ]
        for i, each in enumerate(told["list"])
    ]
    drawn = sorted(series["topics"], key=lambda each: -abs(each["weight"][-1]))
    assert found["Weights of topics over time"] == [
        [when(at), *(decimal(each["weight"][i]) for each in drawn)] for i, at in enumerate(series["at"])
    ]


def test_a_race(visit: Open, shop: Running) -> None:
    loop = next(each for each in overview(shop)["loops"] if each["loop"] == "rankers")
    found = get(shop, "/v1/loops/rankers/race")
    page = visit(address("rankers"))
    decision, regret = found["decision"], found["regret"]
    surviving = sum(map(len, found["batches"]))
    days = decision["days"]
    assert facts(page) == {
        "Rankers in the race": (f"{surviving} of {found['rankers']}", f"Leader: {found['leader']}"),
        "Duels with a winner": (
            short(found["duels"]),
            f"{plural(found['ties'], 'tie')}, from which nothing is learned",
        ),
        "Days until a decision": (
            "under 1" if days < 1 else decimal(days, 1 if days < 10 else 0),
            f"at {short(decision['per_day'])} duels per day",
        ),
        "Regret so far (estimate)": (short(regret["spent"]), f"{decimal(regret['per_duel'], 3)} per duel"),
        "Open impressions": (short(loop["open"]), "Their windows have not passed."),
    }
    shown = tables(page)
    rows = [
        [
            each["ranker"] + (" leader" if each["ranker"] == found["leader"] else ""),
            f"{each['wins']:,} : {each['losses']:,}",
            percent(each["against_leader"]["preference"], 0) if each["against_leader"] else "–",
            f"batch {each['batch'] + 1}"
            if each["survives"]
            else f"{when(each['eliminated_at'])} by {each['eliminated_by']}",
        ]
        for each in found["standings"]
    ]
    assert shown["Rankers, those still in the race first"] + shown["More rankers"] == rows
    labels = section(page, "Standings").locator("svg").evaluate_all("all => all.map(e => e.getAttribute('aria-label'))")
    assert (
        labels
        == [
            f"{percent(each['preference'], 0)} ({percent(each['low'], 0)} to {percent(each['high'], 0)}), "
            f"{each['wins']} won and {each['losses']} lost"
            for each in (row["against_leader"] for row in found["standings"])
            if each is not None
        ][: len(labels)]
    )
    gone = [each for each in found["standings"] if not each["survives"]]
    assert shown["Eliminations"] == [
        [each["ranker"], when(each["eliminated_at"]), each["eliminated_by"]] for each in gone
    ]
    names, duels, wins = (found["pairs"][word] for word in ("rankers", "duels", "wins"))
    met = [(i, j) for i in range(len(names)) for j in range(i + 1, len(names)) if duels[i][j]]
    assert shown["Pairs that met"] == [
        [f"{names[i]} and {names[j]}", number(duels[i][j]), number(wins[i][j]), number(wins[j][i])] for i, j in met
    ]
    squares = section(page, "Pairs").locator("svg g > title").all_text_contents()
    assert squares == [
        f"{names[i]} beat {names[j]} in {wins[i][j]:,} of {duels[i][j]:,} duels "
        f"({percent(wins[i][j] / duels[i][j], 0)})"
        for i in range(len(names))
        for j in range(len(names))
        if i != j and duels[i][j]
    ]
    told = section(page, "How this is estimated").inner_text()
    assert (
        f"About {short(decision['duels_left'])} duels are left; the smallest gap is {decimal(decision['gap'], 3)}."
        in told
    )
    for text in (decision["how"], *decision["assumes"], regret["how"]):
        assert text in told


@pytest.mark.parametrize("loop", ["search", "rankers", "home", "front page"])
def test_an_impression(visit: Open, shop: Running, loop: str) -> None:
    if loop == "rankers":
        duel = shop.admin.post("/v1/loops/rankers/duel", json={"user": "u7"}).json()
        lists = {ranker: [f"{ranker}: {i}" for i in range(3)] for ranker in duel["rankers"]}
        shown = shop.admin.post("/v1/loops/rankers/interleave", json={"duel": duel["id"], "lists": lists}).json()
    else:
        keys = {"search": "laptop", "home": "reader 1", "front page": "morning"}
        items = get(shop, f"/v1/loops/{quote(loop)}/keys/{keys[loop]}")["production"]
        given = {"key": keys[loop], "items": items, "user": "u7"}
        shown = shop.admin.post(f"/v1/loops/{quote(loop)}/rank", json=given).json()
    shop.admin.post("/v1/events", json={"impression": shown["id"], "item": shown["items"][1], "seen": 2})
    shop.admin.post("/v1/events", json={"impression": shown["id"], "type": "finish"})
    found = get(shop, f"/v1/impressions/{shown['id']}")
    page = visit(f"#/impressions/{shown['id']}")
    told = facts(page)
    assert told["Shown"] == (when(found["shown_at"]), f"closed {when(found['closed_at'])}")
    assert told["Shown to"][0] == f"Bucket {found['bucket']:,}"
    assert told["Decided by"][0] == found["arm"]
    assert told["Policy"][0] == found["policy"]
    if found["propensity"] is not None:
        assert float(told["Policy"][1].rpartition(" ")[2]) == pytest.approx(found["propensity"], rel=0.005)
    assert told["Events"] == ("2", "1 item clicked")
    assert len(told) == 5
    assert "The user's name is not kept." in page.locator("main").inner_text()
    events = page.locator("ol.events > li")
    assert events.locator("time").all_inner_texts() == [when(each["at"]) for each in found["heard"]]
    assert events.locator("div").all_inner_texts() == [
        f"the first {plural(each['positions'], 'position')} came into view"
        if each["type"] == "seen"
        else f"{each['type']} on {each['item']} at position {each['position'] + 1}"
        for each in found["heard"]
    ]
    assert f"Outcome: {found['outcome']}" in page.locator("main").inner_text()
    known = found["evidence"]
    assert known, "each of these policies says what it knew"
    if "explanation" in known[0]:
        assert page.locator("main pre").inner_text().split() == known[0]["explanation"].split()
        return
    assert tables(page)["Evidence"] == [[cell(value) for value in row.values()] for row in known]
    headings = section(page, "What was known at that moment").locator("thead th").all_inner_texts()
    assert all(heading[0].isupper() for heading in headings)


def cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else decimal(value, 0 if float(value).is_integer() else 2)
