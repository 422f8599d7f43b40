"""Both clients while the service is gone, hangs, breaks off, is overloaded, or talks rubbish."""

from __future__ import annotations

import os
import shutil
import ssl
import sys
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import processes
import pytest
from faulty_service import Behaviour, answers, closes, drips, faulty, half, never, nobody
from hypothesis import given, settings
from hypothesis import strategies as st

import rankloop as rl
from rankloop.client import ServiceAway, ServiceRefused
from rankloop.client.attempts import Answer, Call, Sending, Waiting, attempts, understand
from rankloop.client.calls import Calls
from rankloop.live.pages import check_pinned, page_of

ITEMS = ["a", "b", "c", "d"]
RANKED = {"id": "x", "items": ["b", "a", "c", "d"], "loop": "search", "arm": "policy"}
HEARD = {"fate": "accepted"}
LISTS = {"bm25": ["a", "b", "c", "d", "e"], "dense": ["d", "c"]}
SOON = 0.3
"""Seconds that a page waits in these tests."""
LONG = 20.0
"""Seconds in which a call must have come back that was given far less, on a machine with much else to do."""


def rubbish(**changed: Any) -> Behaviour:
    return answers(200, {**RANKED, **changed})


TROUBLE: dict[str, Behaviour] = {
    "hangs": never,
    "closes": closes,
    "half an answer": half(RANKED),
    "headers byte by byte": drips(RANKED, headers=True),
    "a body byte by byte": drips(RANKED, headers=False),
    "500": answers(500, {"detail": "something failed inside"}),
    "502 of a proxy": answers(502, b"<html>bad gateway</html>"),
    "503": answers(503, {"detail": "too busy"}, "Retry-After: 1"),
    "429": answers(429, {"detail": "wait"}, "Retry-After: 3600"),
    "401": answers(401, {"detail": "no key"}),
    "no HTTP": lambda _, connection: connection.sendall(b"220 mail.example ESMTP\r\n"),
    "no JSON": answers(200, b"hello"),
    "no object": answers(200, [1]),
    "deeply nested": answers(200, b"[" * 100_000),
    "not UTF-8": answers(200, b"\xff\xfe{}"),
    "no id": answers(200, {"items": ["a"]}),
    "a number for an id": rubbish(id=3),
    "items of another shop": rubbish(items=["z"]),
    "one item twice": rubbish(items=["a", "a"]),
    "no items": rubbish(items=[]),
    "without the pinned item": rubbish(items=["c", "a", "b"]),
    "items that are no list": rubbish(items={"a": 1, "b": [2]}, arm=None),
}


@pytest.mark.parametrize("trouble", TROUBLE)
def test_the_page_gets_productions_list(make: Any, trouble: str) -> None:
    with faulty(TROUBLE[trouble]) as server:
        client = make(server.address, timeout=SOON, positions=3)
        begun = time.monotonic()
        shown = client.rank("search", "q", ITEMS, user="u1", pinned={1: "ad", 9: "never seen"})
        assert time.monotonic() - begun < LONG
        assert (shown.id, shown.items, shown.fallback) == ("", ["a", "ad", "b"], True)
        assert shown.reason
        assert client.click(shown.id, "a") == client.seen(shown.id, 3) == client.finish(shown.id) == "ignored"
        assert [path for path, _ in server.requests] == ["/v1/loops/search/rank"]  # a second list might be learned from
        assert client.fallbacks == 1


def test_nobody_listens(make: Any) -> None:
    client = make(nobody(), timeout=SOON, patience=SOON)
    assert client.rank("search", "q", ITEMS).items == ITEMS
    with pytest.raises(ServiceAway, match=r"cannot be reached|did not answer"):
        client.click("x", "a")
    with pytest.raises(ServiceAway):
        client.status("search")
    with pytest.raises(ServiceAway):
        client.duel("rankers")


def test_a_service_that_is_away_costs_a_page_nothing(make: Any) -> None:
    with faulty(*[never] * 5, answers(200, RANKED)) as server:
        client = make(server.address, timeout=0.1)
        for _ in range(50):
            assert client.rank("search", "q", ITEMS).fallback
        assert len(server.requests) == 5  # the others did not wait for it
        end = time.monotonic() + LONG
        while client.rank("search", "q", ITEMS).fallback:  # it is tried again after a second
            assert time.monotonic() < end
            time.sleep(0.05)
        assert not client.rank("search", "q", ITEMS).fallback


