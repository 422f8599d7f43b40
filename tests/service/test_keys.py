"""Access keys: who may do what, for how long, from where."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from postgres_server import Server
from service_client import ADMIN, Running, served

from rankloop.live.directory import Directory
from rankloop.live.sqlite import SQLiteStore
from rankloop.service import service as service_module
from rankloop.service.fleet.fleet import Fleet
from rankloop.service.keys import KeyRing, new_key
from rankloop.service.limits import Limits

ITEMS = ["a", "b", "c"]
BODY = {"key": "laptop", "items": ITEMS}
ORIGIN = "https://shop.example"


@pytest.fixture(scope="module")
def loops(running: Running) -> Running:
    """Two tenants' loops, and one of each kind of request."""
    for loop in ("search", "other"):
        assert running.admin.put(f"/v1/loops/{loop}", json={"kind": "rerank", "holdout": 0}).status_code == 201
        running.admin.post(f"/v1/loops/{loop}/rank", json=BODY)
    assert running.admin.put("/v1/loops/duels", json={"kind": "evaluate", "rankers": ["a", "b"]}).status_code == 201
    return running


def shown(running: Running, loop: str = "search") -> str:
    return str(running.admin.post(f"/v1/loops/{loop}/rank", json=BODY).json()["id"])


REQUESTS: dict[str, list[tuple[str, str, Any]]] = {
    "rank": [
        ("POST", "/v1/loops/search/rank", BODY),
        ("POST", "/v1/loops/duels/duel", {}),
        ("POST", "/v1/loops/duels/interleave", {"duel": "x", "lists": {}}),
    ],
    "events": [
        ("POST", "/v1/events", []),
        ("POST", "/v1/events", {"impression": "x", "item": "y"}),
        ("POST", "/v1/ubi/events", []),
        ("POST", "/v1/ubi/queries", []),
    ],
    "read": [
        ("GET", "/v1/loops", None),
        ("GET", "/v1/loops/search", None),
        ("GET", "/v1/loops/search/keys", None),
        ("GET", "/v1/loops/search/keys/laptop", None),
        ("GET", "/v1/loops/search/keys/laptop/history", None),
        ("GET", "/v1/loops/duels/race", None),
        ("GET", "/v1/overview", None),
        ("GET", "/v1/key", None),
        ("GET", "/v1/impressions/x", None),
        ("GET", "/metrics", None),
    ],
    "admin": [
        ("PUT", "/v1/loops/search", {"kind": "rerank"}),
        ("PUT", "/v1/loops/search/items", {"items": {}}),
        ("POST", "/v1/loops/search/pause", None),
        ("POST", "/v1/loops/search/resume", None),
        ("POST", "/v1/loops/search/revert", {"key": "laptop"}),
        ("POST", "/v1/loops/search/keys/laptop/revert", None),
        ("GET", "/v1/keys", None),
        ("POST", "/v1/keys", {"role": "nobody"}),
        ("DELETE", "/v1/keys/x", None),
    ],
}
MAY = {"rank": {"rank", "events"}, "events": {"events"}, "read": {"read"}, "admin": set(REQUESTS)}


@pytest.mark.parametrize("role", MAY)
def test_each_role_may_do_its_own(loops: Running, role: str) -> None:
    client = loops.holding(role)
    for needed, requests in REQUESTS.items():
        for method, path, body in requests:
            status = client.request(method, path, json=body).status_code
            assert (status == 403) == (needed not in MAY[role]), (method, path, status)
            assert status != 401


def test_nothing_without_a_key(loops: Running) -> None:
    with loops.client(None) as nobody, loops.client("rl_0123456789ab_guessed") as guessing:
        for requests in REQUESTS.values():
            for method, path, body in requests:
                for client in (nobody, guessing):
                    answer = client.request(method, path, json=body)
                    assert answer.status_code == 401, (method, path)
                    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_every_route_is_in_these_tests() -> None:
    from rankloop.service.routes import ROUTES, Router

    router = Router(ROUTES)
    tested = {router.find(path.encode())[0][method].name for many in REQUESTS.values() for method, path, _ in many}
    assert tested == {route.name for route in ROUTES if route.role is not None}


def test_a_revoked_key_is_refused_at_once(loops: Running) -> None:
    made = loops.admin.post("/v1/keys", json={"role": "rank", "note": "the shop"}).json()
    client = loops.client(made["key"])
    assert client.post("/v1/loops/search/rank", json=BODY).status_code == 200
    revoked = loops.admin.delete(f"/v1/keys/{made['info']['id']}").json()
    assert revoked["revoked"] is not None
    assert client.post("/v1/loops/search/rank", json=BODY).status_code == 401
    listed = {info["id"]: info for info in loops.admin.get("/v1/keys").json()["keys"]}
    assert listed[made["info"]["id"]]["note"] == "the shop"
    assert listed[made["info"]["id"]]["revoked"] is not None
    assert loops.admin.delete("/v1/keys/nobody").status_code == 404


