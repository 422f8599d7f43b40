"""Compile what loops of every kind need into RANKLOOP_CACHE_DIR: run while an image is built, so that nobody waits."""

from __future__ import annotations

import tempfile
from pathlib import Path

import rankloop as rl

LOOPS: dict[str, dict[str, object]] = {
    "rerank": {},
    "follow": {},
    "evaluate": {"rankers": ["a", "b", "c"]},
    "diversify": {"relevance": 2, "topics": ["a", "b"]},
}

with tempfile.TemporaryDirectory() as folder, rl.Live(Path(folder) / "warm.db") as live:
    for kind, settings in LOOPS.items():
        live.create(kind, kind=kind, **settings)
    live.warm_up()
