"""Fifty-two ways to attack the service, a test each: none gets in, none sees what is not its own, none stops it."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from service_client import ADMIN, Running, Wire, request, served, wire

from rankloop.service import app
from rankloop.service.fast_path import QuickProtocol
from rankloop.service.limits import Limits
from rankloop.service.routes import ROUTES

ITEMS = ["a", "b", "c"]
BODY = {"key": "laptop", "items": ITEMS}
HTML = "<script>alert(1)</script>"
SQL = "'; DROP TABLE journal; --"


@pytest.fixture(scope="module")
def shop(running: Running) -> Running:
    for loop in ("search", "other"):
        running.admin.put(f"/v1/loops/{loop}", json={"kind": "rerank", "holdout": 0})
        running.admin.post(f"/v1/loops/{loop}/rank", json=BODY)
    return running


@pytest.fixture(autouse=True)
def still_whole(shop: Running) -> Any:
    """After each attack the service answers, and the journal is what it says."""
    yield
    assert shop.admin.get("/health/ready").status_code == 200
    assert shop.admin.post("/v1/loops/search/rank", json=BODY).json()["arm"] == "policy"
    assert shop.service.live.verify().ok


def shown(shop: Running, loop: str = "search") -> str:
    return str(shop.admin.post(f"/v1/loops/{loop}/rank", json=BODY).json()["id"])


def fate(shop: Running, event: Any) -> str:
    answer = shop.admin.post("/v1/events", json=event)
    return str(answer.json()["fate"]) if answer.status_code == 200 else f"{answer.status_code}"


def clicks(shop: Running) -> int:
    return int(shop.admin.get("/v1/loops/search").json()["status"]["clicks"])


def raw(shop: Running, data: bytes) -> tuple[int, dict[str, str], Any]:
    with wire(shop) as connection:
        connection.send(data)
        return connection.read()


# -- impression ids ----------------------------------------------------------------------------------------------


def test_01_a_made_up_id(shop: Running) -> None:
    assert fate(shop, {"impression": "AAAA", "item": "a"}) == "unknown"


def test_02_an_id_with_any_character_altered(shop: Running) -> None:
    id_, before = shown(shop), clicks(shop)
    for place in range(len(id_)):
        altered = id_[:place] + ("A" if id_[place] != "A" else "B") + id_[place + 1 :]
        assert fate(shop, {"impression": altered, "item": "a"}) in ("unknown", "foreign")
    assert clicks(shop) == before


def test_03_the_body_of_one_id_with_the_signature_of_another(shop: Running) -> None:
    one, other = shown(shop), shown(shop)
    assert fate(shop, {"impression": one[:-16] + other[-16:], "item": "a"}) == "unknown"


def test_04_an_id_cut_off(shop: Running) -> None:
    id_ = shown(shop)
    for length in (0, 1, 10, 38, 40, len(id_) - 1):
        assert fate(shop, {"impression": id_[:length], "item": "a"}) == "unknown"


def test_05_an_id_that_decodes_to_the_same_bytes(shop: Running) -> None:
    """Base64 has spare bits, padding and other alphabets: only one text is the id."""
    id_ = shown(shop)
    for other in (id_ + "=", id_ + "==", id_ + "\n", " " + id_, id_.replace("-", "+").replace("_", "/") + "A"):
        assert fate(shop, {"impression": other, "item": "a"}) in ("unknown", "422")


def test_06_an_id_of_another_store(shop: Running, tmp_path: Path) -> None:
    import rankloop as rl

    with rl.Live(tmp_path / "theirs.db") as live:
        live.create("search", kind="rerank")
        id_ = live.rank("search", "laptop", ITEMS).id
    assert fate(shop, {"impression": id_, "item": "a"}) == "foreign"


def test_07_an_unsigned_id_with_a_number_that_is_open(shop: Running) -> None:
    id_ = shown(shop)
    data = bytearray(base64.urlsafe_b64decode(id_ + "=" * (-len(id_) % 4)))
    data[-12:] = bytes(12)
    forged = base64.urlsafe_b64encode(data).rstrip(b"=").decode()
    assert fate(shop, {"impression": forged, "item": "a"}) == "unknown"


def test_08_an_id_that_is_no_text(shop: Running) -> None:
    for id_ in (3, None, True, [], {}, 1e300, ["a"] * 40):
        assert fate(shop, {"impression": id_, "item": "a"}) in ("unknown", "422")


def test_09_an_event_replayed_a_hundred_times(shop: Running) -> None:
    event, before = {"impression": shown(shop), "item": "a", "id": "e1"}, clicks(shop)
    fates = [fate(shop, event) for _ in range(100)]
    assert fates == ["accepted"] + ["duplicate"] * 99
    assert clicks(shop) == before + 1


def test_10_an_event_replayed_inside_one_request(shop: Running) -> None:
    event, before = {"impression": shown(shop), "item": "a"}, clicks(shop)
    heard = shop.admin.post("/v1/events", json=[event] * 1_000).json()["events"]
    assert [each["fate"] for each in heard].count("accepted") == 1
    assert clicks(shop) == before + 1


def test_11_the_same_click_with_other_event_ids(shop: Running) -> None:
    """Nobody votes twice on one position, whatever they call the event."""
    id_, before = shown(shop), clicks(shop)
    assert fate(shop, {"impression": id_, "item": "a", "id": "e1"}) == "accepted"
    assert fate(shop, {"impression": id_, "item": "a", "id": "e2", "at": 1.0}) == "duplicate"
    assert clicks(shop) == before + 1


def test_12_a_click_on_what_was_not_shown(shop: Running) -> None:
    assert fate(shop, {"impression": shown(shop), "item": "z"}) == "422"


def test_13_an_event_after_the_end(shop: Running) -> None:
    id_ = shown(shop)
    assert fate(shop, {"impression": id_, "type": "finish"}) == "accepted"
    assert fate(shop, {"impression": id_, "item": "a"}) == "late"
    assert fate(shop, {"impression": id_, "type": "finish"}) == "late"


def test_14_times_from_other_centuries(shop: Running) -> None:
    id_ = shown(shop)
    for at in (-1e300, 1e300, -1e12, 1e12, "now", [1], True):
        assert fate(shop, {"impression": id_, "item": "a", "at": at}) == "422"


def test_15_numbers_that_do_not_fit(shop: Running) -> None:
    """What is refused leaves no click behind; who says that more was seen than there is has seen all."""
    id_, before = shown(shop), clicks(shop)
    for seen in (-1, 10**400, 2**63, 1.5, "7", True, [], {}):
        assert fate(shop, {"impression": id_, "item": "a", "seen": seen}) == "422"
    assert clicks(shop) == before
    assert fate(shop, {"impression": id_, "type": "seen", "seen": 10**18}) == "accepted"
    assert fate(shop, {"impression": id_, "type": "finish", "seen": 10**400}) == "422"
    assert fate(shop, {"impression": id_, "type": "finish", "seen": 2}) == "accepted"


# -- keys --------------------------------------------------------------------------------------------------------


def test_16_guessed_keys(shop: Running) -> None:
    for guess in ("", "x", ADMIN[:-1], ADMIN + "x", ADMIN.upper(), "rl_", "rl__", "null", "undefined", "Bearer"):
        with shop.client(guess or None) as guessing:
            assert guessing.get("/v1/loops").status_code == 401


def test_17_a_key_by_another_scheme(shop: Running) -> None:
    with shop.client(None) as client:
        for value in (ADMIN, f"Basic {ADMIN}", f"Token {ADMIN}", f"Bearer{ADMIN}", f"Bearer  x {ADMIN}"):
            assert client.get("/v1/loops", headers={"Authorization": value}).status_code == 401


def test_18_a_key_in_the_address_or_a_cookie(shop: Running) -> None:
    with shop.client(None) as client:
        assert client.get(f"/v1/loops?key={ADMIN}&access_token={ADMIN}").status_code == 401
        assert client.get("/v1/loops", headers={"Cookie": f"key={ADMIN}", "X-Api-Key": ADMIN}).status_code == 401


def test_19_the_id_of_a_key_in_place_of_the_key(shop: Running) -> None:
    made = shop.admin.post("/v1/keys", json={"role": "admin"}).json()
    id_ = made["info"]["id"]
    for guess in (id_, f"rl_{id_}", f"rl_{id_}_", f"rl_{id_}_{'A' * 43}"):
        assert shop.client(guess).get("/v1/loops").status_code == 401


def test_20_two_authorization_headers(shop: Running) -> None:
    """Who stands in between may have checked the other one: two are none, whatever they say."""
    right, wrong = f"Authorization: Bearer {ADMIN}\r\n".encode(), b"Authorization: Bearer wrong\r\n"
    body = json.dumps(BODY).encode()
    rank = b"POST /v1/loops/search/rank HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n" % len(body)
    for head, content in ((b"GET /v1/loops HTTP/1.1\r\nHost: x\r\n", b""), (rank, body)):
        for keys in (right + wrong, wrong + right, wrong + wrong, right + right, right + right + right):
            assert raw(shop, head + keys + b"\r\n" + content)[0] == 401
        assert raw(shop, head + right + b"\r\n" + content)[0] == 200


def test_21_a_tenant_asks_for_more(shop: Running) -> None:
    tenant = shop.holding("admin", loops=["search"])
    assert tenant.post("/v1/keys", json={"role": "admin"}).status_code == 403
    assert tenant.put("/v1/loops/new", json={"kind": "rerank"}).status_code == 404
    assert tenant.post("/v1/loops/other/pause").status_code == 404


def test_22_a_tenant_reads_another_ones_impression(shop: Running) -> None:
    tenant = shop.holding("read", loops=["search"])
    told = tenant.get(f"/v1/impressions/{shown(shop, 'other')}")
    assert told.status_code == 404
    assert "other" not in told.text


def test_23_a_tenant_interleaves_another_ones_duel(shop: Running) -> None:
    for loop in ("mine", "theirs"):
        shop.admin.put(f"/v1/loops/{loop}", json={"kind": "evaluate", "rankers": ["a", "b"]})
    duel = shop.admin.post("/v1/loops/theirs/duel", json={}).json()
    tenant = shop.holding("rank", loops=["mine"])
    body = {"duel": duel["id"], "lists": {"a": ["x"], "b": ["y"]}}
    assert tenant.post("/v1/loops/mine/interleave", json=body).status_code == 422
    assert tenant.post("/v1/loops/theirs/interleave", json=body).status_code == 404


def test_24_a_loop_name_that_looks_like_another_one(shop: Running) -> None:
    tenant = shop.holding("rank", loops=["search"])
    for name in ("search%00", "search%20", "SEARCH", "search%2F..%2Fother", "s%C3%A9arch", "..%2Fother", "%2e%2e"):
        assert tenant.post(f"/v1/loops/{name}/rank", json=BODY).status_code == 404


# -- sizes and shapes --------------------------------------------------------------------------------------------


def test_25_a_body_that_is_too_large(shop: Running) -> None:
    answer = shop.admin.post("/v1/loops/search/rank", content=b"[" + b" " * 5_000_000 + b"]")
    assert answer.status_code == 413


def test_26_a_body_that_says_it_is_too_large(shop: Running) -> None:
    head = f"POST /v1/loops HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN}\r\n".replace("/loops", "/events")
    status, _, _ = raw(shop, f"{head}Content-Length: 99999999999\r\n\r\n".encode())
    assert status == 413


def test_27_a_body_in_endless_chunks(shop: Running) -> None:
    head = f"POST /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN}\r\nTransfer-Encoding: chunked\r\n\r\n"
    with wire(shop) as connection:
        connection.send(head.encode())
        chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
        try:
            for _ in range(80):
                connection.send(chunk)
        except OSError:
            return  # it was cut off
        assert connection.read()[0] == 413


def test_28_deeply_nested_json(shop: Running) -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    for path in ("/v1/events", "/v1/loops/search/rank", "/v1/keys"):
        assert shop.admin.post(path, content=deep).status_code in (400, 422)
    objects = b'{"a":' * 50_000 + b"1" + b"}" * 50_000
    assert shop.admin.post("/v1/events", content=objects).status_code in (400, 422)
    assert shop.admin.put("/v1/loops/deep", content=b'{"kind":"rerank","x":' + objects + b"}").status_code in (400, 422)


def test_29_lists_and_names_that_are_too_long(shop: Running) -> None:
    items = [str(number) for number in range(1_001)]
    assert shop.admin.post("/v1/loops/search/rank", json={"key": "a", "items": items}).status_code == 422
    assert shop.admin.post("/v1/loops/search/rank", json={"key": "a" * 1_025, "items": ITEMS}).status_code == 422
    assert shop.admin.put(f"/v1/loops/{'x' * 1_025}", json={"kind": "rerank"}).status_code == 422


def test_30_text_that_is_no_text(shop: Running) -> None:
    path = "/v1/loops/search/rank"
    for body in (b'{"key":"\xff","items":["a"]}', b'{"key":"\\ud800","items":["a"]}', b"\xff\xfe\x00", b"\x00" * 100,
                 b'{"key":"\xed\xa0\x80","items":["a"]}', b'\xef\xbb\xbf{"key":"a","items":["a"]}'):  # fmt: skip
        assert shop.admin.post(path, content=body).status_code == 400, body
    for body in (b'{"key":"a\\u0000","items":["a","b"]}', b'{"key":"a","items":["a\\u0000","b"]}',
                 b'{"key":"a","items":["a","b"],"user":"\\u0000"}'):  # fmt: skip
        assert shop.admin.post(path, content=body).status_code == 422, body
    id_ = shown(shop)
    for field in ("item", "id", "type"):
        assert fate(shop, {"impression": id_, "item": "a", field: "a\0"}) == "422"
    for name in ("%00", "a%00b"):
        assert raw(shop, request(f"/v1/loops/{name}", {"kind": "rerank"}, method="PUT"))[0] == 422
    for name in ("%ff", "%ed%a0%80"):
        assert raw(shop, request(f"/v1/loops/{name}", {"kind": "rerank"}, method="PUT"))[0] == 404


def test_31_numbers_that_are_none(shop: Running) -> None:
    for number in ("NaN", "Infinity", "-Infinity", "0x10", "1_000", "01", "+1", "1.", ".5"):
        body = f'{{"kind": "rerank", "holdout": {number}}}'.encode()
        assert shop.admin.put("/v1/loops/numbers", content=body).status_code == 400, number
    for number in ("1e999", "-1e999", "1e-400e", "1" + "0" * 400):
        body = f'{{"kind": "rerank", "holdout": {number}}}'.encode()
        assert shop.admin.put("/v1/loops/numbers", content=body).status_code in (400, 422), number
    assert shop.admin.get("/v1/loops/numbers").status_code == 404


def test_32_the_same_field_twice(shop: Running) -> None:
    """The last one counts, everywhere: a key is checked, found and learned for under one name."""
    body = b'{"key": "laptop", "key": "twice", "items": ["x", "y"], "items": ["a", "b", "c"]}'
    answer = shop.admin.post("/v1/loops/search/rank", content=body)
    assert answer.status_code == 200
    assert sorted(answer.json()["items"]) == ITEMS
    assert shop.admin.get(f"/v1/impressions/{answer.json()['id']}").json()["key"] == "twice"
    one, other = shown(shop), answer.json()["id"]
    event = f'{{"impression": "{one}", "impression": "{other}", "item": "z", "item": "a"}}'
    assert shop.admin.post("/v1/events", content=event.encode()).json() == {"fate": "accepted"}
    assert [len(shop.admin.get(f"/v1/impressions/{id_}").json()["events"]) for id_ in (one, other)] == [0, 1]


def test_33_settings_that_would_take_all_memory(shop: Running) -> None:
    for field, settings in (
        ("positions", {"kind": "rerank", "positions": 10**9}),
        ("positions", {"kind": "rerank", "positions": 1_001}),
        ("window", {"kind": "rerank", "window": 1e300}),
        ("window", {"kind": "follow", "policy": "CascadeSWUCB", "window": 10**15}),
        (None, {"kind": "follow", "policy": "CascadeSWUCB", "parameters": {"window": 10**15}}),
        ("horizon", {"kind": "rerank", "horizon": 10**300}),
        ("seed", {"kind": "rerank", "seed": 2**63}),
        ("relevance", {"kind": "diversify", "relevance": 10**9, "topics": ["a"]}),
        ("rankers", {"kind": "evaluate", "rankers": [str(number) for number in range(5_000)]}),
    ):
        answer = shop.admin.put("/v1/loops/huge", json=settings)
        assert answer.status_code == 422, answer.text
        if field is not None:
            assert field in answer.json()["detail"]
    assert shop.admin.get("/v1/loops/huge").status_code == 404


# -- the wire ----------------------------------------------------------------------------------------------------


def test_34_request_smuggling(shop: Running) -> None:
    """A length and chunks at once, two lengths, chunks that are not quite: refused, or read in one way only."""
    inner = b"GET /v1/keys HTTP/1.1\r\nHost: x\r\n\r\n"
    head = f"POST /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN}\r\n".encode()
    for more in (
        b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + inner,
        b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n" + inner,
        b"Content-Length: 2\r\nContent-Length: 60\r\n\r\n[]" + inner,
        b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + inner,
        b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + inner,
        b"Content-Length: +2\r\n\r\n[]" + inner,
        b"Content-Length: -1\r\n\r\n[]" + inner,
    ):
        with wire(shop) as connection:
            connection.send(head + more)
            status, _, body = connection.read()
            assert status == 400, (more, status)
            assert "keys" not in str(body)
            assert connection.ended()


def test_35_headers_with_line_breaks(shop: Running) -> None:
    """What a client sends never becomes a header of the answer."""
    for value in (b"a\r\nX-Evil: 1", b"a\nX-Evil: 1", b"a\rX-Evil: 1", b"a%0d%0aX-Evil: 1", b"a\x00b"):
        with wire(shop) as connection:
            connection.send(b"GET /health/live HTTP/1.1\r\nHost: x\r\nX-Request-Id: " + value + b"\r\n\r\n")
            _, headers, _ = connection.read()
            assert "x-evil" not in {name.lower() for name in headers}


def test_36_paths_with_tricks(shop: Running) -> None:
    with shop.client(None) as nobody:
        for path in (
            "/v1/../v1/loops", "//v1/loops", "/v1//loops", "/v1/loops/", "/v1/loops;x=1", "/V1/LOOPS", "/v1/loops%2f",
            "/v1/loops/search/../../keys", "/health/ready/../../v1/keys", "/v1/loops/search/rank/", "/%76%31/loops",
        ):  # fmt: skip
            head = f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
            assert raw(shop, head)[0] in (401, 404, 405), path
        assert nobody.get("/etc/passwd").status_code == 404
        assert nobody.get("/..%2f..%2fetc/passwd").status_code == 404
    status, _, _ = raw(shop, b"GET http://evil.example/v1/keys HTTP/1.1\r\nHost: x\r\n\r\n")
    assert status in (400, 401, 404)


def test_37_methods_that_nobody_expects(shop: Running) -> None:
    for method in ("TRACE", "CONNECT", "PATCH", "HEAD", "OPTIONS", "DELETE", "PROPFIND"):
        head = f"{method} /v1/events HTTP/1.1\r\nHost: x\r\nX-Secret: {ADMIN}\r\n\r\n".encode()
        with wire(shop) as connection:
            connection.send(head)
            answer = connection.socket.recv(65_536)
        assert answer.split()[1] in (b"400", b"405", b"501"), method
        assert ADMIN.encode() not in answer


def test_38_slow_clients_do_not_hold_up_others(shop: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others are answered while many requests are half sent; who sends the rest is answered, and who does not, goes."""
    monkeypatch.setattr(app, "SECONDS_FOR_A_BODY", 0.2)
    sent = request("/v1/events", {"impression": "x", "item": "y"})
    large = request("/v1/events", [{"impression": "x" * 1_000, "item": "y"}] * 150)
    slow = [Wire(shop) for _ in range(50)]
    for connection in slow:
        connection.send(sent[:-5])
    with wire(shop) as endless:
        endless.send(large[:-5])
        assert shop.admin.post("/v1/loops/search/rank", json=BODY).status_code == 200
        for connection in slow:
            connection.send(sent[-5:])
            assert connection.read()[2] == {"fate": "unknown"}
            connection.socket.close()
        assert endless.read()[0] == 408
        assert endless.ended()


