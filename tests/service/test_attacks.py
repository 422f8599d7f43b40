"""Forty ways to attack the service, a test each: none gets in, none sees what is not its own, none stops it."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from typing import Any

import pytest
from service_client import ADMIN, Running, Wire, request, wire

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
    id_ = shown(shop)
    for seen in (-1, 10**400, 1.5, "7", True):
        assert fate(shop, {"impression": id_, "item": "a", "seen": seen}) in ("422", "accepted", "duplicate", "400")
    assert fate(shop, {"impression": id_, "seen": 10**18}) in ("accepted", "duplicate")


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
    """The last one counts, and a wrong one beside a right one does not get a wrong one in."""
    head = b"GET /v1/loops HTTP/1.1\r\nHost: x\r\n"
    status, _, _ = raw(shop, head + b"Authorization: Bearer wrong\r\nAuthorization: Bearer wrong too\r\n\r\n")
    assert status == 401


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
    for body in (b'{"key":"\xff","items":["a"]}', b'{"key":"\\ud800","items":["a"]}', b"\xff\xfe\x00", b"\x00" * 100):
        assert shop.admin.post("/v1/loops/search/rank", content=body).status_code in (400, 422)
    assert shop.admin.post("/v1/loops/search/rank", content=b'{"key":"a\\u0000","items":["a","b"]}').status_code == 422


def test_31_numbers_that_are_none(shop: Running) -> None:
    for number in ("NaN", "Infinity", "-Infinity", "1e999", "0x10", "1_000"):
        body = f'{{"kind": "rerank", "holdout": {number}}}'.encode()
        assert shop.admin.put("/v1/loops/numbers", content=body).status_code in (400, 422)


def test_32_the_same_field_twice(shop: Running) -> None:
    body = b'{"key": "laptop", "key": "other", "items": ["a", "b", "c"], "items": ["a", "b", "c"]}'
    assert shop.admin.post("/v1/loops/search/rank", content=body).status_code in (200, 400, 422)


def test_33_settings_that_would_take_all_memory(shop: Running) -> None:
    for settings in (
        {"kind": "rerank", "positions": 10**9},
        {"kind": "follow", "policy": "CascadeSWUCB", "window": 10**15},
        {"kind": "diversify", "relevance": 10**9, "topics": ["a"]},
        {"kind": "evaluate", "rankers": [str(number) for number in range(5_000)]},
    ):
        answer = shop.admin.put("/v1/loops/huge", json=settings)
        assert answer.status_code in (201, 409, 422), answer.text


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


def test_38_a_slow_client_does_not_hold_up_others(shop: Running) -> None:
    """Many half-sent requests stay half-sent, and others are answered meanwhile."""
    slow = [Wire(shop) for _ in range(50)]
    for connection in slow:
        connection.send(request("/v1/events", {"impression": "x", "item": "y"})[:-5])
    begun = time.monotonic()
    assert shop.admin.post("/v1/loops/search/rank", json=BODY).status_code == 200
    assert time.monotonic() - begun < 60
    for connection in slow:
        connection.socket.close()


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


def test_40_web_pages_of_other_sites(shop: Running) -> None:
    """No answer may be read by a page that no key names, and none may be framed."""
    for origin in ("https://evil.example", "null", "https://shop.example.evil.example", "file://"):
        for client in (shop.client(ADMIN, Origin=origin), shop.client(None, Origin=origin)):
            for method, path in (("GET", "/v1/loops"), ("POST", "/v1/events"), ("OPTIONS", "/v1/events")):
                answer = client.request(method, path)
                assert "access-control-allow-origin" not in answer.headers
                assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
