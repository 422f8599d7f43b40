"""The supervisor, with workers of a few lines: whatever dies or is asked for, as many run as there should."""

from __future__ import annotations

import os
import queue
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rankloop.live import StoreError
from rankloop.service.fleet import supervisor as module
from rankloop.service.fleet.supervisor import Supervisor
from rankloop.service.fleet.worker_messages import Orders

SECONDS = 60.0

# What it does is in the file `next` when it begins. It waits for files `go` and `end` to appear, where it is to.
WORKER = """
import json, os, pathlib, signal, sys, time
folder = pathlib.Path(sys.argv[1])
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
orders, told = json.loads(sys.stdin.readline()), (folder / "next").read_text()
(folder / f"{os.getpid()}.new").write_text(json.dumps(orders))
(folder / f"{os.getpid()}.new").rename(folder / f"{os.getpid()}.json")

def wait_for(name):
    until = time.monotonic() + 60
    while not (folder / name).exists() and time.monotonic() < until:
        time.sleep(0.005)

if told == "dies":
    sys.exit(3)
if told == "fails":
    print(json.dumps({"worker": "", "what": "failed", "why": "there is no store"}), flush=True)
    sys.exit(1)
if told == "waits":
    wait_for("go")
if told != "hangs":
    print(json.dumps({"worker": "", "what": "ready"}), flush=True)
signal.sigtimedwait({signal.SIGTERM}, 60)
(folder / f"{os.getpid()}.asked").touch()
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
if told == "stays":
    wait_for("end")
    (folder / f"{os.getpid()}.finished").touch()
"""


def eventually(so: Callable[[], Any]) -> Any:
    """What a function gives once it gives something."""
    until = time.monotonic() + SECONDS
    while not (found := so()):
        assert time.monotonic() < until, "it does not come to that"
        time.sleep(0.005)
    return found


