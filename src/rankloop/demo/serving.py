"""A service of its own for the demo: `rankloop serve` in another process, on this machine alone."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

SECONDS_TO_START = 120
SECONDS_TO_END = 30


class Serving(NamedTuple):
    """A service that runs."""

    address: str
    key: str
    process: subprocess.Popen[str]


@contextmanager
def service(arguments: Sequence[str], log: Path, *, key: str | None = None) -> Iterator[Serving]:
    """A service while the block runs, with arguments of `rankloop serve` and a file for its log."""
    key = key or secrets.token_urlsafe(24)
    command = [sys.executable, "-m", "rankloop", "serve", *arguments]
    variables = {**os.environ, "RANKLOOP_ADMIN_KEY": key, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with log.open("w", encoding="utf-8") as errors:
        # In a group of its own, so that it does not hear a Ctrl-C before its users have gone.
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, env=variables, start_new_session=True
        )
    try:
        yield Serving(_address(process, log), key, process)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdout is not None
        process.stdout.close()


def _address(process: subprocess.Popen[str], log: Path) -> str:
    """What the service says of its address once it is ready."""
    limit = threading.Timer(SECONDS_TO_START, process.kill)
    limit.start()
    assert process.stdout is not None
    try:
        for line in process.stdout:
            before, found, address = line.rstrip().rpartition(" at http://")
            if before.startswith("rankloop serves") and found:
                threading.Thread(target=process.stdout.read, daemon=True).start()  # so that it never waits for a reader
                return f"http://{address}"
    finally:
        limit.cancel()
    told = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    raise ValueError(f"the demo's service did not start: {told[-1] if told else 'it says nothing'}")
