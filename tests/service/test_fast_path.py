"""The short way for lists and events: what goes over the wire, byte by byte."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from service_client import ADMIN, Running, Wire, request, served, wire

from rankloop.live import StoreLost
from rankloop.live.sqlite import SQLiteStore
from rankloop.live.stores import Batch
from rankloop.service.header_cache import LONGEST_HEAD, MOST_HEADS, Head, Heads
from rankloop.service.limits import Limits

ITEMS = ["a", "b", "c"]


RANK = request("/v1/loops/search/rank", {"key": "laptop", "items": ITEMS})


@pytest.fixture
def shop(on_sqlite: Running) -> Running:
    """A service with a key in memory."""
    on_sqlite.admin.put("/v1/loops/search", json={"kind": "rerank", "holdout": 0})
    on_sqlite.admin.post("/v1/loops/search/rank", json={"key": "laptop", "items": ITEMS})
    return on_sqlite


def click(id_: str, item: str = "b", *more: str) -> bytes:
    return request("/v1/events", {"impression": id_, "item": item}, *more)


def test_both_ways_answer_alike(shop: Running) -> None:
    """The same headers and the same fields, whichever way a request takes."""
    with wire(shop) as connection:
        connection.send(RANK)
        status, headers, quick = connection.read()
        connection.send(request("/v1/loops/search/rank", {"key": "other", "items": ITEMS}))
        status_2, headers_2, slow = connection.read()
        assert status == status_2 == 200
        assert set(quick) == set(slow)
        different = ("content-length", "x-request-id")
        assert {k: v for k, v in headers.items() if k not in different} == {
            k: v for k, v in headers_2.items() if k not in different
        }


def test_requests_in_one_piece_are_answered_in_order(shop: Running) -> None:
    """Pipelining: a client may send the next request before it has the answer."""
    with wire(shop) as connection:
        connection.send(RANK)
        first = connection.read()[2]["id"]
        connection.send(
            click(first) + click(first) + RANK + request("/v1/loops/search", b"", method="GET") + click("x") + RANK
        )
        answers = [connection.read() for _ in range(6)]
        assert [status for status, _, _ in answers] == [200] * 6
        bodies = [body for _, _, body in answers]
        assert [bodies[0], bodies[1], bodies[4]] == [{"fate": "accepted"}, {"fate": "duplicate"}, {"fate": "unknown"}]
        assert sorted(bodies[2]["items"]) == sorted(bodies[5]["items"]) == ITEMS
        assert bodies[3]["loop"] == "search"


def test_a_request_that_comes_byte_by_byte(shop: Running) -> None:
    with wire(shop) as connection:
        for byte in RANK:
            connection.send(bytes([byte]))
        assert sorted(connection.read()[2]["items"]) == ITEMS


def test_a_body_in_chunks(shop: Running) -> None:
    body = json.dumps({"key": "laptop", "items": ITEMS}).encode()
    head = f"POST /v1/loops/search/rank HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN}\r\n"
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:7], body[7:])) + b"0\r\n\r\n"
    with wire(shop) as connection:
        connection.send(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + chunks)
        assert sorted(connection.read()[2]["items"]) == ITEMS


def test_a_large_body_goes_the_other_way(shop: Running) -> None:
    items = [f"{number:0900}" for number in range(100)]
    body = request("/v1/loops/search/rank", {"key": "large", "items": items})
    with wire(shop) as connection:
        for _ in range(2):
            connection.send(body)
            status, _, answer = connection.read()
            assert status == 200
            assert set(answer["items"]) < set(items)


def test_a_client_that_expects_to_be_asked(shop: Running) -> None:
    with wire(shop) as connection:
        head, _, body = RANK.partition(b"\r\n\r\n")
        connection.send(head + b"\r\nExpect: 100-continue\r\n\r\n")
        assert connection.socket.recv(100).startswith(b"HTTP/1.1 100")
        connection.send(body)
        assert connection.read()[0] == 200


def test_closing_is_honoured(shop: Running) -> None:
    with wire(shop) as connection:
        connection.send(request("/v1/loops/search/rank", {"key": "laptop", "items": ITEMS}, "Connection: close"))
        status, headers, _ = connection.read()
        assert (status, headers["connection"]) == (200, "close")
        assert connection.ended()


def test_request_ids_of_clients(shop: Running) -> None:
    with wire(shop) as connection:
        connection.send(request("/v1/loops/search/rank", {"key": "laptop", "items": ITEMS}, "X-Request-Id: mine"))
        assert connection.read()[1]["x-request-id"] == "mine"
        connection.send(request("/v1/loops/search/rank", {"key": "laptop", "items": ITEMS}, "X-Request-Id: a b"))
        assert connection.read()[1]["x-request-id"] != "a b"


def test_a_known_head_is_answered_like_a_new_one(shop: Running) -> None:
    """Whatever follows a head that has been read before: another body, half of one, more than one, too much."""
    one = request("/v1/loops/search/rank", {"key": "laptop", "items": ITEMS})
    other = one.replace(b"laptop", b"tablet")
    with wire(shop) as connection:
        for data, n in ((one, 1), (one, 1), (other, 1), (one + other + one, 3), (other, 1)):
            connection.send(data)
            answers = [connection.read() for _ in range(n)]
            assert [status for status, _, _ in answers] == [200] * n
            assert len({headers["x-request-id"] for _, headers, _ in answers}) == n
        for cut in range(1, len(one), 7):
            connection.send(one[:cut])
            connection.send(one[cut:] + one[:cut])
            connection.send(one[cut:])
            assert [connection.read()[0] for _ in range(2)] == [200, 200]
        connection.send(one[:-1] + b"!")
        assert connection.read()[0] == 400
        connection.send(one + b"GET / HTTP/1.1 smuggled\r\n\r\n")
        assert connection.read()[0] == 200
        assert connection.read()[0] == 400


def test_an_id_is_not_taken_from_the_request_before(shop: Running) -> None:
    with wire(shop) as connection:
        for _ in range(3):
            connection.send(RANK)
            assert connection.read()[1]["x-request-id"] != "mine"
            connection.send(request("/v1/loops/search/rank", {"key": "laptop", "items": ITEMS}, "X-Request-Id: mine"))
            assert connection.read()[1]["x-request-id"] == "mine"


def test_a_key_that_was_revoked_is_refused_on_the_same_connection(shop: Running) -> None:
    key = shop.key("rank")
    asked = request("/v1/loops/search/rank", {"key": "laptop", "items": ITEMS}, key=key)
    with wire(shop) as connection:
        for _ in range(3):
            connection.send(asked)
            assert connection.read()[0] == 200
        assert shop.admin.delete(f"/v1/keys/{key.split('_')[1]}").status_code == 200
        connection.send(asked)
        assert connection.read()[0] == 401


def test_which_heads_are_remembered() -> None:
    heads, head = Heads(), Head("rank", "search", "key", 4)
    whole = b"POST /x HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody"
    for data in (whole + b"?", whole[:-1], b"\r\n\r\n" + whole, whole.replace(b"\r\n", b"\n"), b"body"):
        heads.remember(data, head)
        assert heads.find(data) is heads.find(whole) is None
    heads.remember(whole, head)
    assert heads.find(whole) == (head, b"body")
    assert heads.find(whole[:-4] + b"more") == (head, b"more")
    assert heads.find(whole + whole) is heads.find(whole[:-1]) is heads.find(b"") is None
    for number in range(MOST_HEADS + 10):
        heads.remember(b"POST /%d HTTP/1.1\r\n\r\nbody" % number, head)
    assert heads.find(whole) is None
    heads.remember(b"POST /" + b"x" * LONGEST_HEAD + b" HTTP/1.1\r\n\r\nbody", head)
    assert len(heads) < MOST_HEADS


class Stubborn(SQLiteStore):
    """A store whose writes wait, or fail, when it is told so."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.free = threading.Event()
        self.free.set()
        self.fails = False

    def write(self, batch: Batch) -> None:
        self.free.wait(60)
        if self.fails:
            raise StoreLost("the disk is full")
        super().write(batch)


