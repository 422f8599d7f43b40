"""Programs that tests start hear Ctrl-C, and end with their test at the latest."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator

import processes
import pytest

SLEEP = "import time; print('ready', flush=True); time.sleep(1000)"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGINT")


@pytest.fixture(params=[signal.default_int_handler, signal.SIG_IGN], ids=["heard here", "ignored here"], autouse=True)
def _sigint(request: pytest.FixtureRequest) -> Iterator[None]:
    before = signal.signal(signal.SIGINT, request.param)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_program_hears_ctrl_c() -> None:
    with processes.started([sys.executable, "-c", SLEEP]) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        _, errors = processes.interrupt(process)
    assert process.returncode == -signal.SIGINT
    assert errors.rstrip().endswith("KeyboardInterrupt")


def test_a_program_ends_with_its_test() -> None:
    with (
        pytest.raises(RuntimeError, match="the test fails"),
        processes.started([sys.executable, "-c", SLEEP]) as process,
    ):
        raise RuntimeError("the test fails")
    assert process.returncode == -signal.SIGKILL


def test_a_program_ends_with_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "LIMIT", 0.1)
    with processes.started([sys.executable, "-c", SLEEP]) as process:
        process.communicate()
    assert process.returncode == -signal.SIGKILL
