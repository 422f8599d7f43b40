"""Programs that tests start: each has a time limit, hears Ctrl-C, and is gone when its test ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

LIMIT = 200.0
"""Seconds that a program may take, on a machine with much else to do."""

# A program inherits that SIGINT is ignored (from nohup, and from some CI systems), and then nothing can interrupt it.
HEARS_CTRL_C = (
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
)


def run(command: Sequence[str], *, check: bool = True, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    return subprocess.run(command, check=check, capture_output=True, text=True, timeout=LIMIT, **options)


@contextmanager
def started(command: Sequence[str], seconds: float | None = None, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """A program that runs meanwhile: `interrupt` ends it, and so does the end of the block or of its time.

    Its time is `LIMIT` unless more `seconds` are given.
    """
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [sys.executable, "-c", HEARS_CTRL_C, *command]
    with subprocess.Popen(command, text=True, **{**pipes, **options}) as process:
        limit = threading.Timer(LIMIT if seconds is None else seconds, process.kill)
        limit.start()
        try:
            yield process
        finally:
            limit.cancel()
            process.kill()


def interrupt(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Press Ctrl-C; what the program then prints until it ends, and its errors."""
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=LIMIT)


def tool(name: str, *, where: str, optional: bool = False) -> str:
    """The path of a program that is beside Python or on this machine.

    Without it the test is skipped, but fails in CI, where `.ci/run` installs what is not optional.
    """
    beside = Path(sys.executable).with_name(name)
    path = os.pathsep.join((os.environ["PATH"], "/usr/sbin"))
    found = str(beside) if beside.exists() else shutil.which(name, path=path)
    if found is None:
        message = f"{name} is not installed ({where})"
        if os.environ.get("CI") == "true" and not optional:
            pytest.fail(message)
        pytest.skip(message)
    return found


def environment(**changed: str) -> dict[str, str]:
    """The variables of a program that imports what this one can import."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **changed}