@pytest.fixture
def stubborn(tmp_path: Path) -> Iterator[tuple[Stubborn, Running]]:
    store = Stubborn(tmp_path / "shop.db")
    with served(store, limits=Limits(patience=0.2)) as running:
        running.admin.put("/v1/loops/search", json={"kind": "rerank", "holdout": 0})
        running.admin.post("/v1/loops/search/rank", json={"key": "laptop", "items": ITEMS})
        yield store, running
        store.fails = False
        store.free.set()


def test_an_event_is_acknowledged_only_when_it_is_durable(stubborn: tuple[Stubborn, Running]) -> None:
    store, running = stubborn
    with wire(running) as one, wire(running) as other:
        one.send(RANK)
        id_ = one.read()[2]["id"]
        store.free.clear()
        one.send(click(id_))
        other.send(RANK)  # lists do not wait for the disk
        assert other.read()[0] == 200
        one.socket.settimeout(0.5)
        with pytest.raises(TimeoutError):
            one.read()
        store.free.set()
        one.socket.settimeout(60)
        assert one.read()[2] == {"fate": "accepted"}


def test_a_write_that_fails_is_told_and_can_be_repeated(stubborn: tuple[Stubborn, Running]) -> None:
    store, running = stubborn
    with wire(running) as connection:
        connection.send(RANK)
        id_ = connection.read()[2]["id"]
        store.fails = True
        connection.send(click(id_))
        status, headers, told = connection.read()
        assert (status, headers["retry-after"]) == (503, "1")
        assert "the disk is full" in told["detail"]
        store.fails = False
        connection.send(click(id_))
        assert connection.read()[2] == {"fate": "duplicate"}  # the first is in the journal by now
        assert running.admin.get("/v1/loops/search").json()["status"]["clicks"] == 1


