"""Records of User Behavior Insights as they come: clicks count, repeats do not, and nothing is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from service_client import Running

from rankloop.service.ubi import event_of, shown_of

ITEMS = ["sku-1", "sku-2", "sku-3", "4"]


@pytest.fixture(scope="module")
def loop(running: Running) -> str:
    assert running.admin.put("/v1/loops/search", json={"kind": "rerank", "holdout": 0}).status_code == 201
    assert running.admin.put("/v1/loops/carts", json={"kind": "rerank", "counts": "add_to_cart"}).status_code == 201
    return "search"


def shown(running: Running, loop: str = "search", **more: Any) -> str:
    answer = running.admin.post(f"/v1/loops/{loop}/rank", json={"key": "laptop", "items": ITEMS, **more})
    return str(answer.json()["id"])


def event(impression: str, item: Any = "sku-2", action: str = "click", **more: Any) -> dict[str, Any]:
    """An event as the collector of OpenSearch makes it."""
    return {
        "application": "shop",
        "action_name": action,
        "query_id": impression,
        "session_id": "s1",
        "client_id": "c1",
        "user_id": "",
        "timestamp": "2026-11-18T06:00:00.000Z",
        "message_type": "INFO",
        "message": "",
        "event_attributes": {"object": {"object_id": item, "object_id_field": "sku", "description": None}},
        **more,
    }


def query(impression: str, **more: Any) -> dict[str, Any]:
    record = {"application": "shop", "query_id": impression, "client_id": "c1", "user_query": "laptop"}
    return {**record, "object_id_field": "sku", "timestamp": "2026-11-18T06:00:00.000Z", **more}


def sent(running: Running, what: str, body: Any) -> list[dict[str, Any]]:
    answer = running.admin.post(f"/v1/ubi/{what}", json=body)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["events"])


def fates(running: Running, what: str, body: Any) -> list[str]:
    return [heard["fate"] for heard in sent(running, what, body)]


def test_clicks_count_once(running: Running, loop: str) -> None:
    id_, before = shown(running), running.admin.get("/v1/loops/search").json()["status"]["clicks"]
    assert fates(running, "events", event(id_)) == ["accepted"]
    repeated = [event(id_), event(id_, action="click_through"), event(id_, 4), {"_id": "z", "_source": event(id_)}]
    assert fates(running, "events", repeated) == ["duplicate", "duplicate", "accepted", "duplicate"]
    assert running.admin.get("/v1/loops/search").json()["status"]["clicks"] == before + 2
    told = running.admin.get(f"/v1/impressions/{id_}").json()["events"]
    assert len(told) == 2
    assert running.admin.post("/v1/events", json={"impression": id_, "item": "sku-2"}).json()["fate"] == "duplicate"


def test_nobody_votes_twice(running: Running, loop: str) -> None:
    id_ = shown(running)
    times = [event(id_, timestamp=f"2026-11-18T06:00:{second:02}Z", client_id=str(second)) for second in range(60)]
    assert sorted(fates(running, "events", times)) == ["accepted"] + ["duplicate"] * 59
    forged = [event(id_[:place] + "A" + id_[place + 1 :]) for place in range(0, len(id_) - 1, 7) if id_[place] != "A"]
    assert set(fates(running, "events", forged)) <= {"unknown", "foreign"}
    for nasty in ("'; DROP TABLE journal; --", "<script>alert(1)</script>", "\u0000", "../..", "x" * 1_000):
        assert fates(running, "events", event(nasty, nasty, nasty or "click", timestamp=nasty))[0] in (
            "unknown",
            "invalid",
        )


def test_what_the_loop_counts(running: Running, loop: str) -> None:
    carts, search = shown(running, "carts"), shown(running)
    for action in ("add_to_cart", "purchase", "view", "click"):
        assert fates(running, "events", event(carts, action=action)) == [
            "accepted" if action == "add_to_cart" else "ignored"
        ]
    assert fates(running, "events", event(search, action="add_to_cart")) == ["ignored"]


@pytest.mark.parametrize("position", [{"ordinal": 2}, {"index": 2}, {"ordinal": {"index": 2}}])
def test_how_far_was_seen(running: Running, loop: str, position: dict[str, Any]) -> None:
    id_ = shown(running)
    impression = event(id_, action="impression", event_attributes={"position": position})
    assert fates(running, "events", [impression, impression]) == ["accepted", "duplicate"]
    assert running.admin.post("/v1/events", json={"impression": id_, "type": "finish"}).json()["fate"] == "accepted"
    assert any("2 positions" in told for told in running.admin.get(f"/v1/impressions/{id_}").json()["events"])


def test_lists_that_were_prepared(running: Running, loop: str) -> None:
    first, second, third = (shown(running, deferred=True) for _ in range(3))
    assert fates(running, "queries", query(first)) == ["not_understood"]  # nobody says that anything was shown
    assert fates(running, "queries", [query(first, query_response_hit_ids=ITEMS)] * 2) == ["accepted", "duplicate"]
    assert fates(running, "queries", query(second, query_response_objects_ids=[1])) == ["accepted"]
    assert fates(running, "events", event(third, action="impression")) == ["accepted"]
    assert fates(running, "queries", query(shown(running), query_response_hit_ids=ITEMS)) == ["duplicate"]


def test_what_is_not_understood(running: Running, loop: str) -> None:
    id_ = shown(running)
    records: list[Any] = [
        event(id_, None),
        event(id_, event_attributes={"object": []}),
        event(id_, event_attributes="x"),
        event(id_, action=""),
        event(""),
        event(id_, action="on_search", event_attributes={}),
        {},
        3,
        None,
        ["nested"],
        {"_source": 3},
    ]
    heard = sent(running, "events", records)
    assert {each["fate"] for each in heard} == {"not_understood"}
    assert all(each["reason"] for each in heard)
    mixed = [event("0a1b2c3d-0000-4000-8000-000000000000"), event(id_, "never shown"), event(id_, "x" * 2_000)]
    assert fates(running, "events", mixed) == ["unknown", "invalid", "invalid"]
    odd_times = [event(id_, timestamp=odd) for odd in ("yesterday", "", None, -1, 1e300, "9" * 30, [], True)]
    assert set(fates(running, "events", odd_times)) == {"accepted", "duplicate"}
    assert sent(running, "events", []) == sent(running, "queries", []) == []
    metrics = running.admin.get("/metrics").text
    for fate in ("not_understood", "unknown", "accepted"):
        assert f'rankloop_ubi_records_total{{kind="events",fate="{fate}"}}' in metrics


def test_what_is_refused(running: Running, loop: str) -> None:
    for what in ("events", "queries"):
        path = f"/v1/ubi/{what}"
        for body, status in ((b"{", 400), (b"3", 422), (b'"x"', 422), (b"[" * 100_000, 400), (b"", 400)):
            assert running.admin.post(path, content=body).status_code == status
        assert running.admin.post(path, json=[{}] * 1_001).status_code == 422
        assert len(sent(running, what, [{}] * 1_000)) == 1_000
        assert running.client(None).post(path, json=[]).status_code == 401
        assert running.holding("read").post(path, json=[]).status_code == 403
        assert running.holding("events").post(path, json=[]).status_code == 200


def test_other_tenants_see_nothing(running: Running, loop: str) -> None:
    stranger = running.holding("events", loops=["carts"])
    assert stranger.post("/v1/ubi/events", json=event(shown(running))).json() == {"events": [{"fate": "unknown"}]}


def test_from_a_web_page(running: Running, loop: str) -> None:
    """The collector posts from the browser, which asks first whether it may."""
    key, origin = running.key("events", origins=["https://shop.example"]), {"Origin": "https://shop.example"}
    asked = {**origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    before = running.client(None).options("/v1/ubi/events", headers=asked)
    assert before.headers["access-control-allow-origin"] == "https://shop.example"
    answer = running.client(key, **origin).post("/v1/ubi/events", json=[event(shown(running))])
    assert answer.json() == {"events": [{"fate": "accepted"}]}
    body = {"key": key, "events": [event(shown(running))]}
    answer = running.client(None, **origin).post("/v1/ubi/events", json=body)
    assert answer.json() == {"events": [{"fate": "accepted"}]}
    assert running.client(key, Origin="https://evil.example").post("/v1/ubi/events", json=[]).status_code == 403


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
WORDS = ("query_id", "action_name", "timestamp", "event_attributes", "object", "object_id", "position", "ordinal")
record = st.dictionaries(st.sampled_from(WORDS), anything, max_size=6)


@given(record | st.fixed_dictionaries({"query_id": st.text(), "action_name": st.text(), "event_attributes": record}))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_any_record_is_read_or_explained(given: dict[str, Any]) -> None:
    for read in (event_of, shown_of):
        found = read(given)
        assert found == read(given)  # and gets the same id again
        if isinstance(found, dict):
            assert found["impression"]
            assert len(found["id"]) == 32
            assert found.get("seen", 1) >= 1
        else:
            assert found
