"""The API, as a program uses it: what each path does, on both stores."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from service_client import Running

from rankloop.service.routes import ROUTES, Router

ITEMS = ["sku-9", "sku-2", "sku-7"]


@pytest.fixture(scope="module")
def search(running: Running) -> str:
    """A loop that re-ranks."""
    assert running.admin.put("/v1/loops/search", json={"kind": "rerank", "holdout": 0}).status_code == 201
    return "search"


def rank(running: Running, loop: str = "search", key: str = "laptop", **more: Any) -> dict[str, Any]:
    answer = running.admin.post(f"/v1/loops/{loop}/rank", json={"key": key, "items": ITEMS, **more})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def tell(running: Running, event: Any) -> Any:
    answer = running.admin.post("/v1/events", json=event)
    assert answer.status_code == 200, answer.text
    return answer.json()


def problem(answer: httpx.Response, status: int, field: str | None = None) -> str:
    """What a problem says."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    told = answer.json()
    assert told["status"] == status
    assert told["request"] == answer.headers["x-request-id"]
    assert told.get("field") == field, told
    return str(told["detail"])


def counted(running: Running, loop: str = "search") -> dict[str, Any]:
    return dict(running.admin.get(f"/v1/loops/{loop}").json()["status"])


def test_a_list_and_a_click(running: Running, search: str) -> None:
    before = counted(running)
    for _ in range(2):  # the first brings the key into being, the second is answered from memory
        shown = rank(running)
        assert sorted(shown["items"]) == sorted(ITEMS)
        assert shown["arm"] == "policy"
        assert tell(running, {"impression": shown["id"], "item": "sku-2"}) == {"fate": "accepted"}
        assert tell(running, {"impression": shown["id"], "item": "sku-2"}) == {"fate": "duplicate"}
        assert tell(running, {"impression": shown["id"], "type": "finish"}) == {"fate": "accepted"}
        assert tell(running, {"impression": shown["id"], "item": "sku-7"}) == {"fate": "late"}
    after = counted(running)
    assert after["learned"] - before["learned"] == 2
    assert after["clicks"] - before["clicks"] == 2
    assert after["duplicates"] - before["duplicates"] == 2


def test_many_events_at_once(running: Running, search: str) -> None:
    shown = [rank(running, key=f"query {number % 3}")["id"] for number in range(30)]
    events: list[Any] = [{"impression": id_, "item": "sku-9", "id": f"e{n}"} for n, id_ in enumerate(shown)]
    fates = [heard["fate"] for heard in tell(running, events + events)["events"]]
    assert fates == ["accepted"] * 30 + ["duplicate"] * 30
    odd = tell(running, [events[0], {"impression": "nonsense", "item": "x"}, 3, {"impression": shown[0]}, {}])
    assert [heard["fate"] for heard in odd["events"]] == ["duplicate", "unknown", "invalid", "invalid", "invalid"]
    assert "item must be a text" in odd["events"][3]["reason"]
    assert tell(running, []) == {"events": []}


def test_too_many_events(running: Running, search: str) -> None:
    answer = running.admin.post("/v1/events", json=[{"impression": "x", "item": "y"}] * 1_001)
    assert "at most 1,000 events, not 1,001" in problem(answer, 422)


def test_one_invalid_event_is_a_problem(running: Running, search: str) -> None:
    shown = rank(running)["id"]
    answer = running.admin.post("/v1/events", json={"impression": shown, "item": "never shown"})
    assert "was not shown" in problem(answer, 422, "item")
    answer = running.admin.post("/v1/events", json={"impression": shown, "item": "sku-9", "seen": -1})
    assert "seen must be" in problem(answer, 422, "seen")
    answer = running.admin.post("/v1/events", json={"impression": shown, "colour": "red"})
    assert "there are impression, item" in problem(answer, 422, "colour")


def test_pinned_and_deferred_lists(running: Running, search: str) -> None:
    for _ in range(2):
        shown = rank(running, key="pinned", pinned={"0": "ad-1"}, deferred=True)
        assert shown["items"][0] == "ad-1"
        assert tell(running, {"impression": shown["id"], "type": "shown"}) == {"fate": "accepted"}
        assert tell(running, {"impression": shown["id"], "type": "shown"}) == {"fate": "duplicate"}


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ("{", 400, None),
        ("", 400, None),
        ("[]", 422, None),
        ("null", 422, None),
        ('{"key": "a"}', 422, "items"),
        ('{"key": "a", "items": []}', 422, "items"),
        ('{"key": "a", "items": "b"}', 422, "items"),
        ('{"key": "a", "items": ["x", 3]}', 422, "items[1]"),
        ('{"key": "a", "items": ["x", "x"]}', 422, "items"),
        ('{"key": "", "items": ["x"]}', 422, "key"),
        ('{"key": "a\\u0000", "items": ["x"]}', 422, "key"),
        ('{"key": "a", "items": ["x"], "user": ""}', 422, "user"),
        ('{"key": "a", "items": ["x", "y"], "user": "\\u0000"}', 422, "user"),
        ('{"key": "a", "items": ["x"], "pinned": {"-1": "y"}}', 422, "pinned"),
        ('{"key": "a", "items": ["x"], "colour": "red"}', 422, "colour"),
        ('{"key": "a", "items": ["x"], "deferred": "yes"}', 422, "deferred"),
    ],
)
def test_bad_requests_name_the_field(running: Running, search: str, body: str, status: int, field: str | None) -> None:
    problem(running.admin.post("/v1/loops/search/rank", content=body), status, field)


