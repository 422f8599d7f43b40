"""The search engine over the standard library's documentation, from the docstrings to the table."""

from __future__ import annotations

import functools
import html
import math
import random
import re
import shutil
import sqlite3
import unicodedata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page as BrowserPage
from service_client import ADMIN, served

import rankloop as rl
from rankloop.examples.docs_search import __main__ as program
from rankloop.examples.docs_search import collect
from rankloop.examples.docs_search import search as search_module
from rankloop.examples.docs_search.corpus import FIELDS, Corpus, Document, open_corpus, sentences, words
from rankloop.examples.docs_search.measure import landmarks, measure, reciprocal_ranks, rows_of
from rankloop.examples.docs_search.rankers import DEFAULT, RANKERS
from rankloop.examples.docs_search.search import POSITIONS, DocsSearch, Page
from rankloop.examples.docs_search.users import CLICK, STOP, Query, clicks, make_queries, visit
from rankloop.examples.docs_search.website import Website, results

EIGHT = ("even", "even exact", "even stems", "names", "text", "text exact", "body", "module")
"""Some good rankers, and one that is bad on purpose."""


# -- the corpus ------------------------------------------------------------------------------------------------------


def test_everybody_finds_what_everybody_knows(corpus: Corpus) -> None:
    assert len(corpus.documents) > 3_000
    for known in ("json.dumps", "os.path.join", "collections.OrderedDict.move_to_end", "re", "builtins.str.split"):
        assert known in corpus.documents
    assert "move" in corpus.documents["collections.OrderedDict.move_to_end"].text.lower()
    assert not [id_ for id_ in corpus.documents if id_.split(".")[0] in collect.SKIPPED]


def test_the_index_is_made_once_and_is_always_the_same(corpus: Corpus, tmp_path: Path) -> None:
    again = open_corpus(tmp_path)
    assert again.documents == corpus.documents
    again.close()
    [made] = tmp_path.iterdir()  # what was needed to make it is gone
    before = made.stat().st_mtime_ns
    open_corpus(tmp_path).close()
    assert made.stat().st_mtime_ns == before


def test_a_module_that_hangs_or_leaves_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hanging.py").write_text("while True: pass")
    (tmp_path / "leaving.py").write_text("raise SystemExit(3)")
    (tmp_path / "working.py").write_text("'''It works.'''\ndef f(a, b): 'Do it.'")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(collect, "SECONDS", 0.2)
    monkeypatch.setattr("sys.stdlib_module_names", ("hanging", "leaving", "working", "antigravity", "this"))
    found = [(document["id"], document["signature"]) for document in collect.documents()]
    assert found == [("working", ""), ("working.f", "a, b")]


def test_words_and_sentences() -> None:
    assert words("OrderedDict.move_to_end(key)") == ["ordered", "dict", "move", "to", "end", "key"]
    assert sentences("Do it.  Or\nnot.\n\nSee e.g. that.") == ["Do it.", "Or not.", "See e.g. that."]


def test_no_sentence_that_queries_are_made_of_is_in_the_index(corpus: Corpus) -> None:
    """Looked for by words, in everything that is indexed, without the code that left them out."""
    held = {document.id: " ".join(words(document.held)) for document in corpus.documents.values() if document.held}
    assert len(held) > 1_000
    database = sqlite3.connect(corpus.path)
    rows = database.execute("SELECT name, module, signature, summary, body FROM documents").fetchall()
    database.close()
    indexed = "\n".join(" ".join(words(field)) for row in rows for field in row)
    assert not [id_ for id_, sentence in held.items() if sentence in indexed]
    assert all(sentence in " ".join(words(corpus.documents[id_].text)) for id_, sentence in held.items())


def test_held_out_queries_are_asked_by_nobody(corpus: Corpus) -> None:
    asked, held_out = make_queries(corpus)
    assert len(held_out) == 600
    assert len(asked) > 500
    assert not {query.target for query in asked} & {query.target for query in held_out}
    assert not {query.text for query in asked} & {query.text for query in held_out}
    assert make_queries(corpus) == (asked, held_out)
    assert all(corpus.documents[query.target].held for query in held_out)


