"""Both clients against a real service: they do what `Live` does."""

from __future__ import annotations

from typing import Any

import pytest
from faulty_service import answers, faulty
from service_client import ADMIN, Running

import rankloop as rl
from rankloop.client import ServiceRefused
from rankloop.live import LiveDuel

ITEMS = ["sku-9", "sku-2", "sku-7"]
NAMES = ["a/b?c#d", "..", "café ☕", '<b>"x"</b>', "a%2Fb", " "]


@pytest.fixture
def client(make: Any, running: Running) -> Any:
    return make(running.address, ADMIN, timeout=30.0)


def test_a_list_and_what_became_of_it(client: Any, running: Running) -> None:
    client.create("search", kind="rerank", holdout=0)
    client.create("search", kind="rerank", holdout=0)
    shown = client.rank("search", "laptop", ITEMS, user="u1")
    assert sorted(shown.items) == sorted(ITEMS)
    assert (shown.loop, shown.key, shown.arm, shown.fallback, shown.reason) == ("search", "laptop", "policy", False, "")
    assert client.click(shown.id, "sku-2", seen=2) == "accepted"
    assert client.click(shown.id, "sku-2", event="mine", at=1e9) == "duplicate"
    assert client.seen(shown.id, 3) == "accepted"
    assert client.finish(shown.id, seen=3) == "accepted"
    assert client.finish(shown.id) == "late"
    assert client.click("nonsense", "sku-2") == "unknown"
    live = running.service.live
    assert client.explain(shown.id) == live.explain(shown.id)
    assert "sku-2" in str(client.explain(shown.id))
    assert client.best("search", "laptop") == live.best("search", "laptop")
    assert client.receipt("search", "laptop") == live.receipt("search", "laptop")
    assert client.status("search")["uplift"] == live.status("search")["uplift"]
    assert {**client.status("search"), "unwritten": 0} == {**live.status("search"), "unwritten": 0}
    assert set(client.status()) == set(client.loops) == set(live.loops)
    assert client.fallbacks == 0


def test_pinned_deferred_and_short_pages(client: Any) -> None:
    client.create("short", kind="rerank", holdout=0, positions=2)
    shown = client.rank("short", "laptop", iter(ITEMS), pinned={0: "ad-1"}, deferred=True)
    assert shown.items[0] == "ad-1"
    assert len(shown) == 2
    assert client.shown(shown.id) == "accepted"
    assert client.shown(shown.id) == "duplicate"
    assert client.click(shown.id, "ad-1") == "ignored"


@pytest.mark.parametrize("name", NAMES)
def test_names_of_all_kinds(client: Any, name: str) -> None:
    loop = f"loop {name}"
    client.create(loop, kind="rerank", holdout=0, mode="off")
    shown = client.rank(loop, name, [name, "other"], user=name)
    assert shown.items == [name, "other"]
    assert client.click(shown.id, name, event=name) == "accepted"
    client.change(loop, mode="live")
    shown = client.rank(loop, name, [name, "other"])
    assert client.finish(shown.id) == "accepted"
    assert sorted(client.best(loop, name)) == sorted([name, "other"])
    client.revert(loop, name)
    assert client.status(loop)["mode"] == "live"


def test_events_in_batches(client: Any) -> None:
    client.create("batches", kind="rerank", holdout=0)
    ids = [client.rank("batches", "q", ["a", "b", "c"]).id for _ in range(3)]
    events = [{"impression": id_, "item": item} for id_ in ids for item in "abc"]
    odd: list[Any] = [{"impression": "", "item": "a"}, {"impression": ids[0], "item": "z"}, 3]
    fates = client.events(events + events[:1] + odd)
    assert fates[:10] == ["accepted"] * 9 + ["duplicate"]
    assert fates[10] == "ignored"
    assert fates[11].startswith("invalid: item 'z' was not shown")
    assert fates[12].startswith("invalid: ")
    assert client.events([]) == []
    many = client.events({"impression": id_, "item": "a", "type": "other"} for id_ in ids for _ in range(500))
    assert many == ["ignored"] * 1500