def test_duels_and_pages_without_a_service(make: Any) -> None:
    with faulty(answers(503, {"detail": "away"})) as server:
        client = make(server.address, timeout=SOON, positions=2)
        with pytest.raises(ServiceAway, match=r"away|did not answer"):
            client.duel("rankers", user="u1")
        duel = client.duel("rankers", user="u1", default="bm25")
        assert (duel.id, duel.rankers, duel.loop) == ("", ("bm25", "bm25"), "rankers")
        first = client.interleave(duel.id, {"bm25": LISTS["bm25"]})
        pages = [first, first.next_page(), first.next_page().next_page()]
        assert [page.items for page in pages] == [["a", "b"], ["c", "d"], ["e"]]
        assert all(page.fallback and page.id == "" for page in pages)


def test_a_second_page_that_fails_repeats_nothing(make: Any) -> None:
    rankers = {"id": "x", "rankers": ["bm25", "dense"], "loop": "rankers"}
    page = {"id": "x", "items": ["d", "a"], "loop": "rankers", "arm": "policy"}
    with faulty(answers(200, rankers), answers(200, page), closes) as server:
        client = make(server.address, timeout=10.0)
        duel = client.duel("rankers", default="bm25")
        assert client.interleave(duel.id, LISTS, positions=2).next_page().items == ["b", "c"]
        assert len(server.requests) == 3  # asking again might skip a page


BROKEN = {
    "closes": closes,
    "half an answer": half(HEARD),
    "500": answers(500, {}),
    "503": answers(503, {"detail": "busy"}, "Retry-After: 0"),
    "no JSON": answers(200, b"hello"),
    "no fate": answers(200, {}),
}


@pytest.mark.parametrize("trouble", BROKEN)
def test_events_are_sent_until_they_are_acknowledged(make: Any, trouble: str) -> None:
    with faulty(*[BROKEN[trouble]] * 2, answers(200, HEARD)) as server:
        client = make(server.address, patience=LONG)
        assert client.click("x", "a", seen=2) == "accepted"
        bodies = [body for _, body in server.requests]
        assert len(bodies) == 3
        assert bodies[0]["id"]
        assert bodies[0] == bodies[1] == bodies[2]  # the same event, for whoever keeps count