# -- what is in texts --------------------------------------------------------------------------------------------


def test_39_sql_and_html_in_every_text(shop: Running) -> None:
    """Texts come back as they were sent, as JSON that no browser takes for a page, and do nothing on the way."""
    for text in (SQL, HTML, "' OR '1'='1", "{{7*7}}", "${jndi:ldap://x}", "%s%n", "../../x", "\u202e\ufeff", "$(id)"):
        loop = text.replace("/", "_")
        path = "/v1/loops/" + "".join(f"%{byte:02X}" for byte in loop.encode())
        assert shop.admin.put(path, json={"kind": "rerank", "holdout": 0, "counts": text}).status_code == 201
        answer = shop.admin.post(f"{path}/rank", json={"key": text, "items": [text, f"{text}2"], "user": text})
        assert sorted(answer.json()["items"]) == sorted([text, f"{text}2"])
        event = {"impression": answer.json()["id"], "item": text, "type": text, "id": text}
        assert fate(shop, event) == "accepted"
        key = "".join(f"%{byte:02X}" for byte in text.encode())
        found = shop.admin.get(f"{path}/keys/{key}")
        assert found.json()["key"] == text
        assert found.headers["content-type"] == "application/json"
        assert found.headers["x-content-type-options"] == "nosniff"
        assert shop.admin.get(f"/v1/impressions/{answer.json()['id']}").json()["key"] == text
        assert shop.admin.post("/v1/keys", json={"role": "read", "note": text}).json()["info"]["note"] == text
        shop.service._status = (0.0, {})  # which is kept for a second
        metrics = shop.admin.get("/metrics")
        assert metrics.headers["content-type"].startswith("text/plain")
        label = json.dumps(loop, ensure_ascii=False)[1:-1]
        assert f'rankloop_clicks_total{{loop="{label}"}} 1' in metrics.text
        ubi_with(shop, path, text)
        rankers_named(shop, path, text)
        topics_named(shop, path, text)


