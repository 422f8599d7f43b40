"""`rankloop live dashboard`: the pages of a store read-only, beside the service that writes to it."""

from __future__ import annotations

import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import postgres_server
import processes
import pytest
from command_line import refused
from playwright.sync_api import Page, expect

import rankloop as rl
from rankloop.service import read_only as onlooking
from rankloop.service.app import App
from rankloop.service.run import address_of, listen, server_of

ADMIN = "admin-key-of-the-tests"
ODD = "<b>laptop</b> 🎧"
LOOPS = {"search": {"kind": "rerank", "holdout": 0}, "rankers": {"kind": "evaluate", "rankers": ["a", "b", "c"]}}


@contextmanager
def program(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A command that serves, and the address that it prints."""
    command = [sys.executable, "-m", "rankloop", *arguments, "--port", "0"]
    with processes.started(command, env=processes.environment(RANKLOOP_ADMIN_KEY=ADMIN)) as process:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found is not None, process.communicate(timeout=processes.LIMIT)
        yield process, found[0]


def client(address: str, key: str | None) -> httpx.Client:
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    return httpx.Client(base_url=address, headers=headers, timeout=processes.LIMIT)


@contextmanager
def service(store: str, *arguments: str) -> Iterator[httpx.Client]:
    """A service with two loops."""
    with program("serve", "--store", store, *arguments) as (process, address):
        with client(address, ADMIN) as admin:
            for loop, settings in LOOPS.items():
                assert admin.put(f"/v1/loops/{loop}", json=settings).is_success
            yield admin
        process.send_signal(signal.SIGTERM)
        assert process.wait(processes.LIMIT) == 0


@contextmanager
def dashboard(store: str) -> Iterator[tuple[httpx.Client, str]]:
    """The dashboard of a store, with its whole address; Ctrl-C ends it in the end."""
    with program("live", "dashboard", "--store", store) as (process, whole):
        address, key = whole.split("/#key=")
        with client(address, key) as onlooker:
            yield onlooker, whole
        _, errors = processes.interrupt(process)
        assert process.returncode == 0, errors


@contextmanager
def showing(store: Path) -> Iterator[httpx.Client]:
    """The same service in a thread of the test."""
    service = onlooking.Onlooker(store)
    with listen("127.0.0.1", 0) as listening:
        server = server_of(App(service))
        ready = threading.Event()
        service.when_ready = ready.set
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            assert ready.wait(processes.LIMIT)
            with client(address_of(listening), service.keys.text) as onlooker:
                yield onlooker
        finally:
            server.should_exit = True
            thread.join(processes.LIMIT)
    assert not thread.is_alive()


def visit(admin: httpx.Client, key: str) -> str:
    """One user who gets a list and clicks its first item; the id of the impression."""
    shown = admin.post("/v1/loops/search/rank", json={"key": key, "items": ["one", "two", "three"]}).json()
    told = [{"impression": shown["id"], "item": shown["items"][0]}, {"impression": shown["id"], "type": "finish"}]
    assert admin.post("/v1/events", json=told).is_success
    return str(shown["id"])


def duel(admin: httpx.Client) -> None:
    """One user who compares two rankers."""
    found = admin.post("/v1/loops/rankers/duel", json={"user": "u1"}).json()
    lists = {ranker: [f"{ranker} 1", f"{ranker} 2"] for ranker in found["rankers"]}
    shown = admin.post("/v1/loops/rankers/interleave", json={"duel": found["id"], "lists": lists}).json()
    assert admin.post("/v1/events", json={"impression": shown["id"], "item": shown["items"][0]}).is_success


def counted(onlooker: httpx.Client) -> dict[str, tuple[int, int]]:
    """Impressions and clicks of each loop, as the overview has them."""
    found = onlooker.get("/v1/overview")
    assert found.is_success, found.text
    return {loop["loop"]: (loop["impressions"], loop["clicks"]) for loop in found.json()["loops"]}


def wait_for(onlooker: httpx.Client, expected: dict[str, tuple[int, int]]) -> None:
    """Return once the overview shows what is expected."""
    end = time.monotonic() + processes.LIMIT
    while (found := counted(onlooker)) != expected:
        assert time.monotonic() < end, found
        time.sleep(0.2)


@pytest.fixture(params=["sqlite", "postgres", "three partitions"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, list[str]]:
    """A store that is not there yet, and what `rankloop serve` is told for it."""
    if request.param == "sqlite":
        return str(tmp_path / "shop.db"), []
    url: str = request.getfixturevalue("postgres").empty_database()
    return url, ["--partitions", "3"] if request.param == "three partitions" else []


def path_of(key: str) -> str:
    return f"/v1/loops/search/keys/{quote(key, safe='')}"


def test_beside_a_service_that_writes(place: tuple[str, list[str]]) -> None:
    """It shows what the service shows, goes on with it, and neither changes anything nor stands in its way."""
    store, arguments = place
    keys = [ODD, "phone", "desk lamp", "laptop"]
    with service(store, *arguments) as admin:
        ids = [visit(admin, key) for key in keys]
        duel(admin)
        with dashboard(store) as (onlooker, _):
            wait_for(onlooker, {"search": (4, 4), "rankers": (1, 1)})
            same = [*(f"/v1/impressions/{id_}" for id_ in ids), *map(path_of, keys), "/v1/loops/rankers/race"]
            for path in same:
                theirs, ours = admin.get(path).json(), onlooker.get(path).json()
                assert ours["loop"] in LOOPS
                assert {**ours, "counted": None} == {**theirs, "counted": None}, path
            assert onlooker.get(path_of("nobody asked")).status_code == 404
            assert onlooker.get("/v1/impressions/forged").status_code == 404
            listed = onlooker.get("/v1/loops/search/keys", params={"limit": 10}).json()
            assert {each["key"] for each in listed["keys"]} == set(keys)
            assert onlooker.get(f"{path_of(ODD)}/history").json()["progress"]["complete"]
            assert onlooker.get("/metrics").is_success

            visit(admin, "phone")  # the service goes on, and nothing is locked
            wait_for(onlooker, {"search": (5, 5), "rankers": (1, 1)})
            assert onlooker.get(path_of("phone")).json()["impressions"] == 2
            for method, path, body in (
                ("POST", "/v1/loops/search/rank", {"key": "phone", "items": ["one", "two"]}),
                ("POST", "/v1/events", {"impression": ids[0], "item": "two"}),
                ("POST", "/v1/loops/rankers/duel", {}),
                ("POST", f"{path_of(ODD)}/revert", None),
                ("POST", "/v1/loops/search/pause", None),
                ("PUT", "/v1/loops/new", {"kind": "rerank"}),
                ("POST", "/v1/keys", {"role": "admin"}),
            ):
                answer = onlooker.request(method, path, json=body)
                assert answer.status_code == 405, path
                assert "only shows a store" in answer.json()["detail"]
            for key in (None, ADMIN, "rl_000000000000_guessed"):
                with client(str(onlooker.base_url), key) as stranger:
                    assert stranger.get("/v1/overview").status_code == 401
            assert onlooker.get("/v1/keys").status_code == 403
        assert admin.get("/v1/loops/search").json()["status"]["clicks"] == 5
        assert [loop["loop"] for loop in admin.get("/v1/loops").json()["loops"]] == list(LOOPS)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A store that nobody writes."""
    path = tmp_path / "shop.db"
    with rl.Live(path) as live:
        live.create("search", kind="rerank", holdout=0)
        shown = live.rank("search", ODD, ["one", "two", "three"])
        live.click(shown.id, "two")
    return path


def test_in_a_browser(shop: Path, page: Page) -> None:
    """The address that is printed opens the store, leaves no key in the address bar, and offers nothing to change."""
    before = shop.read_bytes()
    with dashboard(str(shop)) as (_, address):
        page.goto(address)
        expect(page.get_by_text("Read-only")).to_be_visible()
        assert "key=" not in page.url
        page.locator("main").get_by_role("link", name="search").first.click()
        page.get_by_role("link", name=ODD).click()
        expect(page.get_by_role("heading", level=1)).to_contain_text(ODD)
        expect(page.get_by_text("three")).not_to_have_count(0)
        for action in ("Revert", "Pause", "Forget it"):
            expect(page.get_by_role("button", name=action)).to_have_count(0)
    assert shop.read_bytes() == before


def test_a_store_that_vanishes_and_comes_back(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onlooking, "LOOK_AGAIN", 0.0)
    monkeypatch.setattr(onlooking, "SHARE", 1e9)
    apart = shop.with_name("elsewhere.db")
    with showing(shop) as onlooker:
        assert counted(onlooker) == {"search": (1, 1)}
        shop.rename(apart)
        answer = onlooker.get("/v1/overview")
        assert answer.status_code == 503
        assert "there is no store" in answer.json()["detail"]
        apart.rename(shop)
        assert counted(onlooker) == {"search": (1, 1)}
        shop.unlink()
        with rl.Live(shop) as live:  # another store in its place
            live.create("home page", kind="follow")
        assert counted(onlooker) == {"home page": (0, 0)}


def test_many_who_look_while_the_store_is_opened_anew(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call keeps the view that it began with, and every view is closed once nobody looks at it."""
    monkeypatch.setattr(onlooking, "LOOK_AGAIN", 0.0)
    monkeypatch.setattr(onlooking, "SHARE", 1e9)
    made: list[onlooking.View] = []

    class Counted(onlooking.View):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self.is_closed = False
            made.append(self)

        def close(self) -> None:
            assert not self.users
            self.is_closed = True
            super().close()

    monkeypatch.setattr(onlooking, "View", Counted)
    with showing(shop) as onlooker, ThreadPoolExecutor(6) as threads:
        paths = ["/v1/overview", path_of(ODD), "/v1/loops/search/keys", "/v1/loops/search"] * 25
        assert {answer.status_code for answer in threads.map(onlooker.get, paths)} == {200}
    assert len(made) > 2  # how many is up to the machine
    assert all(view.is_closed for view in made)  # type: ignore[attr-defined]


def test_what_is_refused(tmp_path: Path, shop: Path) -> None:
    def told(*arguments: object) -> str:
        return refused("live", "dashboard", *arguments)

    assert told("--store", tmp_path / "none.db") == (
        f"there is no store {tmp_path / 'none.db'}: name one with --store, or set RANKLOOP_STORE"
    )
    assert "there is no store" in told("--store", tmp_path)
    text, other = tmp_path / "text.db", tmp_path / "other.db"
    text.write_text("hello, this is not a database, and it is a bit longer than a header")
    assert "is not a database of rankloop" in told("--store", text)
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE mine (x)")
    database.close()
    assert "is a database of another program" in told("--store", other)
    assert "store must be a path or postgresql://" in told("--store", "mysql://here/shop")
    assert "cannot be reached" in told("--store", "postgresql://nobody@127.0.0.1:9/shop?connect_timeout=2")
    assert "for this machine alone" in told("--store", shop, "--host", "0.0.0.0")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert "choose another with --host or --port" in told("--store", shop, "--port", taken.getsockname()[1])
    assert sorted(path.name for path in tmp_path.iterdir() if "none" in path.name) == []


def test_a_database_without_a_store(postgres: postgres_server.Server) -> None:
    url = postgres.empty_database()
    assert "there is no store in" in refused("live", "dashboard", "--store", url)
    assert postgres.sql("SELECT to_regnamespace('rankloop')", url=url) == [(None,)]