def test_too_many_items(running: Running, search: str) -> None:
    items = [str(number) for number in range(1_001)]
    problem(running.admin.post("/v1/loops/search/rank", json={"key": "a", "items": items}), 422, "items")


def test_no_such_loop(running: Running) -> None:
    body = {"key": "a", "items": ["x", "y"]}
    for answer in (
        running.admin.post("/v1/loops/nowhere/rank", json=body),
        running.admin.post("/v1/loops/nowhere/duel", json={}),
        running.admin.post("/v1/loops/nowhere/interleave", json={"duel": "x", "lists": {}}),
        running.admin.get("/v1/loops/nowhere"),
        running.admin.get("/v1/loops/nowhere/keys/a"),
        running.admin.post("/v1/loops/nowhere/pause"),
        running.admin.post("/v1/loops/nowhere/resume"),
        running.admin.post("/v1/loops/nowhere/revert", json={"key": "a"}),
        running.admin.post("/v1/loops/nowhere/keys/a/revert"),
        running.admin.put("/v1/loops/nowhere/items", json={"items": {}}),
    ):
        assert "there is no loop 'nowhere'" in problem(answer, 404, "loop")


def test_a_loop_is_created_once_and_changed(running: Running) -> None:
    path = "/v1/loops/changing"
    assert running.admin.put(path, json={"kind": "rerank", "positions": 5}).status_code == 201
    assert running.admin.put(path, json={"kind": "rerank", "positions": 5}).status_code == 200
    answer = running.admin.put(path, json={"kind": "rerank", "positions": 6})
    assert "positions = 5, not 6" in problem(answer, 409, "positions")
    answer = running.admin.put(path, json={"kind": "rerank", "positions": 5, "mode": "shadow", "traffic": 0.5})
    assert answer.json()["settings"]["mode"] == "shadow"
    assert running.admin.get(path).json()["settings"]["traffic"] == 0.5
    problem(running.admin.put(path, json={"kind": "rerank", "positions": "five"}), 422, "positions")
    problem(running.admin.put(path, json={"kind": "revolve"}), 422, "kind")
    problem(running.admin.put(path, json={"kind": "rerank", "parameters": 5}), 422, "parameters")
    problem(running.admin.put(path, json={"kind": "rerank", "delta": [1]}), 422, "delta")
    assert "did you mean 'holdout'" in problem(
        running.admin.put(path, json={"kind": "rerank", "holdup": 0.1}), 422, "holdup"
    )


def test_pausing_and_resuming(running: Running) -> None:
    running.admin.put("/v1/loops/paused", json={"kind": "rerank", "holdout": 0})
    assert running.admin.post("/v1/loops/paused/pause").json() == {"loop": "paused", "done": "paused"}
    assert rank(running, "paused")["arm"] == "off"
    assert rank(running, "paused")["items"] == ITEMS
    assert running.admin.post("/v1/loops/paused/resume").status_code == 200
    assert rank(running, "paused")["arm"] == "policy"


def test_keys_of_a_loop(running: Running, search: str) -> None:
    key = "a/b c?ö"
    rank(running, key=key)
    path = "/v1/loops/search/keys/a%2Fb%20c%3F%C3%B6"
    found = running.admin.get(path).json()
    assert found["key"] == key
    assert found["best"] == ITEMS
    assert found["receipt"]["initial"] == ITEMS
    assert running.admin.post(f"{path}/revert").status_code == 200
    assert running.admin.post("/v1/loops/search/revert", json={"key": key}).status_code == 200
    problem(running.admin.get("/v1/loops/search/keys/nobody"), 404, "key")
    problem(running.admin.post("/v1/loops/search/revert", json={"key": "nobody"}), 404, "key")


def test_why_this_list(running: Running, search: str) -> None:
    shown = rank(running)
    found = running.admin.get(f"/v1/impressions/{shown['id']}").json()
    assert found["items"] == shown["items"]
    assert found["loop"] == "search"
    problem(running.admin.get("/v1/impressions/nonsense"), 404, "id")