# -- rankers and users -----------------------------------------------------------------------------------------------


def test_there_are_64_rankers_and_the_default_is_the_first() -> None:
    assert len(RANKERS) == 64
    assert next(iter(RANKERS)) == DEFAULT
    assert len({(each.weights, each.index, each.exact, each.short) for each in RANKERS.values()}) == 64


@functools.cache
def tokens_of(path: Path) -> dict[str, dict[str, list[str]]]:
    """The words of each field of all documents."""
    database = sqlite3.connect(path)
    rows = database.execute("SELECT id, name, module, signature, summary, body FROM documents").fetchall()
    database.close()
    return {row[0]: {name: tokenized(text) for name, text in zip(FIELDS, row[1:], strict=True)} for row in rows}


def plain_scores(corpus: Corpus, terms: tuple[str, ...], field: str) -> dict[str, float]:
    """BM25 of one field as SQLite's manual has it, from the words of all documents."""
    tokens = tokens_of(corpus.path)
    lengths = {id_: sum(map(len, fields.values())) for id_, fields in tokens.items()}
    average = sum(lengths.values()) / len(lengths)
    scores = dict.fromkeys(tokens, 0.0)
    for term in terms:
        n = sum(any(term in each for each in fields.values()) for fields in tokens.values())
        rarity = max(1e-6, math.log((len(tokens) - n + 0.5) / (n + 0.5)))
        for id_, fields in tokens.items():
            often = fields[field].count(term)
            scores[id_] += rarity * often * 2.2 / (often + 1.2 * (0.25 + 0.75 * lengths[id_] / average))
    return scores


def tokenized(text: str) -> list[str]:
    """Words as SQLite's tokenizer unicode61 has them: without accents."""
    apart = unicodedata.normalize("NFKD", text.lower())
    return re.findall(r"[^\W_]+", "".join(letter for letter in apart if not unicodedata.combining(letter)))


@pytest.mark.parametrize("field", FIELDS)
def test_scores_are_bm25(corpus: Corpus, field: str) -> None:
    found, scores = corpus.candidates("parse date", "plain")
    expected = plain_scores(corpus, ("parse", "date"), field)
    assert scores.shape == (len(found), len(FIELDS))
    assert len(found) > 20
    shown = scores[:, FIELDS.index(field)]
    assert shown == pytest.approx([expected[document.id] for document in found], rel=0.02, abs=1e-9)


@pytest.mark.parametrize(
    "query", ["", "  ", "the", "zzzzqqq", '"', "a AND NOT (b OR", "*", "name:x", "日本語 🐍", "'; --"]
)
def test_any_text_is_a_query(corpus: Corpus, query: str) -> None:
    for ranker in ("even", "text stems exact short"):
        found = RANKERS[ranker].order(corpus, query)
        assert len(set(found)) == len(found)


@pytest.mark.parametrize("boost", ["", "exact", "short", "exact short"])
def test_rankers_weigh_fields_and_add_boosts(corpus: Corpus, boost: str) -> None:
    """Against a plain computation: scores by weight, 10 more for a name in the query, 1 less for each further word."""
    query = "json dumps"
    found, scores = corpus.candidates(query, "plain")
    total = {}
    for document, row in zip(found, scores, strict=True):
        total[document.id] = sum(w * score for w, score in zip((4, 4, 1, 1, 4), row, strict=True))
        if "exact" in boost:
            total[document.id] += 10 * set(words(document.id.split(".")[-1])).issubset(words(query))
        if "short" in boost:
            total[document.id] -= len(words(document.id)) - 1
    order = RANKERS[f"text {boost}".strip()].order(corpus, query)
    assert sorted(order) == sorted(total)
    assert [total[id_] for id_ in order] == pytest.approx(sorted(total.values(), reverse=True))


