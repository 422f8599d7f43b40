"""What pages ask the service for: numbers against the loop itself, roles, and bad requests."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from service_client import Running, served

from rankloop.live.stores import StoreLost
from rankloop.live.views import view_cache as looking
from rankloop.service.limits import Limits
from rankloop.service.openapi import document

ODD = "<b>לפטופ</b>/👩🏽‍💻?x=1&y=#z %2F"
LIST = ["a", "b", "c"]


@pytest.fixture(autouse=True)
def always_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "FRESH", 0.0)


@pytest.fixture(scope="module")
def world(running: Running) -> Running:
    """Two loops with traffic, one of them with an odd name and an odd key."""
    for loop, kind in (("search", {"kind": "rerank"}), (ODD, {"kind": "follow", "positions": 2})):
        assert running.admin.put(f"/v1/loops/{quote(loop, safe='')}", json=kind).status_code == 201
        for n in range(7):
            for key in ("laptop", ODD)[: 1 + n % 2]:
                path = f"/v1/loops/{quote(loop, safe='')}/rank"
                shown = running.admin.post(path, json={"key": key, "items": LIST, "user": f"u{n}"}).json()
                running.admin.post("/v1/events", json={"impression": shown["id"], "item": shown["items"][n % 2]})
    running.admin.put("/v1/loops/rankers", json={"kind": "evaluate", "rankers": ["x", "y"]})
    return running


def get(running: Running, path: str, status: int = 200, **query: Any) -> Any:
    answer = running.admin.get(path, params=query)
    assert answer.status_code == status, answer.text
    return answer.json()


def test_overview(world: Running) -> None:
    found = get(world, "/v1/overview")
    statuses = {each["loop"]: each["status"] for each in get(world, "/v1/loops")["loops"]}
    assert [loop["loop"] for loop in found["loops"]] == list(statuses) == ["search", ODD, "rankers"]
    for loop in found["loops"]:
        status = statuses[loop["loop"]]
        for word in ("keys", "impressions", "clicks", "learned", "open", "duplicates", "late", "holdout", "mode"):
            assert loop[word] == status[word], word
        assert loop["uplift"] == status.get("uplift")
        assert sum(loop["series"]["impressions"]) == status["impressions"]
    name = world.service.live.store.name
    assert found["store"]["name"] == (name if "://" in name else "shop.db")  # nobody learns in which folder it is
    assert {each["kind"] for each in found["happenings"]} == {"created", "started"}


def test_keys_and_a_key(world: Running) -> None:
    for loop in ("search", ODD):
        path = f"/v1/loops/{quote(loop, safe='')}"
        page = get(world, f"{path}/keys")
        assert {row["key"]: (row["impressions"], row["clicks"]) for row in page["keys"]} == {
            "laptop": (7, 7),
            ODD: (3, 3),
        }
        first = get(world, f"{path}/keys", limit=1)
        second = get(world, f"{path}/keys", limit=1, after=first["next"])
        assert [row["key"] for row in first["keys"] + second["keys"]] == ["laptop", ODD]
        assert second["next"] is None
        assert [row["key"] for row in get(world, f"{path}/keys", search="👩🏽‍💻?x=1&y=#z %2F")["keys"]] == [ODD]
        seen = get(world, f"{path}/keys/{quote(ODD, safe='')}")
        assert seen["production"] == LIST
        assert seen["best"] == world.service.live.best(loop, ODD)
        assert (seen["impressions"], seen["clicks"], seen["reverted"]) == (3, 3, None)
        assert ("receipt" in seen) == (loop == "search")
        assert [each["item"] for each in seen["items"]] == ([] if loop == "search" else LIST)


def test_history(world: Running) -> None:
    for loop, kind in (("search", "rerank"), (ODD, "follow")):
        found = get(world, f"/v1/loops/{quote(loop, safe='')}/keys/{quote(ODD, safe='')}/history")
        assert (found["kind"], found["progress"]["complete"], found["dropped"]) == (kind, True, 0)
        assert (sum(found["series"]["impressions"]), sum(found["series"]["clicked"])) == (3, 3)
        assert [each["item"] for each in found["series"]["items"]] == ([] if loop == "search" else LIST)


def test_a_key_that_was_reverted(world: Running) -> None:
    path = f"/v1/loops/search/keys/{quote(ODD, safe='')}"
    assert world.admin.post(f"{path}/revert").status_code == 200
    assert get(world, path)["reverted"] is not None
    assert get(world, f"{path}/history")["changes"][-1]["kind"] == "reverted"
    newest = get(world, "/v1/overview")["happenings"][0]
    assert (newest["kind"], newest["loop"], newest["key"]) == ("reverted", "search", ODD)


def test_a_race_without_duels(world: Running) -> None:
    found = get(world, "/v1/loops/rankers/race")
    assert (found["rankers"], found["leader"], found["winner"], found["batches"]) == (2, None, None, [["x", "y"]])
    assert "is of kind rerank" in get(world, "/v1/loops/search/race", 404)["detail"]


def test_a_race_of_a_key(world: Running) -> None:
    duel = world.admin.post("/v1/loops/rankers/duel", json={"key": ODD, "user": "u1"}).json()
    assert len(duel["rankers"]) == 2
    found = get(world, "/v1/loops/rankers/race", key=ODD)
    assert (found["key"], found["rankers"]) == (ODD, 2)
    assert "has not been asked for" in get(world, "/v1/loops/rankers/race", 404, key="never")["detail"]
    assert get(world, "/v1/loops/rankers/race", 422, key="x" * 1025)["field"] == "key"


def test_what_is_not_there(world: Running) -> None:
    for path in ("/keys", "/keys/laptop", "/keys/laptop/history", "/race"):
        assert get(world, f"/v1/loops/nothing{path}", 404)["field"] == "loop"
    assert "has not been asked for" in get(world, "/v1/loops/search/keys/never", 404)["detail"]
    for query in (
        {"limit": "0"},
        {"limit": "201"},
        {"limit": "x"},
        {"limit": ""},
        {"after": "x"},
        {"search": "x" * 1025},
    ):
        assert get(world, "/v1/loops/search/keys", 422, **query)["field"] == next(iter(query))
    assert world.admin.get("/v1/loops/search/keys?search=%FF").status_code == 422


def test_who_may_look(world: Running) -> None:
    """Readers may; those who rank or send events may not, and a key for single loops sees those alone."""
    for path in ("/v1/overview", "/v1/loops/search/keys", "/v1/loops/search/keys/laptop", "/v1/loops/rankers/race"):
        assert world.holding("read").get(path).status_code == 200
        assert world.client(None).get(path).status_code == 401
        for role in ("rank", "events"):
            assert world.holding(role).get(path).status_code == 403
    tenant = world.holding("read", loops=[ODD])
    found = tenant.get("/v1/overview").json()
    assert [loop["loop"] for loop in found["loops"]] == [ODD]
    assert found["store"] is None
    assert {each["loop"] for each in found["happenings"]} == {ODD}
    for path in ("/v1/loops/search/keys", "/v1/loops/search/keys/laptop", "/v1/loops/rankers/race"):
        assert tenant.get(path).status_code == 404
    assert tenant.get(f"/v1/loops/{quote(ODD, safe='')}/keys").status_code == 200


def test_a_store_that_is_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(tmp_path / "shop.db", limits=Limits(guesses=0.0)) as running:
        running.admin.put("/v1/loops/search", json={"kind": "rerank"})

        def away(*_: Any) -> None:
            raise StoreLost("shop.db did not answer")

        monkeypatch.setattr(type(running.service.live.store), "tally", away)
        for path in ("/v1/overview", "/v1/loops/search/keys"):
            answer = running.admin.get(path)
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            assert "shop.db did not answer" in answer.json()["detail"]


def test_queries_are_described() -> None:
    described = document()["paths"]["/v1/loops/{loop}/keys"]["get"]
    assert [each["name"] for each in described["parameters"] if each["in"] == "query"] == ["after", "limit", "search"]