class Hesitant(SQLiteStore):
    """A store that, when told so, hands out keys a while after it has read them."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.hesitates = False
        self.has_read, self.free = threading.Event(), threading.Event()

    def keys(self) -> Mapping[str, bytes]:
        found = super().keys()
        if self.hesitates:
            self.hesitates = False
            self.has_read.set()
            assert self.free.wait(60)
        return found


def test_a_look_that_began_before_does_not_make_a_revoked_key_valid_again(tmp_path: Path) -> None:
    store = Hesitant(tmp_path / "shop.db")
    store.open()
    ring = KeyRing(store)
    text, key = ring.make("rank")
    store.hesitates = True
    looking = threading.Thread(target=ring.look)
    revoking = threading.Thread(target=lambda: ring.revoke(key.id))
    looking.start()
    assert store.has_read.wait(60)
    revoking.start()
    revoking.join(0.3)
    store.free.set()
    looking.join(60)
    revoking.join(60)
    assert ring.find(text) is None
    store.close()


def test_all_workers_have_heard_of_a_key_before_it_is_answered(
    postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made or revoked: whoever is asked next knows, and not only after the next look at the store."""
    monkeypatch.setattr(service_module, "LOOK_AGAIN", 3_600.0)
    url = postgres.empty_database("keys")
    directory = Directory(url, partitions=2)
    directory.open()
    directory.close()

    def worker(name: str) -> Any:
        return served(
            url, limits=Limits(guesses=0.0), workers=Fleet(url, admin=ADMIN, name=f"host:80/{name}", workers=2)
        )

    with worker("0") as one, worker("1") as two:
        while not one.service.workers._peers:  # type: ignore[union-attr]
            time.sleep(0.02)
        made = one.admin.post("/v1/keys", json={"role": "read"}).json()
        clients = [each.client(made["key"]) for each in (one, two)]
        assert [client.get("/v1/loops").status_code for client in clients] == [200, 200]
        assert one.admin.delete(f"/v1/keys/{made['info']['id']}").status_code == 200
        assert [client.get("/v1/loops").status_code for client in clients] == [401, 401]


def test_what_is_kept_is_no_key(loops: Running) -> None:
    made = loops.admin.post("/v1/keys", json={"role": "read"}).json()
    secret = made["key"].split("_", 2)[2]
    records = loops.service.live.store.keys()
    assert made["info"]["id"] in records
    assert not any(secret.encode() in record for record in records.values())
    assert made["key"] not in loops.admin.get("/v1/keys").text


def test_a_key_expires(tmp_path: Path) -> None:
    now = [1_000.0]
    store = SQLiteStore(tmp_path / "shop.db")
    store.open()
    ring = KeyRing(store, clock=lambda: now[0])
    text, key = ring.make("rank", expires="90d")
    assert key.expires == 1_000.0 + 90 * 86_400
    now[0] = key.expires - 1
    assert ring.find(text) == key
    now[0] += 1
    assert ring.find(text) is None
    store.close()


def test_keys_of_another_process_are_seen_soon(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "shop.db")
    store.open()
    one, other = KeyRing(store), KeyRing(store)
    text, key = one.make("rank")
    assert other.find(text) is None
    other.look()
    assert other.find(text) == key
    store.close()


def test_an_admin_key_from_outside(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "shop.db")
    store.open()
    assert not KeyRing(store).has_admin
    ring = KeyRing(store, admin=ADMIN)
    found = ring.find(ADMIN)
    assert found is not None
    assert found.role == "admin"
    assert dict(store.keys()) == {}
    for bad in ("short", "with a blank in it", "x" * 15, "smörgåsbord-och-mer"):
        with pytest.raises(ValueError, match="RANKLOOP_ADMIN_KEY must have at least 16 characters"):
            KeyRing(store, admin=bad)
    store.close()


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"role": "boss"}, "there is no role 'boss'"),
        ({"role": "rank", "expires": "soon"}, "expires must be a length of time"),
        ({"role": "rank", "origins": [ORIGIN]}, "origins are for keys of role events"),
        ({"role": "events", "origins": ["*"]}, "origin must be a scheme and a host"),
        ({"role": "events", "origins": [f"{ORIGIN}/path"]}, "origin must be a scheme and a host"),
        ({"role": "events", "origins": ["null"]}, "origin must be a scheme and a host"),
        ({"role": "rank", "loops": [""]}, "loop must not be empty"),
    ],
)
def test_keys_that_make_no_sense(asked: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told.replace("*", r"\*")):
        new_key(**asked)


# -- tenants -----------------------------------------------------------------------------------------------------


