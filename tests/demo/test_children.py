"""Programs that the demo starts are gone when it ends, however it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import processes
import pytest

from rankloop.demo import children as module
from rankloop.demo.children import children, interruptible
from rankloop.demo.compiling import NEEDED, POLICIES, compile_policies, compile_these

SLEEPS = ["-c", "import time; print('here', flush=True); time.sleep(1000)"]
STUBBORN = [
    "-c",
    "import signal, time; signal.signal(15, lambda *_: None); print('here', flush=True); time.sleep(1000)",
]


def test_programs_end_with_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS_TO_END", 1)
    with pytest.raises(ZeroDivisionError), children() as start:  # noqa: PT012
        ended = [start(each, stdout=subprocess.PIPE) for each in (SLEEPS, STUBBORN)]
        assert [process.stdout.readline() for process in ended if process.stdout] == ["here\n"] * 2
        _ = 1 / 0
    assert [process.returncode for process in ended] == [-signal.SIGTERM, -signal.SIGKILL]


def test_a_program_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))
    with pytest.raises(FileNotFoundError), children() as start:
        start(SLEEPS)


INTERRUPTED = """
    import sys, time
    from rankloop.demo.children import children, interruptible
    with interruptible():
        print("begun", flush=True)
        with children() as start:
            while True:
                print(start(["-c", "import time; time.sleep(1000)"]).pid, flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes as Linux has them")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_signals_leave_nothing_behind(name: str) -> None:
    """A program that starts others as fast as it can is interrupted twice in the middle of it."""
    command = [sys.executable, "-c", textwrap.dedent(INTERRUPTED)]
    with processes.started(command, env=processes.environment(CHILD_OF_THIS_TEST=name)) as process:
        assert process.stdout is not None
        for _ in range(4):
            process.stdout.readline()
        assert running_with("CHILD_OF_THIS_TEST", name)
        process.send_signal(getattr(signal, name))
        process.send_signal(getattr(signal, name))
        _, errors = process.communicate(timeout=processes.LIMIT)
    assert "KeyboardInterrupt" in errors
    assert not running_with("CHILD_OF_THIS_TEST", name)


def running_with(variable: str, value: str) -> list[str]:
    """The programs that have a variable in their environment."""
    mark = f"{variable}={value}".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (path / "environ").read_bytes().split(b"\0"):
                found.append((path / "cmdline").read_text().replace("\0", " "))
        except OSError:  # it has ended, or is not ours
            continue
    return found


def test_handlers_are_as_before_afterwards() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(KeyboardInterrupt), interruptible():
        signal.raise_signal(signal.SIGTERM)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_policies_are_compiled_and_counted(capfd: pytest.CaptureFixture[str]) -> None:
    told: list[int] = []
    compile_policies(told.append, workers=2)
    assert told == sorted(told)
    assert told[-1] == len(POLICIES)
    assert capfd.readouterr().out == ""
    assert {kind for kind, _ in POLICIES} >= set(NEEDED)


def test_each_policy_is_named_once_it_is_ready(capsys: pytest.CaptureFixture[str]) -> None:
    compile_these([("rerank", "BubbleRank")])
    assert capsys.readouterr().out == "BubbleRank\n"