def test_a_store_that_hangs_does_not_break_the_page(stubborn: tuple[Stubborn, Running]) -> None:
    """A new key needs the store: production's list is answered when that takes too long, and is not learned from."""
    store, running = stubborn
    store.free.clear()
    answer = running.admin.post("/v1/loops/search/rank", json={"key": "new", "items": ITEMS, "pinned": {"0": "ad"}})
    assert answer.status_code == 200
    shown = answer.json()
    assert shown["items"] == ["ad", *ITEMS]
    assert shown["fallback"] is True
    assert shown["id"] == ""
    assert "did not answer within 0.2 s" in shown["reason"]
    assert running.admin.get("/health/live").status_code == 200
    store.free.set()
    for _ in range(200):
        status = running.admin.get("/v1/loops/search").json()["status"]
        if status["never_shown"]:
            break
    assert status["never_shown"] == 1  # the list that came too late was withdrawn
    assert status["fallbacks"] == 1
    assert running.service.live.verify().ok


def test_a_store_that_fails_does_not_break_the_page(stubborn: tuple[Stubborn, Running]) -> None:
    store, running = stubborn
    store.fails = True
    shown = running.admin.post("/v1/loops/search/rank", json={"key": "new", "items": ITEMS}).json()
    assert (shown["items"], shown["fallback"]) == (ITEMS, True)
    assert "the disk is full" in shown["reason"]


def test_a_client_that_goes_away_while_it_waits(stubborn: tuple[Stubborn, Running]) -> None:
    store, running = stubborn
    with wire(running) as connection:
        connection.send(RANK)
        id_ = connection.read()[2]["id"]
        store.free.clear()
        connection.send(click(id_))
    store.free.set()
    assert running.admin.post("/v1/events", json={"impression": id_, "item": "b"}).json() == {"fate": "duplicate"}
    assert running.service.requests <= 1


def test_too_many_who_wait_are_told_so(tmp_path: Path) -> None:
    """Bounded queues: beyond them answers come at once, and the service stays alive."""
    store = Stubborn(tmp_path / "shop.db")
    with served(store, limits=Limits(requests=4, threads=2, patience=5.0)) as running:
        running.admin.put("/v1/loops/search", json={"kind": "rerank", "holdout": 0})
        ids = [
            running.admin.post("/v1/loops/search/rank", json={"key": "laptop", "items": ITEMS}).json()["id"]
            for _ in range(6)
        ]
        store.free.clear()
        connections = [Wire(running) for _ in range(8)]
        for connection, id_ in zip(connections, ids, strict=False):
            connection.send(click(id_))
        refused = [connection.read() for connection in connections[4:6]]
        assert [(status, headers["retry-after"]) for status, headers, _ in refused] == [(503, "1")] * 2
        store.free.set()
        assert [connection.read()[2] for connection in connections[:4]] == [{"fate": "accepted"}] * 4
        store.free.clear()
        for number, connection in enumerate(connections[:3]):  # more new keys than may wait
            connection.send(request("/v1/loops/search/rank", {"key": f"new {number}", "items": ITEMS}))
        shown = connections[2].read()[2]
        assert (shown["items"], shown["fallback"]) == (ITEMS, True)
        assert "too many calls wait" in shown["reason"]
        store.free.set()
        assert connections[0].read()[0] == 200
        for connection in connections:
            connection.socket.close()


