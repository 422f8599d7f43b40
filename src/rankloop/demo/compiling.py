"""Compiling the demo's policies in several processes at once, so that the service finds them in the cache."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Sequence
from typing import Any

from rankloop.demo.children import children

POLICIES: Sequence[tuple[str, str]] = (
    ("diversify", "CascadeHybrid"),
    ("diversify", "CascadeLinUCB"),
    ("evaluate", "MergeDTS"),
    ("rerank", "BubbleRank"),
    ("follow", "CascadeSWUCB"),
    ("follow", "CascadeKLUCB"),
)
"""Those of the demo's loops, with their kinds; those that take longest go to different processes."""

NEEDED: dict[str, dict[str, Any]] = {
    "evaluate": {"rankers": ["a", "b"]},
    "diversify": {"relevance": 2, "topics": ["a", "b"]},
}
"""Settings without which loops of a kind cannot be."""


def compile_policies(tell: Callable[[int], None] = lambda _: None, workers: int | None = None) -> None:
    """Compile whatever is not in the cache yet; where that fails, the service will meet the same trouble and say so.

    Parameters
    ----------
    tell
        Function that is called with the number of policies that are ready.
    workers
        Number of processes; one for each core if not given.
    """
    n = min(workers or os.cpu_count() or 1, len(POLICIES))
    ready: list[str] = []
    with children() as start:
        processes = [
            start(
                ["-c", f"from {__name__} import compile_these; compile_these({POLICIES[k::n]!r})"],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            for k in range(n)
        ]
        reading = [threading.Thread(target=ready.extend, args=(process.stdout,), daemon=True) for process in processes]
        for thread in reading:
            thread.start()
        for thread in reading:
            while thread.is_alive():
                thread.join(0.1)
                tell(len(ready))


def compile_these(policies: Sequence[tuple[str, str]]) -> None:
    """Compile policies, or find them in the cache; each is named on a line of its own once it is ready."""
    from rankloop.live.settings import Settings

    for kind, policy in policies:
        Settings.checked(kind=kind, policy=policy, **NEEDED.get(kind, {})).make_policy(2).warm_up()
        print(policy, flush=True)
