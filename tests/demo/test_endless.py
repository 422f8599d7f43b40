"""`rankloop serve --demo`, as a user runs it: it starts, learns, ends, goes on, and leaves nothing running."""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import processes
import pytest
from command_line import rankloop, refused

from rankloop.client import ServiceAway
from rankloop.demo import endless
from rankloop.demo.endless import OnShow, visited, wait_for_end
from rankloop.examples.docs_search.corpus import Corpus

MARK = "RANKLOOP_TEST_OF_THE_DEMO"

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes as Linux has them")


def left_running(mark: str) -> list[tuple[int, str]]:
    """The programs that were started with a mark in their environment, and have not ended."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (path / "environ").read_bytes().split(b"\0"):
                found.append((int(path.name), (path / "cmdline").read_text().replace("\0", " ")))
        except OSError:  # it has ended meanwhile, or is not ours
            continue
    return found


AT_ONCE = (
    "from rankloop.cli import main; from rankloop.demo import endless; endless.compile_policies = lambda: None; main()"
)
"""The command without the programs that compile before the service starts: that they do is tested elsewhere."""


@contextmanager
def started(folder: Path, *, compiling: bool = True) -> Iterator[subprocess.Popen[str]]:
    """The program in a folder; whatever happens, nothing that it started is left."""
    variables = processes.environment(**{MARK: str(folder)})
    variables.pop("RANKLOOP_ADMIN_KEY", None)
    begin = ["-m", "rankloop"] if compiling else ["-c", AT_ONCE]
    command = [sys.executable, *begin, "serve", "--demo", "--port", "0"]
    try:
        with processes.started(command, cwd=folder, env=variables) as process:
            yield process
    finally:
        for pid, _ in left_running(str(folder)):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def folder(tmp_path: Path, corpus: Corpus) -> Path:
    """A folder with the index of the search site, which need not be made again."""
    kept = tmp_path / endless.FOLDER
    kept.mkdir()
    shutil.copy(corpus.path, kept)
    return tmp_path


class Shown:
    """What the program has printed, and who may ask there."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith("Ctrl-C"):
                break
        printed = "".join(lines)
        found = re.search(r"documentation at (\S+)\nsee what rankloop learns at (\S+)/#key=(\S+)\n", printed)
        assert found is not None, (printed, process.communicate(timeout=processes.LIMIT))
        self.site, self.service, self.key = found.groups()

    def impressions(self) -> dict[str, int]:
        headers = {"Authorization": f"Bearer {self.key}"}
        answer = httpx.get(f"{self.service}/v1/overview", headers=headers, timeout=processes.LIMIT)
        return {loop["loop"]: loop["impressions"] for loop in answer.json()["loops"]}

    def wait_for(self, at_least: int) -> dict[str, int]:
        """What the loops have shown, once each has shown so many lists."""
        end = time.monotonic() + processes.LIMIT
        while min((found := self.impressions()).values()) < at_least:
            assert time.monotonic() < end, found
            time.sleep(0.05)
        return found


@linux_only
def test_it_starts_learns_ends_and_goes_on(tmp_path: Path) -> None:
    with started(tmp_path) as process:
        shown = Shown(process)
        found = shown.wait_for(20)
        assert set(found) == {"rankers", "queries", "trending", "home"}
        page = httpx.get(shown.site, params={"q": "parse json"}, timeout=processes.LIMIT)
        assert page.text.count("<li>") == 10
        assert len(left_running(str(tmp_path))) == 2  # the program and its service
        _, errors = processes.interrupt(process)
        assert process.returncode == 0, errors
        assert left_running(str(tmp_path)) == []
    with started(tmp_path) as process:
        again = Shown(process)
        more = again.impressions()
        assert all(more[loop] >= n for loop, n in found.items())
        again.wait_for(min(more.values()) + 5)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=processes.LIMIT)
        assert process.returncode == 0, errors
        assert left_running(str(tmp_path)) == []


