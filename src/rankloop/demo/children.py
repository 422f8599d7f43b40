"""Programs that the demo starts, and an end that leaves none of them running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from queue import SimpleQueue
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
    wanted: SimpleQueue[tuple[Future[subprocess.Popen[str]], list[str], dict[str, Any]] | None] = SimpleQueue()

    def work() -> None:
        while (each := wanted.get()) is not None:
            future, command, options = each
            try:
                started.append(subprocess.Popen(command, text=True, **options))
                future.set_result(started[-1])
            except BaseException as error:
                future.set_exception(error)

    def start(arguments: Sequence[str], *, env: dict[str, str] | None = None, **options: Any) -> subprocess.Popen[str]:
        future: Future[subprocess.Popen[str]] = Future()
        wanted.put((future, [sys.executable, *arguments], {"env": {**variables, **(env or {})}, **options}))
        return future.result()

    # Signals interrupt the main thread only: in another thread, no program is started and then forgotten.
    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    try:
        yield start
    finally:
        wanted.put(None)
        worker.join()
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
        for number in heard:  # whoever is impatient would leave programs running
            signal.signal(number, lambda *_: None)  # not SIG_IGN, which a program that is just being started inherits
        raise KeyboardInterrupt

    for number in heard:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, before[number])