def ubi_with(shop: Running, path: str, text: str) -> None:
    """Records of User Behavior Insights with a text in every field but the id."""
    asked = {"key": text, "items": [text, f"{text}2"], "deferred": True}
    id_ = shop.admin.post(f"{path}/rank", json=asked).json()["id"]
    noise = dict.fromkeys(("user_query", "client_id", "session_id", "application", "message", "message_type"), text)
    query = {**noise, "query_id": id_, "query_response_hit_ids": [text], "query_attributes": {text: text}}
    assert shop.admin.post("/v1/ubi/queries", json=[query]).json() == {"events": [{"fate": "accepted"}]}
    attributes = {"object": {"object_id": text, "object_id_field": text, text: text}, "position": {text: text}}
    event = {**noise, "query_id": id_, "action_name": text, "timestamp": text, "event_attributes": attributes}
    assert shop.admin.post("/v1/ubi/events", json=[event]).json() == {"events": [{"fate": "accepted"}]}


def rankers_named(shop: Running, path: str, text: str) -> None:
    """A duel of rankers whose names are texts."""
    rankers = [text, f"{text}2"]
    made = shop.admin.put(f"{path}%20rankers", json={"kind": "evaluate", "rankers": rankers})
    assert (made.status_code, made.json()["settings"]["rankers"]) == (201, rankers)
    duel = shop.admin.post(f"{path}%20rankers/duel", json={"user": text}).json()
    assert sorted(duel["rankers"]) == sorted(rankers)
    lists = {"duel": duel["id"], "lists": {ranker: [text, f"{text}3"] for ranker in rankers}}
    page = shop.admin.post(f"{path}%20rankers/interleave", json=lists).json()
    assert sorted(page["items"]) == sorted([text, f"{text}3"])
    assert fate(shop, {"impression": page["id"], "item": text}) == "accepted"
    race = shop.admin.get(f"{path}%20rankers/race")
    assert race.headers["content-type"] == "application/json"
    assert sorted(name for batch in race.json()["batches"] for name in batch) == sorted(rankers)