def test_stems_find_other_forms_of_a_word(corpus: Corpus) -> None:
    plain, stems = (corpus.candidates("parsing", index)[0] for index in ("plain", "stems"))
    fields = {each.id: (each.name, each.module, each.signature, each.summary, each.body) for each in (*plain, *stems)}
    has = {id_: {*tokenized(" ".join(texts)), *words(id_)} for id_, texts in fields.items()}
    assert all("parsing" in has[document.id] for document in plain)
    others = [has[document.id] for document in stems if "parsing" not in has[document.id]]
    assert others
    assert all(any(word.startswith("pars") for word in found) for found in others)


def test_where_no_word_is_found_every_ranker_looks_for_stems(corpus: Corpus) -> None:
    assert corpus.candidates("parsings", "plain")[0] == []
    assert all(ranker.order(corpus, "parsings") for ranker in RANKERS.values())
    assert not any(ranker.order(corpus, "zzzzqqq") for ranker in RANKERS.values())


def test_simulated_users_click_as_is_stated() -> None:
    """Shares of 20,000 users lie within 5 standard errors: a false alarm once in a million."""
    dice, n = random.Random(1), 20_000
    clicked = [clicks(["a", "b", "c"], "b", dice) for _ in range(n)]

    def near(share: float, expected: float) -> bool:
        return abs(share - expected) < 5 * (expected * (1 - expected) / n) ** 0.5

    reach = 1 - CLICK[0] * STOP[0]
    assert near(sum("a" in each for each in clicked) / n, CLICK[0])
    assert near(sum("b" in each for each in clicked) / n, reach * CLICK[1])
    assert near(sum("c" in each for each in clicked) / n, reach * (1 - CLICK[1] * STOP[1]) * CLICK[0])


def test_the_table(corpus: Corpus) -> None:
    _, held_out = make_queries(corpus)
    few = held_out[:100]
    rankers = {name: RANKERS[name] for name in EIGHT}
    measured = measure(corpus, rankers, few, "even")
    assert measured[-1].ranker == "module"
    assert [row.mrr for row in measured] == sorted((row.mrr for row in measured), reverse=True)
    for row in measured:
        assert row.low <= row.mrr <= row.high
        assert row.mrr == pytest.approx(reciprocal_ranks(corpus, RANKERS[row.ranker], few).mean())
    lines = rows_of(measured, "text exact", "even")
    assert [line[0] for line in lines] == [f"{k} of 8" for k in range(1, 9)]
    assert any("text exact (found by clicks)" in line for line in lines)
    assert any("even (default)" in line for line in lines)
    assert any("even (default, found by clicks)" in line for line in rows_of(measured, "even", "even"))
    places = {row.ranker: k for k, row in enumerate(measured)}
    assert landmarks(measured, "text exact", "even") == sorted({0, 4, 7, places["text exact"], places["even"]})


def test_intervals_are_about_two_standard_errors_wide_on_either_side(corpus: Corpus) -> None:
    """The bootstrap against the normal distribution; 2,000 resamples put its ends within a tenth of that."""
    few = make_queries(corpus)[1][:200]
    ranks = {name: reciprocal_ranks(corpus, RANKERS[name], few) for name in ("even", "text exact")}
    text, even = measure(corpus, {name: RANKERS[name] for name in ranks}, few, "even")
    apart = ranks["text exact"] - ranks["even"]
    for values, shown in (
        (ranks["text exact"], (text.mrr, text.low, text.high)),
        (ranks["even"], (even.mrr, even.low, even.high)),
        (apart, (text.gain, text.gain_low, text.gain_high)),
    ):
        mean, room = values.mean(), 1.96 * values.std(ddof=1) / len(values) ** 0.5
        assert shown == pytest.approx((mean, mean - room, mean + room), abs=0.2 * room)
    assert (even.gain, even.gain_low, even.gain_high) == (0, 0, 0)


# -- with rankloop ---------------------------------------------------------------------------------------------------