def test_more_requests_than_are_taken_on(tmp_path: Path) -> None:
    """Under overload lists are production's and say so, events are refused for now, and health is answered."""
    store = Stubborn(tmp_path / "shop.db")
    with served(store, limits=Limits(requests=2)) as running:
        running.admin.put("/v1/loops/search", json={"kind": "rerank", "holdout": 0, "positions": 2})
        shown = [
            running.admin.post("/v1/loops/search/rank", json={"key": "laptop", "items": ITEMS}).json() for _ in range(3)
        ]
        store.free.clear()
        waiting = [Wire(running) for _ in range(2)]
        for connection, each in zip(waiting, shown, strict=False):
            connection.send(click(each["id"], each["items"][0]))
        while running.service.requests < 2:
            time.sleep(0.01)
        with wire(running) as known:  # what is in memory is answered from there, whatever waits
            known.send(RANK)
            assert known.read()[2]["arm"] == "policy"
        body = {"key": "new", "items": ITEMS, "pinned": {"0": "ad"}}
        for _ in range(2):
            answer = running.admin.post("/v1/loops/search/rank", json=body)
            assert answer.status_code == 200
            assert answer.json() == {
                "id": "", "items": ["ad", "a"], "loop": "search", "arm": "fallback", "fallback": True,
                "reason": "too many requests are being answered",
            }  # fmt: skip
        assert running.service.metrics.fallbacks["search"] == 2
        for wrong, status in (({**body, "items": ["a", "a"]}, 422), ({"key": "new"}, 422)):
            assert running.admin.post("/v1/loops/search/rank", json=wrong).status_code == status
        assert running.admin.post("/v1/loops/nowhere/rank", json=body).status_code == 404
        assert running.client("guessed").post("/v1/loops/search/rank", json=body).status_code == 401
        for path, sent in (("/v1/events", {"impression": shown[2]["id"], "item": "a"}), ("/v1/loops/search/duel", {})):
            refused = running.admin.post(path, json=sent)
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        for path in ("/health/live", "/health/ready"):
            assert running.client(None).get(path).status_code == 200
        store.free.set()
        assert [connection.read()[2] for connection in waiting] == [{"fate": "accepted"}] * 2
        for connection in waiting:
            connection.socket.close()
        assert running.admin.post("/v1/loops/search/rank", json=body).json()["arm"] == "policy"


def test_before_it_is_ready_and_while_it_ends(shop: Running) -> None:
    """A load balancer should go elsewhere: nobody knows the loops and the keys yet, or any more."""
    for draining, status, why in ((False, "loading", "still loading"), (True, "draining", "is ending")):
        shop.service.ready, shop.service.draining = False, draining
        for sent in (RANK, click("x")):
            with wire(shop) as connection:
                connection.send(sent)
                code, headers, told = connection.read()
                assert (code, headers["retry-after"]) == (503, "1")
                assert why in told["detail"]
        ready = shop.client(None).get("/health/ready")
        assert (ready.status_code, ready.json()) == (503, {"status": status})
        assert shop.client(None).get("/health/live").status_code == 200
    shop.service.ready, shop.service.draining = True, False


def test_a_bug_on_the_quick_way_is_no_bad_request(shop: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """The protocol would tell the client that its request was no HTTP."""

    def broken(*_: object, **__: object) -> None:
        raise ArithmeticError("a bug")

    with wire(shop) as connection:
        connection.send(RANK)
        id_ = connection.read()[2]["id"]
        with monkeypatch.context() as patch:
            assert shop.service.only is not None
            for name in ("rank", "take", "take_many"):
                patch.setattr(shop.service.only.prompt, name, broken)
            connection.send(RANK)
            status, _, answer = connection.read()
            assert (status, answer["items"], answer["fallback"]) == (200, ITEMS, True)
            connection.send(click(id_))
            assert connection.read()[0] == 500
        connection.send(click(id_))
        assert connection.read()[2] == {"fate": "accepted"}
