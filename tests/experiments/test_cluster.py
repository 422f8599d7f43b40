"""Experiments on a real Dask cluster: a scheduler and two worker processes on this machine, one of which is killed."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import processes
import pytest

import rankloop as rl
from rankloop.experiments import Amount, Experiment, Panel, Player, Source, run_experiment
from rankloop.experiments.cluster import connect
from rankloop.runs import Status

RUNS = 16


def panels(_data: Any, amount: Amount) -> list[Panel]:
    source = Source("made up", real=False)
    users = rl.CascadeModel([0.1, 0.3, 0.2, 0.6, 0.4])
    duels = [Player("RUCB", rl.RUCB(20)), Player("MergeRUCB", rl.MergeRUCB(20))]
    lists = [Player("BubbleRank", rl.BubbleRank(range(5), horizon=amount.horizon, n_positions=3))]
    return [Panel("cycle2", rl.PreferenceMatrix.cycle2(), source, duels), Panel("users", users, source, lists)]


EXPERIMENT = Experiment(
    "cluster", 2, "2.5", "On a cluster", "A small one.", panels, {"smoke": Amount(horizon=100_000, runs=RUNS)}
)


def contents(folder: Path) -> dict[str, str]:
    return {file.name: hashlib.blake2b(file.read_bytes()).hexdigest() for file in sorted(folder.glob("*.npz"))}


@contextmanager
def local_cluster(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and two workers without nannies, so that a worker who is killed stays dead."""
    told = folder / "scheduler.json"
    common = ["--scheduler-file", str(told), "--no-dashboard"]
    worker = ["worker", *common, "--no-nanny", "--nthreads", "1", "--host", "127.0.0.1", "--death-timeout", "50"]
    worker += ["--local-directory", str(folder)]
    commands = [["scheduler", *common, "--host", "127.0.0.1", "--port", "0"], worker, worker]
    started: list[subprocess.Popen[bytes]] = []
    try:
        for number, command in enumerate(commands):
            with (folder / f"log-{number}").open("wb") as log:
                dask = [sys.executable, "-m", "dask", *command]
                started.append(subprocess.Popen(dask, stdout=log, stderr=log, env=processes.environment()))
        deadline = time.monotonic() + 40
        while not (told.exists() and told.stat().st_size):
            assert time.monotonic() < deadline, (folder / "log-0").read_text()
            time.sleep(0.1)
        yield json.loads(told.read_text())["address"], started[1:]
    finally:
        for process in started:
            process.kill()
            process.wait()


class Killer:
    """Kills a worker process as soon as some units are done."""

    def __init__(self, victim: subprocess.Popen[bytes]) -> None:
        self.victim = victim
        self.done_then: int | None = None

    def show(self, status: Status) -> None:
        if self.done_then is None and status.doing == "running" and status.done >= 6:
            os.kill(self.victim.pid, signal.SIGKILL)
            self.done_then = status.done

    def note(self, text: str) -> None:
        raise AssertionError(text)


def test_a_killed_worker_loses_nothing(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    local = run_experiment(EXPERIMENT, "smoke", None, tmp_path / "local")
    with local_cluster(tmp_path) as (address, workers), connect(address, n_workers=2) as cluster:
        assert cluster.n_workers == 2
        killer = Killer(workers[0])
        outcome = run_experiment(EXPERIMENT, "smoke", None, tmp_path / "cluster", executor=cluster, progress=killer)
        assert killer.done_then is not None
        assert killer.done_then < 3 * RUNS
        assert workers[0].wait(10) == -signal.SIGKILL
        assert cluster.n_workers == 1
    assert not outcome.failures
    assert {key: len(result.finished) for key, result in outcome.results.items()} == dict.fromkeys(local.results, RUNS)
    assert contents(tmp_path / "cluster") == contents(tmp_path / "local")
    assert len(contents(tmp_path / "local")) == 3


def test_where_there_is_no_cluster_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    with pytest.raises(ValueError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        connect("tcp://127.0.0.1:9", timeout=0.5)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ValueError, match=r"pip install 'rankloop\[dask\]'"):
        connect("tcp://127.0.0.1:9")