def test_a_bad_ranker_loses(corpus: Corpus, tmp_path: Path) -> None:
    """Eight rankers, a service over HTTP, 900 searches: the bad one is eliminated.

    In 400 simulated races of 800 searches it always was: this fails by chance in less than 1 % of stores, which have
    random numbers of their own.
    """
    asked, held_out = make_queries(corpus)
    dice = random.Random(0)
    with served(tmp_path / "store.db") as running, rl.Client(running.address, ADMIN, timeout=60) as client:
        search = DocsSearch(corpus, client, rankers={name: RANKERS[name] for name in EIGHT})
        search.create(policy="MergeDTS", batch_size=8, c=1_000, seed=0)
        events: list[dict[str, str]] = []
        for number in range(900):
            page, clicked = visit(search, dice.choice(asked), dice)
            assert bool(page.impression) == bool(page.items)
            if not page.items:
                continue  # all words were misspelt
            events += [{"impression": page.impression, "item": item} for item in clicked]
            events.append({"impression": page.impression, "type": "finish"})
            if number % 10 == 9:
                assert set(client.events(events)) == {"accepted"}
                events = []
        status = client.status("rankers")
        assert 850 < status["impressions"] <= 900
        assert "module" not in status["survivors"]
        measured = measure(corpus, search.rankers, held_out[:200], search.default)
        assert measured[-1].ranker == "module"
        assert status["best"] != "module"
    with rl.Live(tmp_path / "store.db") as live:
        assert live.verify().ok


def test_a_frequent_query_gets_a_learner_of_its_own(corpus: Corpus, tmp_path: Path) -> None:
    asked, _ = make_queries(corpus)
    with rl.Live(tmp_path / "store.db") as live:
        search = DocsSearch(corpus, live, frequent=[asked[0].text])
        search.create()
        page = search.search(asked[0].text, "u1")
        assert page.loop == "queries"
        assert sorted(page.items) == sorted(search.order(DEFAULT, asked[0].text)[:POSITIONS])
        search.click(page.impression, page.items[0])
        assert live.status("queries")["clicks"] == 1
        assert search.search("zzzzqqq").items == []
        assert live.status("rankers")["impressions"] == 0


def test_a_query_that_is_asked_often_becomes_a_frequent_one(corpus: Corpus, tmp_path: Path) -> None:
    with rl.Live(tmp_path / "store.db") as live:
        search = DocsSearch(corpus, live, often=3)
        search.create()
        loops = [search.search(query).loop for query in ("json", "date", "json", "json", "json", "date", "json")]
        assert loops == ["rankers"] * 4 + ["queries", "rankers", "queries"]