def test_a_hanging_service_gets_events_again(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankloop.client.calls.SECONDS_OF_AN_ATTEMPT", 0.2)
    both = {"events": [{"fate": "accepted"}, {"fate": "invalid", "reason": "no item"}]}
    with faulty(never, drips(both, headers=False), answers(200, {"events": []}), answers(200, both)) as server:
        client = make(server.address, patience=LONG)
        assert client.events([{"impression": "x", "item": "a"}] * 2) == ["accepted", "invalid: no item"]
        first = server.requests[0][1]
        assert all(body == first for _, body in server.requests)
        assert len({event["id"] for event in first}) == 2


def test_giving_up_in_time(make: Any) -> None:
    with faulty(answers(503, {"detail": "busy"})) as server:
        with pytest.raises(ServiceAway, match="busy"):
            make(server.address, patience=0.3).click("x", "a")
        assert 2 <= len(server.requests) <= 10
    with faulty(answers(503, {"detail": "busy"}, "Retry-After: 60")) as server:
        with pytest.raises(ServiceAway) as away:  # at once: later is too late
            make(server.address, patience=10.0).click("x", "a")
        assert len(server.requests) == 1
        assert (away.value.retry_after, away.value.status, away.value.undone) == (60.0, 503, True)
    with faulty(answers(503, {"detail": "busy"})) as server:
        with pytest.raises(ServiceAway):
            make(server.address, retries=1).click("x", "a")
        assert len(server.requests) == 2
    with faulty(answers(422, {"detail": "seen must be a number", "field": "seen"})) as server:
        with pytest.raises(ServiceRefused, match="seen must be") as refused:
            make(server.address).click("x", "a")
        assert len(server.requests) == 1
        assert refused.value.field == "seen"


def test_a_batch_too_large_for_one_request(make: Any) -> None:
    def count(server: Any, connection: Any) -> None:
        answers(200, {"events": [HEARD] * len(server.requests[-1][1])})(server, connection)

    with faulty(count) as server:
        events = [{"impression": "x", "item": "ä" * 1_000, "id": str(n)} for n in range(1_200)]
        assert make(server.address, patience=LONG).events(iter(events)) == ["accepted"] * 1_200
        sizes = [len(body) for _, body in server.requests]
        assert sum(sizes) == 1_200
        assert 2 < len(sizes) < 10
        assert [event["id"] for _, body in server.requests for event in body] == [str(n) for n in range(1_200)]


def test_events_in_the_background() -> None:
    behaviours = [answers(503, {"detail": "busy"}), closes, half(HEARD)]

    def count(server: Any, connection: Any) -> None:
        answers(200, {"events": [HEARD] * len(server.requests[-1][1])})(server, connection)

    with faulty(*behaviours, count) as server, rl.Client(server.address, "k", patience=LONG) as client:
        assert {client.click("x", f"item {n}", wait=False) for n in range(2_500)} == {"queued"}
        assert client.seen("x", 3, wait=False) == client.shown("x", wait=False) == "queued"
        assert client.click("", "a", wait=False) == "ignored"
        client.close()  # sends what is left
        assert client.dropped == 0
        sent = [event for _, body in server.requests[3:] for event in body]
        assert [event.get("item") for event in sent] == [f"item {n}" for n in range(2_500)] + [None, None]
        assert len({event["id"] for event in sent}) == 2_502
        assert all(event["at"] > 1e9 for event in sent)


def test_a_background_that_never_gets_through() -> None:
    with faulty(answers(503, {"detail": "busy"})) as server:
        client = rl.Client(server.address, "k", patience=0.2, queue=10)
        fates = [client.click("x", f"item {n}", wait=False) for n in range(15)]
        assert fates.count("queued") == 10
        client.close()
        assert client.dropped == 15
    with faulty(answers(403, {"detail": "may not"})) as server:
        client = rl.Client(server.address, "k", queue=10)
        client.click("x", "a", wait=False)
        client.close()
        assert client.dropped == 1
        assert len(server.requests) == 1


def test_many_threads_share_a_client() -> None:
    def echo(server: Any, connection: Any) -> None:
        answers(200, HEARD)(server, connection)

    with faulty(echo) as server, rl.Client(server.address, "k", patience=LONG) as client:
        fates: list[str] = []
        threads = [
            threading.Thread(target=lambda: fates.extend(client.click("x", "a") for _ in range(20))) for _ in range(16)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LONG)
        assert fates == ["accepted"] * 320
        assert len({body["id"] for _, body in server.requests}) == 320


def test_connections_are_given_back(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever breaks off leaves room for the next."""
    monkeypatch.setattr("rankloop.client.sending.LIMITS", httpx.Limits(max_connections=2, max_keepalive_connections=1))
    trouble = [half(HEARD), drips(HEARD, headers=True), drips(HEARD, headers=False), closes, never]
    monkeypatch.setattr("rankloop.client.calls.SECONDS_OF_AN_ATTEMPT", 0.2)
    with faulty(*trouble * 2, answers(200, HEARD)) as server:
        assert make(server.address, patience=LONG).click("x", "a") == "accepted"
        assert len(server.requests) == 11


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_certificates_are_checked(make: Any, tmp_path: Path) -> None:
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    request = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    names = ["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    processes.run([*request, *names, "-keyout", str(key), "-out", str(certificate)])
    ours = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ours.load_cert_chain(certificate, key)
    trusting = ssl.create_default_context(cafile=str(certificate))
    with faulty(answers(200, HEARD), secure=ours) as server:
        url = server.address.replace("http://127.0.0.1", "https://localhost")
        client = make(url, patience=LONG, verify=trusting)
        assert [client.click("x", "a") for _ in range(3)] == ["accepted"] * 3
        with pytest.raises(ServiceAway, match="certificate"):
            make(url, patience=LONG, retries=0).click("x", "a")
        with pytest.raises(ServiceAway, match=r"certificate|mismatch|match"):
            make(url.replace("localhost", "127.0.0.1"), patience=LONG, retries=0, verify=trusting).click("x", "a")
    with faulty(never) as server:  # a handshake that never ends
        client = make(server.address.replace("http", "https"), timeout=SOON)
        assert client.rank("search", "q", ITEMS).fallback


FORKED = """
import os, sys
import rankloop as rl
client = rl.Client(sys.argv[1], "k", patience=20)
assert client.click("x", "before") == "accepted"
client.click("x", "queued before", wait=False)
children = []
for n in range(3):
    child = os.fork()
    if not child:
        fates = [client.click("x", f"child {n}"), client.click("x", f"queued by {n}", wait=False)]
        client.close()
        os._exit(0 if fates == ["accepted", "queued"] and client.dropped == 0 else 1)
    children.append(child)
assert client.click("x", "after") == "accepted"
assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
client.close()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_workers_that_were_forked() -> None:
    def behave(server: Any, connection: Any) -> None:
        body = next(body for _, body in reversed(server.requests))
        told = {"events": [HEARD] * len(body)} if isinstance(body, list) else HEARD
        answers(200, told)(server, connection)

    with faulty(behave) as server:
        processes.run([sys.executable, "-W", "ignore", "-c", FORKED, server.address], env=processes.environment())
        items = [each["item"] for _, body in server.requests for each in (body if isinstance(body, list) else [body])]
        children = [f"{what} {n}" for n in range(3) for what in ("child", "queued by")]
        assert sorted(items) == sorted(["before", "queued before", "after", *children])


# -- the same without any I/O ------------------------------------------------------------------------------------


@given(body=st.binary(max_size=60) | st.from_regex(rb'\{"(items|id|arm)":[^}]{0,20}\}'), status=st.integers(100, 599))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_whatever_is_answered_is_a_list_or_an_error_of_ours(body: bytes, status: int) -> None:
    page = Calls(timeout=1.0, patience=1.0, retries=0, positions=3).rank("search", "q", ITEMS, None, None, False)
    with pytest.raises((ServiceAway, ServiceRefused)):
        understand(page.call.read, Answer(status, body, "soon"))


@given(
    names=st.lists(st.text("abcdefgh", min_size=1, max_size=2), min_size=1, max_size=12, unique=True),
    pinned=st.dictionaries(st.integers(0, 12), st.sampled_from(["ad-1", "ad-2", "ad-3"]), max_size=3),
    positions=st.integers(1, 12),
)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_a_fallback_is_what_live_would_show(names: list[str], pinned: dict[int, str], positions: int) -> None:
    """Once a loop has shown how many items it shows, a fallback has as many."""
    if len(set(pinned.values())) < len(pinned):
        return
    calls = Calls(timeout=1.0, patience=1.0, retries=0, positions=10)
    left, pins = check_pinned(tuple(names), pinned)
    live = page_of(left, range(len(left)), pins, positions)
    many = [f"item {n}" for n in range(13)]
    told = {"id": "x", "items": many[:positions], "arm": "policy"}
    calls.rank("search", "q", many, None, None, False).call.read(told)
    assert calls.rank("search", "q", names, None, pinned, False).fall_back("away").items == live  # type: ignore[misc]


@given(
    failures=st.lists(st.tuples(st.floats(0, 3), st.booleans(), st.floats(0, 5)), max_size=20),
    seconds=st.floats(0.01, 10),
    retries=st.integers(0, 10),
    repeatable=st.booleans(),
)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_attempts_end_in_time(
    failures: list[tuple[float, bool, float]], seconds: float, retries: int, repeatable: bool
) -> None:
    """Whatever fails and however slowly, no more is sent than allowed, and nothing after the time is over."""
    now, sent = 0.0, 0
    call = Call("POST", "/", None, lambda told: told, seconds, seconds / 2, retries, repeatable)
    steps = attempts(call, clock=lambda: now)
    script = iter(failures)
    step = next(steps)
    try:
        while True:
            if isinstance(step, Waiting):
                assert now + step.seconds < seconds
                now += step.seconds
                step = steps.send(None)
                continue
            assert isinstance(step, Sending)
            assert now < seconds
            sent += 1
            took, undone, wait = next(script, (0.0, True, -1.0))
            now += min(took, step.seconds)
            if wait < 0:
                step = steps.send(Answer(200, b"1"))
                continue
            step = steps.throw(ServiceAway("away", undone=undone, retry_after=wait))
    except (StopIteration, ServiceAway) as end:
        result = getattr(end, "value", None)
    assert result in (1, None)
    assert sent <= retries + 1
    if not repeatable:
        assert all(undone for _, undone, _ in failures[: sent - 1])
    assert now <= seconds + 0.001


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [("2", 2, 2), ("0.5", 0.5, 0.5), ("-1", 0, 0), ("", 0, 0), ("soon", 0, 0), ("nan", 0, 0), ("1e400", 0, 0),
     ("Wed, 21 Oct 2015 07:28:00 GMT", 0, 0), ("Wed, 21 Oct 2099 07:28:00 GMT", 1e8, 1e10)],
)  # fmt: skip
def test_when_to_come_again(header: str, least: float, most: float) -> None:
    with pytest.raises(ServiceAway) as away:
        understand(lambda told: told, Answer(503, b"", header))
    assert least <= away.value.retry_after <= most
