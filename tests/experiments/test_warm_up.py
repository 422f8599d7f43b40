"""Compiling in helper processes, which fill the cache on disk."""

from __future__ import annotations

import multiprocessing
import sys
import time
from pathlib import Path

import processes
import pytest

from rankloop.kernels.compiler import _alone

SCRIPT = """
import sys, time
import rankloop as rl
from rankloop.experiments.warm_up import kind, warm_up
from rankloop.kernels.compiler import cache_directory
from rankloop.simulation.lists import ListSimulation

attraction = [0.5, 0.4, 0.3]
users = [rl.CascadeModel(attraction), rl.DependentClickModel(attraction, attraction)]
users.append(rl.PositionBasedModel(attraction, attraction))
problems = [ListSimulation(rl.FixedRanking([0, 1, 2]), each, initial=[0, 1, 2]) for each in users]
pairs = {kind(problem): problem for problem in problems}
told = []
warm_up(pairs, int(sys.argv[1]), told.append, lambda: False)
kept = lambda: (len(list(cache_directory().glob("warm-*"))), len(list(cache_directory().rglob("*run_lists*.nbc"))))
before = kept()
for problem in problems:
    problem.warm_up()
print(len(pairs), told[0], told[-1], *before, *kept())
"""


def warm(folder: Path, workers: int) -> list[int]:
    """Number of pairs; pairs told of first and last; markers and compiled loops before and after they are used here."""
    environment = processes.environment(RANKLOOP_CACHE_DIR=str(folder))
    ran = processes.run([sys.executable, "-c", SCRIPT, str(workers)], env=environment)
    return [int(word) for word in ran.stdout.split()]


def test_helpers_compile_into_the_cache_what_this_process_then_loads(tmp_path: Path) -> None:
    assert warm(tmp_path, 2) == [3, 0, 3, 3, 3, 3, 3]
    assert warm(tmp_path, 2) == [3, 3, 3, 3, 3, 3, 3]


def _write(path: Path, name: str) -> None:
    with _alone(path / "lock"):
        (path / f"{name} begins").touch()
        time.sleep(0.3)
        (path / f"{name} ends").touch()


@pytest.mark.skipif(sys.platform == "win32", reason="has no such locks")
def test_processes_write_to_the_cache_in_turn(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_write, args=(tmp_path, name)) for name in "ab"]
    try:
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join(30)
            assert writer.exitcode == 0
    finally:
        for writer in writers:
            if writer.is_alive():
                writer.kill()
    when = {file.name: file.stat().st_mtime_ns for file in tmp_path.glob("? *")}
    assert when["a ends"] <= when["b begins"] or when["b ends"] <= when["a begins"]
