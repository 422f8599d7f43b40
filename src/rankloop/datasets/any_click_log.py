"""Click logs of any known format."""

from __future__ import annotations

from pathlib import Path

from rankloop.datasets.click_logs import ClickLog
from rankloop.datasets.columnar import read_csv, read_parquet
from rankloop.datasets.streams import blocks_of_lines
from rankloop.datasets.ubi import read_ubi
from rankloop.datasets.yandex import read_yandex


def read_click_log(path: str | Path, *, events: str | Path | None = None, n_positions: int = 10) -> ClickLog:
    """Read a click log; its format is recognised from the beginning of the file.

    Parameters
    ----------
    path
        A log in Yandex' format, a CSV or Parquet table, or UBI queries as JSON lines. All but Parquet may be packed
        with gzip.
    events
        The UBI events that belong to UBI queries.
    n_positions
        Number of results of a list to read.
    """
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a directory, not a click log")
    begin = next(blocks_of_lines(path, 1 << 12), b"")
    if begin.startswith(b"PAR1"):
        return read_parquet(path, n_positions=n_positions)
    line = next((line for line in begin.split(b"\n") if line.strip()), b"").lstrip(b"\xef\xbb\xbf")
    if line.startswith(b"{"):
        if events is None:
            raise ValueError(f"{path} holds JSON lines: give the file of UBI events that goes with these queries too")
        return read_ubi(path, events, n_positions=n_positions)
    if events is not None:
        raise ValueError(f"{path} does not hold UBI queries as JSON lines, so events cannot go with it")
    header = {name.strip().strip(b'"').lower() for name in line.split(b",")}
    if (b"\t" not in line and b"," in line) or b"query" in header:
        return read_csv(path, n_positions=n_positions)
    return read_yandex(path, n_positions=n_positions)
