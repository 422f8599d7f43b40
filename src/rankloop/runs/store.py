"""Stores of finished units: in memory, or in a folder from which the same work can be resumed."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankloop.runs.job import Run
from rankloop.storage import read_archive, replacing, write_archive

SAVE_EVERY = 5.0
"""Least seconds between two writes."""

SHARE_OF_WRITING = 0.01
"""Largest share of the time that is spent on writing."""

KIND = "runs"


class Store:
    """Keeps finished units in memory, by the key of their job.

    >>> store = Store()
    >>> store.add("key", 3, Run({"regret": np.array([1.0])}))
    >>> list(store.runs("key"))
    [3]
    """

    def __init__(self) -> None:
        self._runs: dict[str, dict[int, Run]] = {}
        self.notes: list[str] = []
        """What a user should know about this store, such as a damaged file whose runs are computed again."""

    def runs(self, key: str) -> dict[int, Run]:
        """The finished units of a job, by number."""
        return self._runs.setdefault(key, {})

    def add(self, key: str, unit: int, run: Run) -> None:
        """Keep a finished unit."""
        self.runs(key)[unit] = run

    def flush(self, *, now: bool = True) -> None:
        """Write what is new to disk, if there is one; with `now=False` only if the last time was long ago."""


class Folder(Store):
    """Keeps finished units in a folder too, with one file for each job.

    `<fingerprint>.npz` holds the finished units of a job, in order: their numbers, what was recorded, the arm that each
    believed best, and whether it failed. Nothing in it depends on when, where or in what order the units were done: its
    bytes are the same. The time each unit took does depend on that, and is in `<fingerprint>.seconds.json`.
    """

    def __init__(self, folder: str | Path) -> None:
        super().__init__()
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(f"cannot keep results in {folder}: {error}") from None
        if old := len(list(self.folder.glob("*.parquet"))):
            self.notes.append(
                f"{folder} has {old:,} files of an earlier version of rankloop (*.parquet), which are left alone: "
                "their runs are computed again"
            )
        self._changed: set[str] = set()
        self._pause_until = time.monotonic() + SAVE_EVERY

    def path(self, key: str) -> Path:
        """The file of a job."""
        return self.folder / f"{fingerprint(key)}.npz"

    def runs(self, key: str) -> dict[int, Run]:
        """The finished units of a job, by number."""
        if key not in self._runs:
            self._runs[key] = self._read(key)
        return self._runs[key]

    def add(self, key: str, unit: int, run: Run) -> None:
        """Keep a finished unit; it is on disk within seconds, or after `flush`."""
        super().add(key, unit, run)
        self._changed.add(key)

    def flush(self, *, now: bool = True) -> None:
        """Write what is new to disk; with `now=False` only if the last time was long ago."""
        if not self._changed or (not now and time.monotonic() < self._pause_until):
            return
        begin = time.monotonic()
        for key in sorted(self._changed):
            self._write(key)
        end = time.monotonic()
        self._pause_until = end + max(SAVE_EVERY, (end - begin) / SHARE_OF_WRITING)

    def remove(self, key: str) -> None:
        """Forget a job, and remove the folder if it is empty then."""
        self._runs.pop(key, None)
        self._changed.discard(key)
        for path in (self.path(key), _seconds_path(self.path(key))):
            path.unlink(missing_ok=True)
        if not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _write(self, key: str) -> None:
        runs = dict(sorted(self._runs[key].items()))
        path = self.path(key)
        # The times first: a run whose time is unknown is worse than a time without a run.
        with replacing(_seconds_path(path)) as file:
            seconds = {str(unit): run.seconds for unit, run in runs.items() if not math.isnan(run.seconds)}
            file.write(json.dumps(seconds).encode())
        write_archive(path, KIND, {"key": key, "content": _content(runs)}, _arrays(runs))
        self._changed.discard(key)

    def _read(self, key: str) -> dict[int, Run]:
        path = self.path(key)
        if not path.exists():
            return {}
        try:
            header, arrays = read_archive(path, KIND)
            if header["key"] != key:
                raise ValueError("it holds other runs than its name says")
            runs = _runs(arrays, _seconds(path))
            if header["content"] != _content(runs):
                raise ValueError("its checksum is wrong")
            return runs
        except Exception as error:  # a different one for each way in which a file can be broken
            text = str(error).partition("\n")[0]
            self.notes.append(f"{path} is damaged ({text}): its runs are computed again")
            return {}


def fingerprint(key: str) -> str:
    """A short name for a key."""
    return hashlib.blake2b(key.encode(), digest_size=16).hexdigest()


def _seconds_path(path: Path) -> Path:
    return path.with_suffix(".seconds.json")


def _arrays(runs: Mapping[int, Run]) -> dict[str, npt.NDArray[Any]]:
    arrays: dict[str, npt.NDArray[Any]] = {
        "units": np.array(list(runs), np.int64),
        "best": np.array([run.best for run in runs.values()], np.int64),
        "failed": np.array([run.failed for run in runs.values()], np.bool_),
    }
    for name in sorted({name for run in runs.values() for name in run.records}):
        having = {unit: run.records[name] for unit, run in runs.items() if name in run.records}
        arrays[f"record.{name}"] = np.array(list(having.values()), np.float64)
        if len(having) < len(runs):
            arrays[f"units.{name}"] = np.array(list(having), np.int64)
    return arrays


def _runs(arrays: Mapping[str, npt.NDArray[Any]], seconds: Mapping[int, float]) -> dict[int, Run]:
    units = arrays["units"].tolist()
    records: dict[int, dict[str, Any]] = {unit: {} for unit in units}
    for array, values in arrays.items():
        if array.startswith("record."):
            name = array.removeprefix("record.")
            for unit, row in zip(arrays.get(f"units.{name}", arrays["units"]).tolist(), values, strict=True):
                records[unit][name] = row
    ends = zip(units, arrays["best"].tolist(), arrays["failed"].tolist(), strict=True)
    return {unit: Run(records[unit], best, failed, seconds.get(unit, math.nan)) for unit, best, failed in ends}


def _seconds(path: Path) -> dict[int, float]:
    try:
        return {int(unit): float(each) for unit, each in json.loads(_seconds_path(path).read_text()).items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}  # only the times are lost


def _content(runs: Mapping[int, Run]) -> str:
    """A hash of runs, without the time they took."""
    hashed = hashlib.blake2b(digest_size=16)
    for unit, run in runs.items():
        hashed.update(f"{unit} {run.best} {run.failed}".encode())
        for name in sorted(run.records):
            values = np.ascontiguousarray(run.records[name], np.float64)
            hashed.update(f" {name} {len(values)} ".encode() + values.tobytes())
    return hashed.hexdigest()