class CountedQueue:
    """A queue that counts how often somebody looks into it."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.looks = 0
        self.put = self._queue.put

    def get(self, *, timeout: float | None) -> Any:
        self.looks += 1
        return self._queue.get(timeout=timeout)


class Watched:
    """A supervisor in a thread, and its workers."""

    def __init__(self, folder: Path, workers: int) -> None:
        self.folder = folder
        self.does("good")
        (folder / "worker.py").write_text(WORKER)
        self.greetings = 0
        self.failure: BaseException | None = None
        self.listening = socket.create_server(("127.0.0.1", 0))
        orders = Orders("nowhere", None, self.listening.fileno(), "m", "host:80", "127.0.0.1", 9000, 5.0, workers)
        command = (sys.executable, "-I", "-S", str(folder / "worker.py"), str(folder))
        self.supervisor = Supervisor(orders, self.listening, self._greet, command=command)
        self.supervisor._happened = self.queue = CountedQueue()  # type: ignore[assignment]
        self.starts = 0
        self._start = self.supervisor._start
        self.supervisor._start = self._count_start  # type: ignore[method-assign]
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _count_start(self) -> Any:
        process = self._start()
        self.starts += 1
        return process

    def _greet(self) -> None:
        self.greetings += 1

    def _run(self) -> None:
        try:
            self.supervisor.run()
        except StoreError as error:
            self.failure = error

    def does(self, what: str) -> None:
        """What workers do that begin from now on."""
        (self.folder / "next").write_text(what)

    def hears(self, number: signal.Signals) -> None:
        self.supervisor.hear(number)

    def start(self) -> None:
        self._thread.start()

    def started(self) -> dict[int, Orders]:
        """What each worker was told, by its process."""
        return {
            int(path.stem): msgspec.json.decode(path.read_bytes(), type=Orders) for path in self.folder.glob("*.json")
        }

    def running(self) -> set[int]:
        """Processes that were started and have not ended."""
        return {pid for pid in self.started() if Path(f"/proc/{pid}").exists()}

    def ended(self) -> bool:
        return not self._thread.is_alive()

    def close(self) -> None:
        self.hears(signal.SIGTERM)
        for name in ("go", "end"):
            (self.folder / name).touch()
        self._thread.join(SECONDS)
        assert self.ended()
        assert not self.running(), "a worker is left behind"
        assert self.listening.fileno() == -1


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[[int], Watched]]:
    made: list[Watched] = []

    def watched(workers: int) -> Watched:
        made.append(Watched(tmp_path, workers))
        return made[-1]

    yield watched
    for each in made:
        each.close()


@pytest.fixture
def pair(make: Callable[[int], Watched]) -> Watched:
    """Two workers that are ready."""
    watched = make(2)
    watched.start()
    eventually(lambda: watched.greetings)
    return watched


@contextmanager
def all_replaced(watched: Watched) -> Iterator[None]:
    """In the end others run, as many as before."""
    before = watched.running()
    assert len(before) == 2
    yield
    eventually(lambda: not watched.running() & before and len(watched.running()) == 2)


def test_all_are_replaced(pair: Watched) -> None:
    with all_replaced(pair):
        pair.hears(signal.SIGHUP)
    assert (pair.starts, pair.greetings) == (4, 1)


def test_numbers_are_never_shared(pair: Watched) -> None:
    """So names in metrics and ports for other workers are not: one more is enough, for the one that is replaced."""
    told = pair.started()
    assert sorted((orders.name, orders.peer_port) for orders in told.values()) == [
        ("host:80/0", 9000), ("host:80/1", 9001),
    ]  # fmt: skip
    pair.does("waits")
    pair.hears(signal.SIGHUP)
    eventually(lambda: len(pair.running()) == 3)
    (new,) = (orders for pid, orders in pair.started().items() if pid not in told)
    assert (new.name, new.peer_port) == ("host:80/2", 9002)
    (pair.folder / "go").touch()
    eventually(lambda: len(pair.started()) == 4 and len(pair.running()) == 2)
    names = sorted(orders.name for pid, orders in pair.started().items() if pid in pair.running())
    assert names == ["host:80/0", "host:80/2"], "the number of the one that was replaced first is free again"


def test_one_that_dies_is_started_again(pair: Watched) -> None:
    dead, other = pair.running()
    os.kill(dead, signal.SIGKILL)
    eventually(lambda: len(pair.running()) == 2 and dead not in pair.running())
    assert other in pair.running()


@pytest.mark.parametrize("how", ["dies", "fails", "hangs"])
def test_a_replacement_that_does_not_get_ready(pair: Watched, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """The old workers go on, and are looked after: one that dies later is started again."""
    old = pair.running()
    pair.does(how)
    if how == "hangs":
        monkeypatch.setattr(module, "SECONDS_TO_START", 0.2)
    pair.hears(signal.SIGHUP)
    eventually(lambda: pair.starts == 3 and len(pair.supervisor._running) == 2)
    assert pair.running() == old
    pair.does("good")
    dead = min(old)
    os.kill(dead, signal.SIGKILL)
    eventually(lambda: len(pair.running()) == 2 and dead not in pair.running() and pair.starts >= 4)
    assert pair.starts == 4, "one that was not needed was started"
    assert not list(pair.folder.glob("*.asked")), "an old one was told to end"


def test_asked_to_replace_while_replacing(pair: Watched) -> None:
    pair.does("waits")
    with all_replaced(pair):
        pair.hears(signal.SIGHUP)
        eventually(lambda: len(pair.running()) == 3)
        looks = pair.queue.looks
        pair.hears(signal.SIGHUP)
        eventually(lambda: pair.queue.looks > looks)
        assert pair.starts == 3, "one is replaced at a time"
        (pair.folder / "go").touch()
    eventually(lambda: pair.starts == len(pair.started()) == 6 and len(pair.running()) == 2)


def test_an_old_one_dies_while_its_replacement_starts(pair: Watched) -> None:
    pair.does("waits")
    with all_replaced(pair):
        pair.hears(signal.SIGHUP)
        eventually(lambda: len(pair.running()) == 3)
        (first,) = (pid for pid, orders in pair.started().items() if orders.name == "host:80/0")
        os.kill(first, signal.SIGKILL)
        eventually(lambda: first not in pair.running())
        (pair.folder / "go").touch()
    assert not pair.supervisor._restart_at, "it would be started in addition"


def test_asked_to_end_while_replacing(pair: Watched) -> None:
    pair.does("waits")
    pair.hears(signal.SIGHUP)
    eventually(lambda: len(pair.running()) == 3)
    pair.hears(signal.SIGTERM)
    eventually(lambda: len(list(pair.folder.glob("*.asked"))) == 2)
    (pair.folder / "go").touch()
    eventually(pair.ended)
    assert not pair.running()
    assert pair.failure is None


def test_asked_to_end_while_an_old_one_hands_over(make: Callable[[int], Watched]) -> None:
    """It is told once: a second SIGTERM would not let it finish. And nobody is waited for before others are told."""
    watched = make(1)
    watched.does("stays")
    watched.start()
    eventually(lambda: watched.greetings)
    watched.hears(signal.SIGHUP)
    (old,) = eventually(lambda: [int(path.stem) for path in watched.folder.glob("*.asked")])
    watched.hears(signal.SIGTERM)
    eventually(lambda: len(list(watched.folder.glob("*.asked"))) == 2)
    assert old in watched.running()
    (watched.folder / "end").touch()
    eventually(watched.ended)
    assert (watched.folder / f"{old}.finished").exists()


def test_one_that_does_not_end_is_killed(make: Callable[[int], Watched], monkeypatch: pytest.MonkeyPatch) -> None:
    watched = make(1)
    watched.does("stays")
    watched.start()
    eventually(lambda: watched.greetings)
    monkeypatch.setattr(module, "SECONDS_TO_END", 0.2)
    watched.hears(signal.SIGTERM)
    eventually(watched.ended)
    assert not watched.running()


def test_not_ready_in_time(make: Callable[[int], Watched], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS_TO_START", 0.5)
    watched = make(2)
    watched.does("hangs")
    watched.start()
    eventually(watched.ended)
    assert "were not ready within 0.5 s" in str(watched.failure)
    assert watched.greetings == 0


def test_a_second_one_that_is_not_ready_in_time(
    make: Callable[[int], Watched], monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = make(2)
    watched.does("waits")
    watched.start()
    eventually(lambda: len(watched.started()) == 1)
    watched.does("hangs")
    monkeypatch.setattr(module, "SECONDS_TO_START", 0.5)
    (watched.folder / "go").touch()
    eventually(watched.ended)
    assert "were not ready" in str(watched.failure)
    assert (watched.greetings, watched.starts) == (0, 2)


def test_what_a_worker_says_before_all_are_ready_is_why_it_fails(make: Callable[[int], Watched]) -> None:
    watched = make(2)
    watched.does("fails")
    watched.start()
    eventually(watched.ended)
    assert str(watched.failure) == "there is no store"
    assert watched.starts == 1


def test_waiting_for_the_end_is_idle(pair: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that was to be started again is not, and nobody looks again and again whether it is time."""
    monkeypatch.setattr(module, "LONGEST_PAUSE", 0.5)
    pair.does("stays")
    with all_replaced(pair):
        pair.hears(signal.SIGHUP)
    dead, other = pair.running()
    os.kill(dead, signal.SIGKILL)
    eventually(lambda: pair.supervisor._restart_at)
    pair.hears(signal.SIGTERM)
    eventually((pair.folder / f"{other}.asked").exists)
    looks = pair.queue.looks
    time.sleep(1.0)  # until after the time at which it was to be started
    assert pair.queue.looks - looks < 10
    (pair.folder / "end").touch()
    eventually(pair.ended)
    assert pair.starts == 4
