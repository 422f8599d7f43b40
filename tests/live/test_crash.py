"""kill -9 at random moments under load; `make chaos` does it 200 times for each store."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("chaos.py")
SECONDS = 900


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_nothing_acknowledged_is_lost_or_learned_twice(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str
) -> None:
    store = str(tmp_path / "shop.db") if kind == "sqlite" else request.getfixturevalue("database")
    command = [sys.executable, "-W", "ignore", str(SCRIPT), store, "--kills", "10", "--seed", "7", "--impatient"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing lost, nothing twice" in done.stdout
