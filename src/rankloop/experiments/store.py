"""Results on disk: one Parquet file a curve, the same bytes however its runs came about."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rankloop.experiments.fingerprint import fingerprint
from rankloop.simulation.result import Run
from rankloop.storage import replacing

SAVE_EVERY = 5.0
"""Seconds between writes at least; more where writing takes long."""

SHARE_OF_WRITING = 0.01
"""How much of the time may go into writing."""

DEFINITION, CONTENT = b"rankloop", b"rankloop.content"
"""Keys in the metadata of a file: of what defines its runs, and of a hash of them."""


class Store:
    """A folder of runs, kept by what defines them.

    `<fingerprint>.parquet` holds a row for each finished unit of a curve, sorted: its number, what was recorded at each
    checkpoint, the arm it believed best, whether it failed to keep the winner. Nothing in it depends on when, where or
    in what order the units were played. How long each took does, and stands in `<fingerprint>.seconds.json`.

    Needs pyarrow: `pip install 'rankloop[parquet]'`.
    """

    def __init__(self, folder: str | Path) -> None:
        self._parquet, self._arrow = _pyarrow()
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(f"cannot keep results in {folder}: {error}") from None
        self._runs: dict[str, dict[int, Run]] = {}
        self._changed: set[str] = set()
        self._pause_until = time.monotonic() + SAVE_EVERY
        self.damaged: list[str] = []
        """What was found unreadable, in words; its runs are computed anew."""

    def path(self, definition: str) -> Path:
        """The file of a curve."""
        return self.folder / f"{fingerprint(definition)}.parquet"

    def runs(self, definition: str) -> dict[int, Run]:
        """The finished units of a curve, by number."""
        if definition not in self._runs:
            self._runs[definition] = self._read(definition)
        return self._runs[definition]

    def add(self, definition: str, unit: int, run: Run) -> None:
        """Keep a finished unit; it is on disk within seconds, or after `flush`."""
        self.runs(definition)[unit] = run
        self._changed.add(definition)

    def flush(self, *, now: bool = True) -> None:
        """Write what is new; with `now=False` only where the last time is long enough ago."""
        if not self._changed or (not now and time.monotonic() < self._pause_until):
            return
        begin = time.monotonic()
        for definition in sorted(self._changed):
            self._write(definition)
        end = time.monotonic()
        self._pause_until = end + max(SAVE_EVERY, (end - begin) / SHARE_OF_WRITING)

    def _write(self, definition: str) -> None:
        runs = self._runs[definition]
        path = self.path(definition)
        # The times first: a run whose time is unknown is worse than a time without a run.
        with replacing(path.with_suffix(".seconds.json")) as file:
            seconds = {str(unit): runs[unit].seconds for unit in sorted(runs) if not math.isnan(runs[unit].seconds)}
            file.write(json.dumps(seconds).encode())
        with replacing(path) as file:
            self._parquet.write_table(self._table(definition, runs), file, compression="zstd", use_dictionary=False)
        self._changed.discard(definition)

    def _table(self, definition: str, runs: Mapping[int, Run]) -> Any:
        arrow = self._arrow
        rows = [runs[unit] for unit in sorted(runs)]
        columns: dict[str, Any] = {"unit": arrow.array(sorted(runs), arrow.int64())}
        for name in sorted({name for run in rows for name in run.records}):
            recorded = [run.records.get(name) for run in rows]
            columns[f"record.{name}"] = arrow.array(recorded, arrow.list_(arrow.float64()))
        columns["best"] = arrow.array([run.best for run in rows], arrow.int64())
        columns["failed"] = arrow.array([run.failed for run in rows], arrow.bool_())
        told = {DEFINITION: definition.encode(), CONTENT: _content(runs)}
        return arrow.table(columns).replace_schema_metadata(told)

    def _read(self, definition: str) -> dict[int, Run]:
        path = self.path(definition)
        if not path.exists():
            return {}
        try:
            table = self._parquet.read_table(path)
            told = table.schema.metadata or {}
            if told.get(DEFINITION) != definition.encode():
                raise ValueError("it holds other runs than its name says")
            runs = self._runs_of(table, self._seconds(path))
            if told.get(CONTENT) != _content(runs):
                raise ValueError("its checksum is wrong")
            return runs
        except Exception as error:  # a different one for each way a file can be broken
            text = str(error).partition("\n")[0]
            self.damaged.append(f"{path} is damaged ({text}): its runs are computed again")
            return {}

    def _runs_of(self, table: Any, seconds: Mapping[int, float]) -> dict[int, Run]:
        columns = {name: table.column(name).to_pylist() for name in ("unit", "best", "failed")}
        records = {
            name.removeprefix("record."): [None if row is None else np.array(row, np.float64) for row in rows]
            for name in table.column_names
            if name.startswith("record.")
            for rows in [table.column(name).to_pylist()]
        }
        return {
            unit: Run(
                {name: row for name, rows in records.items() if (row := rows[i]) is not None},
                int(columns["best"][i]),
                bool(columns["failed"][i]),
                seconds.get(unit, math.nan),
            )
            for i, unit in enumerate(columns["unit"])
        }

    def _seconds(self, path: Path) -> dict[int, float]:
        try:
            return {
                int(unit): float(s) for unit, s in json.loads(path.with_suffix(".seconds.json").read_text()).items()
            }
        except (OSError, ValueError, TypeError, AttributeError):
            return {}  # only the times are lost


def _content(runs: Mapping[int, Run]) -> bytes:
    """A hash of runs, but for the time they took."""
    hashed = hashlib.blake2b(digest_size=16)
    for unit in sorted(runs):
        run = runs[unit]
        hashed.update(f"{unit} {run.best} {run.failed}".encode())
        for name in sorted(run.records):
            hashed.update(f" {name} {len(run.records[name])} ".encode() + run.records[name].tobytes())
    return hashed.hexdigest().encode()


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise ValueError("keeping the results of experiments needs pyarrow: pip install 'rankloop[parquet]'") from None
    return parquet, pyarrow
