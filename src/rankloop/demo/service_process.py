"""A service of its own for the demo: `rankloop serve` in another process, on this machine alone."""

from __future__ import annotations

import secrets
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from rankloop.demo.children import children

SECONDS_TO_START = 120


class Serving(NamedTuple):
    """A service that runs."""

    address: str
    key: str
    process: subprocess.Popen[str]


@contextmanager
def service(arguments: Sequence[str], log: Path, *, key: str | None = None) -> Iterator[Serving]:
    """A service while the block runs, with arguments of `rankloop serve` and a file for its log."""
    key = key or secrets.token_urlsafe(24)
    with log.open("w", encoding="utf-8") as errors, children() as start:
        # In a session of its own, so that it does not hear a Ctrl-C before its users have gone.
        process = start(
            ["-m", "rankloop", "serve", *arguments],
            env={"RANKLOOP_ADMIN_KEY": key},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
        yield Serving(_address(process, log), key, process)


def _address(process: subprocess.Popen[str], log: Path) -> str:
    """What the service says of its address once it is ready."""
    limit = threading.Timer(SECONDS_TO_START, process.kill)
    limit.daemon = True
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
    written = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    raise ValueError(f"the demo's service did not start: {written[-1] if written else 'it says nothing'}")