def topics_named(shop: Running, path: str, text: str) -> None:
    """A catalogue whose topics and items are texts."""
    settings = {"kind": "diversify", "relevance": 1, "topics": [text], "holdout": 0}
    made = shop.admin.put(f"{path}%20topics", json=settings)
    assert (made.status_code, made.json()["settings"]["topics"]) == (201, [text])
    items = {name: {"relevance": [0.5], "topics": [1]} for name in (text, f"{text}2")}
    assert shop.admin.put(f"{path}%20topics/items", json={"items": items}).status_code == 200
    answer = shop.admin.post(f"{path}%20topics/rank", json={"key": text, "items": list(items)}).json()
    assert (sorted(answer["items"]), answer["arm"]) == (sorted(items), "policy")
    assert fate(shop, {"impression": answer["id"], "item": text}) == "accepted"


def test_40_web_pages_of_other_sites(shop: Running) -> None:
    """No answer may be read by a page that no key names, and none may be framed."""
    for origin in ("https://evil.example", "null", "https://shop.example.evil.example", "file://"):
        for client in (shop.client(ADMIN, Origin=origin), shop.client(None, Origin=origin)):
            for method, path in (("GET", "/v1/loops"), ("POST", "/v1/events"), ("OPTIONS", "/v1/events")):
                answer = client.request(method, path)
                assert "access-control-allow-origin" not in answer.headers
                assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]


