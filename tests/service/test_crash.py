"""Killed in the middle of traffic: what was acknowledged is there, and nothing is there twice."""

from __future__ import annotations

import contextlib
import random
import sys
import threading
from pathlib import Path
from typing import Any

import processes
import pytest
from postgres_server import end_lease
from service_client import ADMIN, Wire, wire
from service_client import request as post

import rankloop as rl

ITEMS = ["a", "b", "c", "d"]
CLIENTS = 4
PAIRS_BEFORE_THE_END = 150


class At:
    """Where a service listens, as `Wire` wants to know it."""

    def __init__(self, address: str) -> None:
        self.address = address


def start(store: str) -> Any:
    command = [sys.executable, "-m", "rankloop", "serve", "--port", "0", "--store", store]
    return processes.started(command, env=processes.environment(RANKLOOP_ADMIN_KEY=ADMIN))


def address(process: Any) -> At:
    return At(process.stdout.readline().split()[-1])


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_killed_under_load(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    store = str(tmp_path / "shop.db") if kind == "sqlite" else request.getfixturevalue("postgres").empty_database()
    acknowledged: list[tuple[str, str]] = []
    sent: list[tuple[str, str]] = []
    enough = threading.Event()

    def traffic(at: At, number: int) -> None:
        chance = random.Random(number)
        with contextlib.suppress(OSError, AssertionError), wire(at) as connection:  # until it has been killed
            while True:
                connection.send(post("/v1/loops/search/rank", {"key": f"q{chance.randrange(20)}", "items": ITEMS}))
                shown = connection.read()[2]
                click = (shown["id"], chance.choice(ITEMS))
                sent.append(click)
                connection.send(post("/v1/events", {"impression": click[0], "item": click[1]}))
                assert connection.read()[2] == {"fate": "accepted"}
                acknowledged.append(click)
                if len(acknowledged) >= PAIRS_BEFORE_THE_END:
                    enough.set()

    with start(store) as process:
        at = address(process)
        connection = Wire(at)
        connection.send(post("/v1/loops/search", {"kind": "rerank", "holdout": 0}, method="PUT"))
        assert connection.read()[0] == 201
        threads = [threading.Thread(target=traffic, args=(at, number)) for number in range(CLIENTS)]
        for thread in threads:
            thread.start()
        assert enough.wait(processes.LIMIT)
        process.kill()
        for thread in threads:
            thread.join()
        connection.socket.close()
    if kind == "postgres":
        end_lease(store)
    with start(store) as process:
        connection = Wire(address(process))
        for clicks, fates in ((acknowledged, {"duplicate"}), (sent, {"duplicate", "accepted"})):
            for id_, item in clicks:
                connection.send(post("/v1/events", {"impression": id_, "item": item}))
                assert connection.read()[2]["fate"] in fates
        connection.socket.close()
        process.terminate()
        process.wait(processes.LIMIT)
    with rl.Live(store, background=False, read_only=True) as live:
        assert live.status("search")["clicks"] == len(set(sent))
        assert live.verify().ok
