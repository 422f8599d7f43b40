"""`systemctl reload` of a service with one worker: it ends in good order, for systemd to start it again."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import processes
from service_client import ADMIN


def test_a_single_worker_ends_in_good_order(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rankloop", "serve", "--store", str(tmp_path / "shop.db"), "--port", "0"]
    with processes.started(command, env=processes.environment(RANKLOOP_ADMIN_KEY=ADMIN)) as process:
        assert process.stdout is not None
        assert "http://" in process.stdout.readline()
        process.send_signal(signal.SIGHUP)
        _, log = process.communicate(timeout=processes.LIMIT)
        assert process.returncode == 0, log
        assert '"closed"' in log