# -- more of the wire --------------------------------------------------------------------------------------------


def test_41_a_head_without_an_end(shop: Running) -> None:
    """Whoever has no key yet cannot fill the memory with a path or a header, or with many headers."""
    head = b"GET /health/live HTTP/1.1\r\nHost: x\r\n"
    for begin, piece in ((b"GET /", b"a" * 65_536), (head + b"X: ", b"a" * 65_536), (head, b"a: b\r\n" * 11_000)):
        with wire(shop) as connection:
            connection.send(begin)
            try:
                for _ in range(200):
                    connection.send(piece)
                assert connection.read()[0] == 400
            except ConnectionError:  # it was closed before everything had been sent
                pass


def test_42_headers_after_the_body(shop: Running) -> None:
    """What follows a body in chunks was not there when a proxy looked at the headers."""
    body = json.dumps(BODY).encode()
    chunks = b"%x;x=y\r\n%b\r\n0\r\n%%b\r\n" % (len(body), body)
    right, wrong = f"Authorization: Bearer {ADMIN}\r\n".encode(), b"Authorization: Bearer wrong\r\n"
    for path in (b"/v1/loops/search/rank", b"/v1/loops/search/duel"):
        head = b"POST %b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n" % path
        assert raw(shop, head + b"\r\n" + chunks % right)[0] == 401
        assert raw(shop, head + wrong + b"\r\n" + chunks % right)[0] == 401
    head = b"POST /v1/loops/search/rank HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
    assert raw(shop, head + right + b"\r\n" + chunks % wrong)[0] == 200


