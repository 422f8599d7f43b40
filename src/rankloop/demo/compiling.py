"""Compiling the demo's policies in several processes at once, so that the service finds them in the cache."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

POLICIES: Sequence[tuple[str, str]] = (
    ("diversify", "CascadeHybrid"),
    ("diversify", "CascadeLinUCB"),
    ("evaluate", "MergeDTS"),
    ("rerank", "BubbleRank"),
    ("follow", "CascadeSWUCB"),
    ("follow", "CascadeKLUCB"),
)
"""Those of the demo's loops, with their kinds; those that take longest go to different processes."""


def compile_policies(tell: Callable[[int], None] = lambda _: None, workers: int | None = None) -> None:
    """Compile whatever is not in the cache yet; where that fails, the service will meet the same trouble and tell."""
    n = min(workers or os.cpu_count() or 1, len(POLICIES))
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", f"from {__name__} import compile_these; compile_these({POLICIES[k::n]!r})"],
            env=variables,
            stderr=subprocess.DEVNULL,
        )
        for k in range(n)
    ]
    try:
        while any(process.poll() is None for process in started):
            time.sleep(0.1)
            tell(sum(process.poll() is not None for process in started))
    finally:
        for process in started:
            process.kill()
            process.wait()


def compile_these(policies: Sequence[tuple[str, str]]) -> None:
    """Compile policies, or find them in the cache."""
    from rankloop.live.settings import Settings

    told: dict[str, Any] = {"evaluate": {"rankers": ["a", "b"]}, "diversify": {"relevance": 2, "topics": ["a", "b"]}}
    for kind, policy in policies:
        Settings.checked(kind=kind, policy=policy, **told.get(kind, {})).make_policy(2).warm_up()