def test_only_so_many_queries_are_counted(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that were asked most are kept."""
    monkeypatch.setattr(search_module, "MOST_COUNTED", 10)
    nowhere: Any = None
    search = DocsSearch(corpus, nowhere, often=3)
    for _ in range(3):
        assert not search._is_frequent("json")
    for number in range(100):
        assert not search._is_frequent(f"query {number}")
    assert len(search._asked) <= 10
    assert search._is_frequent("json")


def test_without_rankloop_the_default_ranking_is_shown(corpus: Corpus) -> None:
    query = make_queries(corpus)[0][0].text
    with rl.Client("http://127.0.0.1:9", "nobody-listens-there", timeout=0.2, patience=0.2) as client:
        search = DocsSearch(corpus, client, frequent=["json"])
        for asked in (query, "json"):
            page = search.search(asked, "u1")
            assert page.items == search.order(DEFAULT, asked)[:POSITIONS]
            assert not page.impression
            search.click(page.impression, page.items[0])
            assert "rankloop is away" in results(search, asked, page)


# -- the site --------------------------------------------------------------------------------------------------------


def test_the_site_shows_results_and_reports_clicks(corpus: Corpus, tmp_path: Path) -> None:
    with rl.Live(tmp_path / "store.db") as live:
        search = DocsSearch(corpus, live, frequent=["json"])
        search.create()
        with Website(search).running() as address, httpx.Client(base_url=address, timeout=60) as visitor:
            first = visitor.get("/")
            assert "<form" in first.text
            assert "script" not in first.headers["content-security-policy"]
            found = visitor.get("/", params={"q": "json"})
            links = [html.unescape(link) for link in re.findall(r'<li><a href="([^"]+)"', found.text)]
            assert len(links) == POSITIONS
            assert live.status("queries")["impressions"] == 1
            ahead = visitor.get(links[0], headers={"Sec-Purpose": "prefetch"})
            assert ahead.status_code == 200
            assert live.status("queries")["clicks"] == 0
            for _ in range(2):  # the same visitor opens it twice
                visitor.get(links[0])
            assert live.status("queries")["clicks"] == 1
            assert live.status("queries")["duplicates"] == 1
            for path, status in (("/doc/none", 404), ("/elsewhere", 404), ("/doc/json?impression=forged", 200)):
                assert visitor.get(path).status_code == status
            assert visitor.get("/", params={"q": "zzzzqqq"}).text.count("Nothing was found") == 1


def test_what_people_type_and_documents_say_is_text(corpus: Corpus) -> None:
    odd = '<script>alert(1)</script> & "quotes" שלום 🐍'
    document = Document("m.<b>", "m", "<b>", "<i>", "A <img src=x> summary.", "", f"{odd}.", "")

    search: Any = SimpleNamespace(corpus=SimpleNamespace(documents={document.id: document}))
    shown = results(search, odd, Page([document.id], '"><script>', "rankers"))
    assert "<script>" not in shown
    assert "<img" not in shown
    assert "<b>" not in shown
    assert "שלום 🐍" in shown


def test_the_site_in_a_browser(corpus: Corpus, tmp_path: Path, page: BrowserPage) -> None:
    with rl.Live(tmp_path / "store.db") as live:
        search = DocsSearch(corpus, live, frequent=["json"])
        search.create()
        live.warm_up()
        with Website(search).running() as address:
            page.goto(address)
            page.locator("input:focus").wait_for()  # nobody has to click into the search box
            page.keyboard.type("json")
            page.keyboard.press("Enter")
            page.get_by_role("status").wait_for()
            assert page.get_by_role("searchbox", name="Words to search for").input_value() == "json"
            second = page.get_by_role("listitem").nth(1).get_by_role("link")
            name = second.inner_text()
            second.click()
            page.get_by_role("heading", level=2).wait_for()
            assert name in page.get_by_role("heading", level=2).inner_text()
            assert live.status("queries")["clicks"] == 1
            page.get_by_role("link", name="Back to the results").click()
            page.get_by_role("status").wait_for()
            page.get_by_role("searchbox").fill("<b>bold</b> 🐍")
            page.get_by_role("button", name="Search").click()
            page.get_by_role("main").wait_for()
            assert page.get_by_role("searchbox").input_value() == "<b>bold</b> 🐍"
            assert page.locator("main b").count() == 0
            page.set_viewport_size({"width": 360, "height": 700})
            assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_program_lets_simulated_users_search(
    corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It measures rankers on some of the queries that nobody asks, and finds its index in the folder it runs in."""

    def few_queries(searched: Corpus, seed: int) -> tuple[list[Query], list[Query]]:
        asked, held_out = make_queries(searched, seed)
        return asked, held_out[:50]

    monkeypatch.setattr(program, "make_queries", few_queries)
    shutil.copy(corpus.path, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["docs_search", "--visits", "5"])
    program.main()
    first, second, headings, *rows = capsys.readouterr().out.splitlines()
    assert first.startswith("after 5 searches 64 of 64 rankers are left in the race, and clicks favour: ")
    assert second == "MRR of each ranker on 50 queries that nobody asked:"
    assert headings.split()[:2] == ["ranker", "MRR"]
    assert [row.split()[0] for row in rows] == [str(k) for k in range(1, 65)]
    assert {row[10:50].partition(" (")[0].strip() for row in rows} == set(RANKERS)
    assert sum("even (default" in row for row in rows) == 1


def test_bad_options(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["docs_search", "--visits", "-1"])
    with pytest.raises(SystemExit):
        program.main()
    assert "--visits must be at least 0" in capsys.readouterr().err