def test_a_duel(client: Any, make: Any, running: Running) -> None:
    loop = f"rankers of {type(client).__name__}"
    client.create(loop, kind="evaluate", rankers=["bm25", "ltr-7", "dense"])
    duel = client.duel(loop, user="u1")
    assert isinstance(duel, LiveDuel)
    assert set(duel.rankers) <= {"bm25", "ltr-7", "dense"}
    lists = {ranker: [f"{ranker} {n}" for n in range(6)] for ranker in duel.rankers}
    first = client.interleave(duel.id, lists, positions=2)
    second = first.next_page()
    third = second.next_page()
    assert first.id == second.id == third.id == duel.id
    assert len({*first, *second, *third}) == 6
    assert client.click(second.id, second.items[0]) == "accepted"
    assert client.status(loop)["survivors"] == ["bm25", "ltr-7", "dense"]
    assert client.best(loop) == running.service.live.best(loop)
    other = make(running.address, ADMIN, timeout=30.0)  # another process, which did not ask for the duel
    with pytest.raises(ValueError, match="loop="):
        other.interleave(duel.id, lists)
    for more in ({"loop": loop}, {}):
        assert len(other.interleave(duel.id if more else duel, lists, positions=1, **more)) == 1
    client.change(loop, rankers=["bm25", "ltr-7", "dense", "new"])
    client.duel(loop)
    assert "new" in client.status(loop)["survivors"]


def test_features(client: Any) -> None:
    client.create("home", kind="diversify", relevance=2, topics=["news", "sport"], positions=2)
    client.put_items("home", {name: {"relevance": [0.5, 0.1 * n], "topics": [1, 0]} for n, name in enumerate("abc")})
    assert len(client.rank("home", "u1", ["a", "b", "c"])) == 2
    with pytest.raises(ValueError, match="unheard of"):
        client.rank("home", "u1", ["a", "b", "unheard of"])
    with pytest.raises(ServiceRefused, match="only BubbleRank gives a receipt"):
        client.receipt("home", "u1")


def test_interventions(client: Any) -> None:
    client.create("paused", kind="rerank", holdout=0)
    client.pause("paused")
    assert client.rank("paused", "q", ITEMS).arm == "off"
    assert client.status("paused")["mode"] == "paused"
    client.resume("paused")
    assert client.rank("paused", "q", ITEMS).arm == "policy"
    client.revert("paused", "q")


def test_bad_arguments_raise_as_in_live(client: Any) -> None:
    client.create("strict", kind="rerank")
    for wrong in (
        lambda: client.rank("strict", "", ITEMS),
        lambda: client.rank("strict", "q", []),
        lambda: client.rank("strict", "q", ["a", "a"]),
        lambda: client.rank("strict", "q", "abc"),
        lambda: client.rank("strict", "q", ITEMS, user=""),
        lambda: client.rank("strict", "q", ITEMS, pinned={-1: "ad"}),
        lambda: client.rank("", "q", ITEMS),
        lambda: client.click(client.rank("strict", "q", ITEMS).id, "never shown"),
        lambda: client.click("x", 3),
        lambda: client.seen(client.rank("strict", "q", ITEMS).id, -1),
        lambda: client.events("no list"),
        lambda: client.events([{"impression": "x", "at": float("nan")}]),
        lambda: client.create("strict", kind="follow"),
        lambda: client.create("other", kind="rerank", positions=object()),
        lambda: client.change("nowhere", traffic=0.5),
        lambda: client.change("strict", positions=3),
        lambda: client.status("nowhere"),
        lambda: client.best("strict", "never asked"),
        lambda: client.explain("nonsense"),
        lambda: client.duel("strict"),
        lambda: client.interleave("nonsense", {"a": ["x"]}, loop="strict"),
        lambda: client.interleave("", {}),
    ):
        with pytest.raises(ValueError, match=r"\w"):
            wrong()
    assert client.rank("strict", "q", ITEMS).arm in ("policy", "holdout")