@linux_only
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("moment", ["at once", "while the service starts"])
def test_it_can_be_ended_while_it_starts(folder: Path, name: str, moment: str) -> None:
    with started(folder, compiling=moment == "at once") as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("getting ready")
        if moment != "at once":
            end = time.monotonic() + processes.LIMIT
            while not (folder / "rankloop-demo" / "service.log").exists():
                assert time.monotonic() < end
                time.sleep(0.01)
        process.send_signal(getattr(signal, name))
        _, errors = process.communicate(timeout=processes.LIMIT)
        assert process.returncode == 0, errors
        assert left_running(str(folder)) == []


@linux_only
def test_a_service_that_ends_by_itself_is_told(folder: Path) -> None:
    with started(folder, compiling=False) as process:
        Shown(process)
        [service] = [pid for pid, _ in left_running(str(folder)) if pid != process.pid]
        os.kill(service, signal.SIGKILL)
        _, errors = process.communicate(timeout=processes.LIMIT)
        assert process.returncode == 2
        assert "rankloop: the service has ended: rankloop-demo/service.log says why" in errors
        assert left_running(str(folder)) == []


def test_all_options_are_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    @contextmanager
    def on_show(arguments: list[str], **places: Any) -> Iterator[OnShow]:
        asked.append((arguments, places))
        yield OnShow("http://127.0.0.1:1", "key", "http://127.0.0.1:2", 60.0, lambda: 3)

    monkeypatch.setattr(endless, "on_show", on_show)
    options = ["--store", "postgresql://h/db", "--host", "::1", "--port", "9000", "--workers", "2", "--partitions", "8"]
    options += ["--peer-host", "10.0.0.1", "--lease", "7.0", "--config", "my.toml"]
    assert "the service has ended" in rankloop("serve", "--demo", *options).stderr
    [(arguments, places)] = asked
    given = dict(zip(arguments[::2], arguments[1::2], strict=True))
    assert given == dict(zip(options[::2], options[1::2], strict=True))
    assert places == {"host": "::1", "site_port": 9001}


def test_what_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert "takes one worker" in refused("serve", "--demo", "--workers", "2")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        command = [sys.executable, "-c", AT_ONCE, "serve", "--demo", "--port", str(taken.getsockname()[1])]
        ended = processes.run(command, cwd=folder, env=processes.environment(), check=False)
    assert ended.returncode == 2
    assert "rankloop: cannot run the demo: the demo's service did not start: " in ended.stderr
    assert "choose another with --host or --port" in ended.stderr


class Trouble:
    """A world whose visitors meet all kinds of errors."""

    title = "trouble"

    def __init__(self, *errors: Exception) -> None:
        self.client: Any = self
        self._errors = list(errors)
        self.over_it = threading.Event()

    def create(self) -> None: ...

    def visit(self, *_: object) -> tuple[list[Any], list[Any]]:
        if self._errors:
            raise self._errors.pop()
        return [], [{"impression": "id", "type": "finish"}]

    def events(self, _: object) -> None:
        self.over_it.set()


def test_visitors_come_again_after_any_error(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(endless, "SECONDS_TO_RECOVER", 0.001)
    world: Any = Trouble(ValueError("odd"), ServiceAway("away"), KeyError("lost"))
    with caplog.at_level(logging.WARNING), visited([world], 1_000.0, seed=0):
        assert world.over_it.wait(processes.LIMIT)
    assert [record.getMessage() for record in caplog.records] == [
        "trouble: a simulated visitor had to leave: KeyError: 'lost'",
        "trouble: a simulated visitor had to leave: ValueError: odd",
    ]


def test_the_end_of_the_service_is_waited_for() -> None:
    codes = iter([None, None, 3])
    assert wait_for_end(OnShow("", "", "", 1.0, lambda: next(codes))) == 3
    assert wait_for_end(OnShow("", "", "", 1.0, lambda: 0)) == 1
