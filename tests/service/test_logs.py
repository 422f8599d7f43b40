"""Logs: one JSON object per line, what failed or was slow, no keys."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from service_client import ADMIN, Running

from rankloop.live import StoreLost
from rankloop.service.limits import Limits
from rankloop.service.logs import Bounded, log_to, logger


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What would go to standard error."""
    loggers = [logging.getLogger(name) for name in ("rankloop", "uvicorn")]
    before = [(each.handlers, each.propagate, each.level) for each in loggers]
    stream = io.StringIO()
    log_to(stream)
    yield stream
    for each, (handlers, propagate, level) in zip(loggers, before, strict=True):
        each.handlers, each.propagate = handlers, propagate
        each.setLevel(level)


def lines(log: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.getvalue().splitlines()]


def test_requests_that_fail_are_told_of_with_their_ids(
    on_sqlite: Running, log: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_sqlite.admin.put("/v1/loops/search", json={"kind": "rerank"})

    def away(*_: Any, **__: Any) -> None:
        raise StoreLost("the disk is full")

    monkeypatch.setattr(on_sqlite.service.live, "commit", away)
    monkeypatch.setattr(on_sqlite.service.live, "change", away)
    event = {"impression": "AAAA", "item": "a"}
    for path, headers in (
        ("/v1/events", {"X-Request-Id": "quick-1"}),  # answered by the protocol itself
        ("/v1/loops/search/pause", {"X-Request-Id": "slow-2"}),
    ):
        shown = on_sqlite.admin.post("/v1/loops/search/rank", json={"key": "k", "items": ["a", "b"]}).json()
        answer = on_sqlite.admin.post(path, json={**event, "impression": shown["id"]}, headers=headers)
        assert answer.status_code == 503, answer.text
    told = [line for line in lines(log) if line["message"] == "request failed"]
    assert [(line["request"], line["route"], line["status"]) for line in told] == [
        ("quick-1", "events", 503), ("slow-2", "pause", 503),
    ]  # fmt: skip
    assert all(line["level"] == "warning" and line["seconds"] >= 0 for line in told)


def test_a_bug_is_told_of_once_with_its_traceback(
    on_sqlite: Running, log: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> Any:
        raise ArithmeticError("a bug")

    monkeypatch.setattr(on_sqlite.service.keys, "all", broken)
    assert on_sqlite.admin.get("/v1/keys", headers={"X-Request-Id": "bug-3"}).status_code == 500
    (told,) = (line for line in lines(log) if "exception" in line)
    assert told["request"] == "bug-3"
    assert "ArithmeticError: a bug" in told["exception"]


def test_slow_requests_are_told_of(on_sqlite: Running, log: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    on_sqlite.admin.get("/v1/loops")
    assert not [line for line in lines(log) if "slow" in line["message"]]
    monkeypatch.setattr(on_sqlite.service, "limits", Limits(slow=0.0))
    on_sqlite.admin.get("/v1/loops", headers={"X-Request-Id": "slow-4"})
    on_sqlite.admin.get("/health/ready")  # asked for all the time
    told = [line for line in lines(log) if "slow" in line["message"]]
    assert [(line["request"], line["route"], line["status"]) for line in told] == [("slow-4", "list_loops", 200)]


def test_an_outage_does_not_fill_the_disk(log: io.StringIO) -> None:
    now = [100.0]
    handler = next(each for each in logging.getLogger("rankloop").handlers if each.filters)
    handler.filters = [Bounded(clock=lambda: now[0])]
    for second in range(3):
        now[0] = 100.0 + second
        for number in range(1000):
            logger.error("the store is away: %d", number)
        logger.info("something else")
    told = [line for line in lines(log) if "store" in line["message"]]
    assert len(told) == 3 * Bounded.MOST
    assert sum(line.get("left_out", 0) for line in told) == 2 * (1000 - Bounded.MOST)
    assert len(lines(log)) == len(told) + 3


def test_no_key_is_in_the_log(on_sqlite: Running, log: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that are right, wrong, in the wrong place and in requests that fail."""
    monkeypatch.setattr(on_sqlite.service, "limits", Limits(slow=0.0))  # every request is told of
    on_sqlite.admin.put("/v1/loops/search", json={"kind": "rerank"})
    made = on_sqlite.admin.post("/v1/keys", json={"role": "events", "origins": ["https://shop.example"]}).json()
    secrets = [ADMIN, made["key"], "rl_wrong-key-of-somebody"]
    for key in secrets:
        with on_sqlite.client(key, Origin="https://shop.example") as client, on_sqlite.client(None) as nobody:
            client.get("/v1/loops")
            client.get(f"/v1/loops?key={key}")
            client.post("/v1/events", content=b"{" + key.encode())
            nobody.post("/v1/events", json={"key": key, "events": [{"impression": "AAAA", "item": "a"}]})
            nobody.get("/v1/keys", headers={"Authorization": f"Basic {key}"})
    on_sqlite.admin.delete(f"/v1/keys/{made['info']['id']}")

    def broken(*_: Any) -> Any:
        raise ArithmeticError("a bug")

    monkeypatch.setattr(on_sqlite.service.keys, "find", broken)
    assert on_sqlite.admin.get("/v1/loops").status_code == 500
    written = log.getvalue()
    assert len(lines(log)) > 10
    assert made["info"]["id"] in written, "the log says which key was made"
    for key in secrets:
        assert key not in written
