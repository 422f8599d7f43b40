"""Stores of finished units: the same conduct in memory and on disk, and no harm from damaged files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rankloop.runs import Folder, Run, Store

RUNS = {unit: Run({"regret": np.array([0.5, 1.0, unit])}, unit, unit == 3, 0.1) for unit in range(60)}


@pytest.fixture(params=["memory", "folder"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Store]:
    return Store if request.param == "memory" else lambda: Folder(tmp_path)


def test_every_store_keeps_units_by_key(make: Callable[[], Store]) -> None:
    store = make()
    assert store.runs("a") == {}
    for unit in (3, 1):
        store.add("a", unit, RUNS[unit])
    store.add("b", 2, RUNS[2])
    store.flush(now=False)
    store.flush()
    assert store.runs("a") == {3: RUNS[3], 1: RUNS[1]}
    assert store.runs("b") == {2: RUNS[2]}
    assert store.notes == []


def test_a_folder_gives_back_what_was_added_in_any_order_with_the_same_bytes(tmp_path: Path) -> None:
    files = []
    for name, order in (("one", sorted(RUNS)), ("other", sorted(RUNS, reverse=True))):
        store = Folder(tmp_path / name)
        for unit in order:
            store.add("key", unit, RUNS[unit])
            if unit % 7 == 0:
                store.flush()
        store.flush()
        assert str(Folder(tmp_path / name).runs("key")) == str(RUNS)
        files.append(store.path("key").read_bytes())
    assert files[0] == files[1]


def test_runs_may_differ_in_what_they_record(tmp_path: Path) -> None:
    store = Folder(tmp_path)
    store.add("key", 0, Run({"regret": np.array([1.0])}))
    store.add("key", 1, Run({"regret": np.array([2.0]), "violations": np.array([3.0])}))
    store.flush()
    read = Folder(tmp_path).runs("key")
    assert {unit: sorted(run.records) for unit, run in read.items()} == {0: ["regret"], 1: ["regret", "violations"]}
    assert read[1].records["violations"].tolist() == [3.0]


def test_no_flipped_bit_changes_a_result(tmp_path: Path) -> None:
    store = Folder(tmp_path)
    for unit, run in RUNS.items():
        store.add("key", unit, run)
    store.flush()
    path = store.path("key")
    whole = path.read_bytes()
    reported = 0
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :])
        store = Folder(tmp_path)
        read = store.runs("key")
        reported += len(store.notes)
        assert store.notes or str(read) == str(RUNS), place
    assert reported > len(whole) / 14


def test_a_removed_job_leaves_nothing_behind(tmp_path: Path) -> None:
    store = Folder(tmp_path / "kept")
    for key in ("a", "b"):
        store.add(key, 0, RUNS[0])
    store.flush()
    store.remove("a")
    assert [file.name for file in store.folder.glob("*.npz")] == [store.path("b").name]
    assert store.runs("a") == {}
    store.remove("b")
    assert not store.folder.exists()