def test_rankers_are_compared(running: Running) -> None:
    rankers = ["bm25", "dense", "ltr-7"]
    assert running.admin.put("/v1/loops/rankers", json={"kind": "evaluate", "rankers": rankers}).status_code == 201
    duel = running.admin.post("/v1/loops/rankers/duel", json={"user": "u1"}).json()
    assert set(duel["rankers"]) < set(rankers)
    lists = {ranker: [f"{ranker} {number}" for number in range(5)] for ranker in duel["rankers"]}
    body = {"duel": duel["id"], "lists": lists, "positions": 4}
    shown = running.admin.post("/v1/loops/rankers/interleave", json=body).json()
    assert len(shown["items"]) == 4
    following = running.admin.post("/v1/loops/rankers/interleave", json=body).json()
    assert not set(following["items"]) & set(shown["items"])
    assert tell(running, {"impression": shown["id"], "item": shown["items"][0]}) == {"fate": "accepted"}
    answer = running.admin.post("/v1/loops/rankers/interleave", json={**body, "lists": {"bm25": ["a"]}})
    problem(answer, 422, "lists")
    problem(running.admin.post("/v1/loops/rankers/interleave", json={**body, "duel": "x"}), 422, "duel")
    answer = running.admin.post("/v1/loops/rankers/rank", json={"key": "a", "items": ["b", "c"]})
    assert "use duel with it" in problem(answer, 422)


def test_items_with_features(running: Running) -> None:
    settings = {"kind": "diversify", "relevance": 2, "topics": ["news", "sport"], "positions": 2}
    assert running.admin.put("/v1/loops/home", json=settings).status_code == 201
    items = {name: {"relevance": [0.9, 0.1], "topics": [1, 0]} for name in ("a", "b", "c")}
    assert running.admin.put("/v1/loops/home/items", json={"items": items}).status_code == 200
    answer = running.admin.post("/v1/loops/home/rank", json={"key": "u1", "items": ["a", "b", "c"]})
    assert len(answer.json()["items"]) == 2
    wrong = {"items": {"d": {"relevance": [1], "topics": [0, 0]}}}
    problem(running.admin.put("/v1/loops/home/items", json=wrong), 422, "relevance")
    answer = running.admin.post("/v1/loops/home/rank", json={"key": "u1", "items": ["a", "zzz"]})
    assert "zzz" in problem(answer, 422)


def test_paths_and_methods(running: Running) -> None:
    problem(running.admin.get("/v1/nowhere"), 404)
    answer = running.admin.delete("/v1/loops")
    assert answer.headers["allow"] == "GET"
    problem(answer, 405)


def test_health_needs_no_key(running: Running) -> None:
    with running.client(None) as nobody:
        assert nobody.get("/health/live").json() == {"status": "alive"}
        assert nobody.get("/health/ready").json() == {"status": "ready"}
        assert nobody.get("/openapi.json").json()["openapi"].startswith("3.")


def test_metrics(running: Running, search: str) -> None:
    rank(running)
    text = running.admin.get("/metrics").text
    lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert float(lines['rankloop_requests_total{route="rank",status="200"}']) > 0
    assert float(lines['rankloop_request_seconds_count{route="rank"}']) > 0
    assert float(lines['rankloop_impressions_total{loop="search"}']) > 0
    assert lines["rankloop_partitions_owned"] == "1"
    for name in ("learning_lag_seconds", "snapshot_age_seconds", "unwritten_entries"):
        assert float(lines[f"rankloop_{name}"]) >= 0


def test_request_ids(running: Running) -> None:
    with running.client(None) as nobody:
        assert nobody.get("/health/live", headers={"X-Request-Id": "mine-1"}).headers["x-request-id"] == "mine-1"
        made = nobody.get("/health/live", headers={"X-Request-Id": "<script>"}).headers["x-request-id"]
        assert "<" not in made


def test_what_was_served_can_be_verified(running: Running, search: str) -> None:
    verification = running.service.live.verify()
    assert verification.ok, verification
    assert verification.choices > 0


def test_long_paths_are_not_remembered() -> None:
    """They come before any key is looked at, and would fill the memory."""
    router = Router(ROUTES)
    for length, remembered in ((1_000, 1), (10_000, 1), (1_001, 2)):
        assert router.find(b"/v1/loops/" + b"x" * length)[1] == {"loop": "x" * length}
        assert len(router._known) == remembered


def test_a_key_of_an_object_that_is_wrong_is_named(running: Running, search: str) -> None:
    answer = running.admin.post(f"/v1/loops/{search}/rank", json={"key": "k", "items": ITEMS, "pinned": {"x": "y"}})
    assert problem(answer, 422, "pinned") == "pinned: expected `int`, got `str`"
