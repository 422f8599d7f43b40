"""Programs that the demo starts, and an end that leaves none of them running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

SECONDS_TO_END = 30
"""How long a program that is told to end may take before it is killed."""

Start = Callable[..., "subprocess.Popen[str]"]
"""Starts a program of this Python: its arguments, and options of `subprocess.Popen`."""


@contextmanager
def children() -> Iterator[Start]:
    """Start programs that are ended with the block, wherever the block is interrupted."""
    started: list[subprocess.Popen[str]] = []
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    # Signals interrupt the main thread only: in another thread no program is started and then forgotten.
    starting = ThreadPoolExecutor(1)

    def start(arguments: Sequence[str], *, env: dict[str, str] | None = None, **options: Any) -> subprocess.Popen[str]:
        def run() -> subprocess.Popen[str]:
            command, given = [sys.executable, *arguments], {**variables, **(env or {})}
            started.append(subprocess.Popen(command, text=True, env=given, **options))
            return started[-1]

        return starting.submit(run).result()

    try:
        yield start
    finally:
        starting.shutdown()
        for process in started:
            process.terminate()
        for process in started:
            try:
                process.wait(SECONDS_TO_END)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()


@contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM and the end of the terminal interrupt the block as Ctrl-C does: once, and what follows goes on."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    numbers = [getattr(signal, name) for name in names]
    before = {number: signal.getsignal(number) for number in numbers}
    heard = [number for number in numbers if before[number] is not signal.SIG_IGN]

    def interrupt(*_: object) -> None:
        for number in heard:
            signal.signal(number, signal.SIG_IGN)  # whoever is impatient would leave programs running
        raise KeyboardInterrupt

    for number in heard:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, before[number])