def test_tenants_do_not_see_each_other(loops: Running) -> None:
    """A key for one loop finds no trace of the others."""
    tenant = {role: loops.holding(role, loops=["search"]) for role in ("rank", "events", "read", "admin")}
    own, foreign = shown(loops), shown(loops, "other")
    assert tenant["rank"].post("/v1/loops/search/rank", json=BODY).status_code == 200
    missing = tenant["rank"].post("/v1/loops/nowhere/rank", json=BODY).json()
    there = tenant["rank"].post("/v1/loops/other/rank", json=BODY)
    assert there.status_code == 404
    assert there.json()["detail"].replace("other", "nowhere") == missing["detail"]
    assert [each["loop"] for each in tenant["read"].get("/v1/loops").json()["loops"]] == ["search"]
    assert tenant["read"].get("/v1/loops/other").status_code == 404
    assert tenant["read"].get("/v1/loops/other/keys/laptop").status_code == 404
    assert tenant["read"].get(f"/v1/impressions/{own}").status_code == 200
    assert tenant["read"].get(f"/v1/impressions/{foreign}").status_code == 404
    metrics = tenant["read"].get("/metrics").text
    assert 'loop="search"' in metrics
    assert 'loop="other"' not in metrics
    for path in ("pause", "resume", "revert"):
        assert tenant["admin"].post(f"/v1/loops/other/{path}", json={"key": "laptop"}).status_code == 404
    assert tenant["admin"].put("/v1/loops/other", json={"kind": "rerank"}).status_code == 404
    assert tenant["admin"].get("/v1/keys").status_code == 403
    assert tenant["admin"].post("/v1/keys", json={"role": "admin"}).status_code == 403


def test_tenants_do_not_send_events_for_each_other(loops: Running) -> None:
    events = loops.holding("events", loops=["search"])
    own, foreign = shown(loops), shown(loops, "other")
    click = {"impression": foreign, "item": "b"}
    assert events.post("/v1/events", json=click).json() == {"fate": "unknown"}
    both = [{"impression": own, "item": "b"}, click, {"impression": foreign, "type": "finish"}]
    fates = [each["fate"] for each in events.post("/v1/events", json=both).json()["events"]]
    assert fates == ["accepted", "unknown", "unknown"]
    assert loops.admin.post("/v1/events", json=click).json() == {"fate": "accepted"}  # nothing had come of it


# -- browsers ----------------------------------------------------------------------------------------------------


def test_browser_keys(loops: Running) -> None:
    key = loops.key("events", origins=[ORIGIN, "https://www.shop.example"])
    page, elsewhere = loops.client(key, Origin=ORIGIN), loops.client(key, Origin="https://evil.example")
    click = {"impression": shown(loops), "item": "b"}
    answer = page.post("/v1/events", json=click)
    assert answer.json() == {"fate": "accepted"}
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert answer.headers["vary"] == "origin"
    answer = elsewhere.post("/v1/events", json=click)
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers
    assert loops.client(key).post("/v1/events", json=click).status_code == 403  # not from a web page
    assert page.post("/v1/loops/search/rank", json=BODY).status_code == 403
    assert page.get("/v1/loops").status_code == 403


def test_preflights(loops: Running) -> None:
    loops.key("events", origins=[ORIGIN])
    with loops.client(None) as nobody:
        asked = {"Origin": ORIGIN, "Access-Control-Request-Method": "POST"}
        answer = nobody.options("/v1/events", headers=asked)
        assert answer.status_code == 204
        assert answer.headers["access-control-allow-origin"] == ORIGIN
        assert "authorization" in answer.headers["access-control-allow-headers"]
        answer = nobody.options("/v1/events", headers={**asked, "Origin": "https://evil.example"})
        assert not [name for name in answer.headers if name.startswith("access-control")]
        answer = nobody.options("/v1/loops/search/rank", headers=asked)
        assert answer.status_code == 405
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_a_beacon_carries_its_key_in_the_body(loops: Running) -> None:
    """`navigator.sendBeacon` cannot set headers."""
    key, id_ = loops.key("events", origins=[ORIGIN]), shown(loops)
    body = {"key": key, "events": [{"impression": id_, "item": "b"}]}
    with loops.client(None, Origin=ORIGIN) as page:
        answer = page.post("/v1/events", json=body)
        assert answer.json() == {"events": [{"fate": "accepted"}]}
        assert page.post("/v1/events", json={**body, "key": ADMIN}).status_code == 403
        assert page.post("/v1/events", json={**body, "key": "guessed"}).status_code == 401
        assert page.post("/v1/events", json={**body, "key": 3}).status_code == 401
    with loops.client(None, Origin="https://evil.example") as elsewhere:
        assert elsewhere.post("/v1/events", json=body).status_code == 403


# -- rates -------------------------------------------------------------------------------------------------------


def test_rates(tmp_path: Path) -> None:
    with served(tmp_path / "shop.db", limits=Limits(rate=1.0, browser_rate=1.0, guesses=1.0)) as running:
        statuses = [running.admin.get("/v1/loops") for _ in range(8)]
        assert [each.status_code for each in statuses][:5] == [200] * 5
        assert statuses[-1].status_code == 429
        assert int(statuses[-1].headers["retry-after"]) >= 1
        assert "1 requests per second" in statuses[-1].json()["detail"]


def test_guessing_keys_is_slowed_down(tmp_path: Path) -> None:
    with served(tmp_path / "shop.db", limits=Limits(guesses=1.0)) as running, running.client("guess") as guessing:
        statuses = [guessing.get("/v1/loops").status_code for _ in range(10)]
        assert statuses[:5] == [401] * 5
        assert statuses[-1] == 429
        assert running.admin.get("/v1/loops").status_code == 200  # who has a key is not kept out