def test_43_connections_that_say_nothing(shop: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """They end by themselves, whether nothing has come or half of a head or of a body."""
    made = QuickProtocol.connection_made

    def hasty(protocol: QuickProtocol, transport: Any) -> None:
        protocol.timeout_keep_alive = 0.2  # type: ignore[assignment]
        made(protocol, transport)

    with monkeypatch.context() as patch:
        patch.setattr(QuickProtocol, "connection_made", hasty)
        for sent in (b"", b"GET /hea", request("/v1/events", [])[:-1], request("/v1/events", [])[:-5]):
            with wire(shop) as connection:
                connection.send(sent)
                assert connection.ended()


def test_44_other_versions_of_http(shop: Running) -> None:
    body = json.dumps(BODY).encode()
    head = f"Authorization: Bearer {ADMIN}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with wire(shop) as connection:
        connection.send(b"POST /v1/loops/search/rank HTTP/1.0\r\n" + head + body)
        assert connection.read()[0] == 200
        assert connection.ended()
    for line in (b"POST /v1/loops/search/rank HTTP/1.2\r\n", b"POST /v1/loops/search/rank HTTP/11\r\n"):
        with wire(shop) as connection:
            connection.send(line + head + body)
            assert connection.read()[0] == 400
            assert connection.ended()
    assert raw(shop, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")[0] == 400


def test_45_chunks_that_do_not_add_up(shop: Running) -> None:
    head = f"POST /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN}\r\nTransfer-Encoding: chunked\r\n\r\n"
    for size in ("-1", "fffffffffffffffff", "0x2", "2 2", "g", ""):
        with wire(shop) as connection:
            connection.send(f"{head}{size}\r\n[]\r\n0\r\n\r\n".encode())
            assert connection.read()[0] == 400, size
            assert connection.ended()


def test_46_a_body_that_waits_to_be_asked_for(shop: Running) -> None:
    """Nobody without a key is asked to send a body that only a key could make welcome."""
    head = "POST /v1/loops/search/rank HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4000000\r\n"
    for key in ("", "Authorization: Bearer wrong\r\n"):
        assert raw(shop, f"{head}{key}\r\n".encode())[0] == 401


def test_47_hundreds_of_requests_in_one_piece(shop: Running) -> None:
    """They are answered in their order, each once."""
    with wire(shop) as connection:
        for number in range(0, 600, 200):
            ids = [f"r{number + n}" for n in range(200)]
            sent = [
                request("/v1/events", {"impression": "x", "item": "y"}, f"X-Request-Id: {id_}")
                if n % 2
                else request("/v1/loops/search/rank", BODY, f"X-Request-Id: {id_}")
                for n, id_ in enumerate(ids)
            ]
            connection.send(b"".join(sent))
            answers = [connection.read() for _ in ids]
            assert [headers["x-request-id"] for _, headers, _ in answers] == ids
            assert all(("fate" in body) == bool(n % 2) for n, (_, _, body) in enumerate(answers))


# -- more of keys ------------------------------------------------------------------------------------------------


def test_48_a_browser_key_from_anywhere_else(shop: Running) -> None:
    """By header or in the body: without an origin, with that of a sandbox, with one that looks alike, or with two."""
    origin = "https://shop.example"
    key = shop.key("events", origins=[origin])
    event = {"impression": shown(shop), "item": "a"}
    others = (None, "null", "", f"{origin}/", f"{origin}:443", "http://shop.example", f"{origin}.evil.example",
              "https://evil.example", f"{origin} https://evil.example")  # fmt: skip
    for other in others:
        headers = {} if other is None else {"Origin": other}
        with shop.client(key, **headers) as by_header, shop.client(None, **headers) as by_body:
            for answer in (
                by_header.post("/v1/events", json=event),
                by_body.post("/v1/events", json={"key": key, "events": [event]}),
            ):
                assert answer.status_code == 403, other
                assert "access-control-allow-origin" not in answer.headers
    for two in ((origin, "https://evil.example"), ("https://evil.example", origin), (origin, origin)):
        status, headers, _ = raw(shop, request("/v1/events", event, *(f"Origin: {one}" for one in two), key=key))
        assert (status, "access-control-allow-origin" in headers) == (403, False)
    with shop.client(key, Origin=origin) as page:
        assert page.post("/v1/events", json=event).json() == {"fate": "accepted"}


def test_49_a_tenant_tries_every_route(shop: Running) -> None:
    """With the strongest key that one can have for a loop, nothing of another loop can be read, changed or found."""
    secret = "loop of a rival"
    path = "/v1/loops/loop%20of%20a%20rival"
    assert shop.admin.put(path, json={"kind": "rerank", "holdout": 0}).status_code in (200, 201)
    theirs = shop.admin.post(f"{path}/rank", json={"key": "their key", "items": ITEMS}).json()["id"]
    before = shop.admin.get(path).json()
    tenant = shop.holding("admin", loops=["search"])
    bodies = {"interleave": {"duel": theirs, "lists": {"a": ["x"], "b": ["y"]}}, "put_loop": {"kind": "rerank"},
              "put_items": {"items": {}}, "revert": {"key": "their key"}, "rank": BODY, "duel": {},
              "events": {"impression": theirs, "item": "a"}, "make_key": {"role": "read"},
              "ubi_events": {"query_id": theirs, "action_name": "click",
                             "event_attributes": {"object": {"object_id": "a"}}},
              "ubi_queries": {"query_id": theirs, "query_response_hit_ids": ["a"]}}  # fmt: skip
    for route in ROUTES:
        if route.role is None:
            continue
        asked = route.path.replace("/v1/loops/{loop}", path).replace("{key}", "their%20key").replace("{id}", theirs)
        answer = tenant.request(route.method, asked, json=bodies.get(route.name))
        if "{loop}" in route.path or route.name == "get_impression":
            assert answer.status_code == 404, route.name
        elif route.name in ("list_keys", "make_key", "revoke_key"):
            assert answer.status_code == 403, route.name
        elif route.role == "events":
            assert answer.json() in ({"fate": "unknown"}, {"events": [{"fate": "unknown"}]}), route.name
        else:
            assert answer.status_code == 200, route.name
            assert secret not in answer.text, route.name
            assert "their key" not in answer.text, route.name
    after = shop.admin.get(path).json()
    for each in (before, after):
        del each["status"]["unknown"]  # counted for the whole store
    assert after == before


def test_50_names_that_are_paths(shop: Running) -> None:
    """Percent-encoded slashes and dots stay inside the name that they are in."""
    for name in ("a/../../keys", "..", ".", "a/b", "?x=1", "#x", "%2e%2e", "a%2Fb", "\r\nX-Evil: 1"):
        encoded = "".join(f"%{byte:02X}" for byte in name.encode())
        status, headers, body = raw(
            shop, request(f"/v1/loops/{encoded}", {"kind": "rerank", "holdout": 0}, method="PUT")
        )
        assert (status, body["loop"]) == (201, name)
        assert "x-evil" not in headers
        rank = request(f"/v1/loops/{encoded}/rank", {"key": name, "items": ITEMS})
        for _ in range(2):  # once each way
            assert raw(shop, rank)[2]["loop"] == name
        status, _, body = raw(shop, request(f"/v1/loops/{encoded}/keys/{encoded}", b"", method="GET"))
        assert (status, body["loop"], body["key"]) == (200, name, name)


# -- without any key ---------------------------------------------------------------------------------------------


def test_51_a_large_body_whose_key_would_be_inside(shop: Running) -> None:
    """It is read before anybody knows whose it is: so it may only be as large as browsers send them."""
    with shop.client(None, Origin="https://evil.example") as nobody:
        for path in ("/v1/events", "/v1/ubi/events", "/v1/ubi/queries"):
            envelope = {"key": "guessed", "events": ["x" * 65_000]}
            assert nobody.post(path, json=envelope).status_code == 401
            assert nobody.post(path, json={**envelope, "more": "x" * 1_000}).status_code == 413
            assert nobody.post(path, content=iter([b" " * 70_000])).status_code == 413
    assert shop.admin.post("/v1/events", content=b"[" + b" " * 100_000 + b"]").status_code == 200


def test_52_half_requests_of_somebody_without_a_key(tmp_path: Path) -> None:
    """They do not count as requests that are being answered, beyond which others would be refused."""
    with served(tmp_path / "shop.db", limits=Limits(requests=2)) as running:
        running.admin.put("/v1/loops/search", json={"kind": "rerank", "holdout": 0})
        half = b"POST /v1/ubi/events HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 50\r\n\r\n"
        slow = [Wire(running) for _ in range(10)]
        for connection in slow:
            connection.send(half)
            assert connection.socket.recv(100).startswith(b"HTTP/1.1 100")  # it waits for the body now
        for _ in range(5):
            assert running.admin.post("/v1/loops/search/rank", json=BODY).json()["arm"] == "policy"
            assert running.admin.get("/v1/loops").status_code == 200
        for connection in slow:
            connection.socket.close()