def test_wrong_keys_and_loops_do_not_break_the_page(
    make: Any, running: Running, caplog: pytest.LogCaptureFixture
) -> None:
    events_only = make(running.address, running.key("events"), timeout=30.0, positions=2)
    for client, loop, told in (
        (make(running.address, "rl_wrong_key", timeout=30.0, positions=2), "search", "this key is not known here"),
        (events_only, "search", "may not do this"),
        (make(running.address, ADMIN, timeout=30.0, positions=2), "nowhere", "there is no loop 'nowhere'"),
    ):
        caplog.clear()
        for _ in range(8):  # which is no reason to leave the service alone
            shown = client.rank(loop, "q", ITEMS, pinned={1: "ad-1"})
            assert (shown.id, shown.items, shown.fallback) == ("", ["sku-9", "ad-1"], True)
            assert told in shown.reason
        assert client.fallbacks == 8
        assert [told in record.message for record in caplog.records] == [True]  # once
        with pytest.raises(ServiceRefused, match=told):
            client.status(loop)
    with pytest.raises(ServiceRefused) as refused:
        events_only.pause("search")
    assert refused.value.status == 403
    with pytest.raises(ServiceRefused, match="not known"):
        make(running.address, "rl_wrong_key").click("x", "y")


def test_what_a_client_must_be_told(monkeypatch: pytest.MonkeyPatch, make: Any, running: Running) -> None:
    monkeypatch.delenv("RANKLOOP_URL", raising=False)
    monkeypatch.delenv("RANKLOOP_KEY", raising=False)
    for wrong, told in (
        (("", "k"), "url"),
        (("127.0.0.1:8000", "k"), "url"),
        (("http://user:pass@host", "k"), "url"),
        (("http://127.0.0.1:8000", ""), "RANKLOOP_KEY"),
        (("http://127.0.0.1:8000", "two\r\nlines"), "RANKLOOP_KEY"),
    ):
        with pytest.raises(ValueError, match=told):
            make(*wrong)
    for options in ({"timeout": 0}, {"patience": float("inf")}, {"retries": -1}, {"positions": 0}):
        with pytest.raises(ValueError, match=next(iter(options))):
            make("http://127.0.0.1:8000", **options)
    monkeypatch.setenv("RANKLOOP_URL", running.address + "/")
    monkeypatch.setenv("RANKLOOP_KEY", ADMIN)
    with rl.Client() as client:
        assert isinstance(client.loops, tuple)
        assert ADMIN not in repr(client)
    with pytest.raises(ValueError, match="closed"):
        client.rank("search", "q", ITEMS)


def test_the_service_behind_a_path(running: Running, make: Any) -> None:
    """Behind a proxy the service may stand under a path."""
    with pytest.raises(ServiceRefused, match="no such path"):
        make(running.address + "/below", ADMIN).status("search")


def test_httpx_is_not_loaded_before_it_is_needed() -> None:
    import sys

    import processes

    script = "import rankloop as rl, sys\nrl.Client, rl.AsyncClient\nprint(*sys.modules)"
    loaded = set(processes.run([sys.executable, "-c", script]).stdout.split())
    assert not loaded & {"httpx", "httpcore", "numpy", "numba"}
    script = "import sys\nsys.modules['httpx'] = None\nimport rankloop as rl\nrl.{}('http://x', 'k')"
    for name in ("Client", "AsyncClient"):
        failed = processes.run([sys.executable, "-c", script.format(name)], check=False)
        assert failed.stderr.splitlines()[-1].endswith(
            "MissingExtra: a client of the service needs httpx: pip install 'rankloop[client]'"
        )


def test_another_address_than_a_service(make: Any) -> None:
    """A wrong URL that does answer."""
    with faulty(answers(404, b"<html>nothing here</html>")) as server:
        client = make(server.address)
        assert client.rank("search", "q", ITEMS).fallback
        with pytest.raises(ServiceRefused, match="404"):
            client.status("search")
    with faulty(answers(302, b"", "Location: http://127.0.0.1:9/")) as server, pytest.raises(ServiceRefused):
        make(server.address).status("search")
