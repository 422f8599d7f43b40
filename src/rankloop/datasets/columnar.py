"""Click logs as tables with the columns query, items and clicks: CSV or Parquet."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

from rankloop.datasets.click_logs import ClickLog
from rankloop.datasets.log_builder import LogBuilder
from rankloop.datasets.streams import blocks_of_lines

COLUMNS = ("query", "items", "clicks")


def read_csv(path: str | Path, *, n_positions: int = 10) -> ClickLog:
    """Read a CSV file with a header and the columns query, items and clicks, packed with gzip or not.

    Items are separated by spaces, `|` or `;`, or are a JSON list; clicks are as many zeros and ones.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = path.write_text("query,items,clicks\\nred shoes,a b c,0 1 0\\nred shoes,a b c,0 1\\n")
    >>> log = read_csv(path)
    >>> log.clicks[0, :3].tolist(), log.report.skipped
    ([0, 1, 0], {'clicks that are not one 0 or 1 for each item': 1})
    """
    path = Path(path)
    builder = LogBuilder(str(path), n_positions)
    lines = (line for block in blocks_of_lines(path) for line in io.StringIO(block.decode(errors="replace")))
    rows = csv.reader(lines)
    header = [name.strip().lower().lstrip("\ufeff") for name in next(rows, [])]
    if not header:
        raise ValueError(f"{path} is empty")
    if not set(COLUMNS) <= set(header):
        raise ValueError(
            f"{path}, line 1: the columns must include query, items and clicks, not be {', '.join(header)}"
        )
    at = [header.index(name) for name in COLUMNS]
    try:
        for row in rows:
            if not row:
                continue
            if len(row) != len(header):
                builder.report.skip("a row with another number of fields than the header", rows.line_num)
                continue
            query, items, clicks = (row[i] for i in at)
            _add(builder, query, _cells(items), _cells(clicks), rows.line_num)
    except csv.Error as error:
        raise ValueError(f"{path}, line {rows.line_num}: {error}") from None
    builder.report.lines = rows.line_num
    return builder.finish()


def read_parquet(path: str | Path, *, n_positions: int = 10) -> ClickLog:
    """Read a Parquet file with the columns query, items (lists) and clicks (lists of 0 and 1).

    Needs pyarrow: `pip install 'rankloop[parquet]'`.
    """
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise ValueError(f"{path}: reading Parquet needs pyarrow: pip install 'rankloop[parquet]'") from None
    path = Path(path)
    builder = LogBuilder(str(path), n_positions)
    try:
        with parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            if not set(COLUMNS) <= set(names):
                raise ValueError(f"{path}: the columns must include query, items and clicks, not be {', '.join(names)}")
            number = 0
            for batch in file.iter_batches(columns=list(COLUMNS), batch_size=1 << 14):
                columns = [batch.column(name).to_pylist() for name in COLUMNS]
                for query, items, clicks in zip(*columns, strict=True):
                    number += 1
                    _add(builder, "" if query is None else str(query), items, clicks, number)
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}") from None
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"{path} is not a Parquet file, or is damaged ({error})") from None
    builder.report.lines = number
    return builder.finish()


def _add(builder: LogBuilder, query: str, items: Any, clicks: Any, line: int) -> None:
    """Add a row if it makes sense, else count why not."""
    if not query:
        builder.report.skip("a row without a query", line)
    elif not isinstance(items, list) or not items or any(item is None or item == "" for item in items):
        builder.report.skip("a row without items", line)
    elif not isinstance(clicks, list) or len(clicks) != len(items) or any(str(c) not in _FLAGS for c in clicks):
        builder.report.skip("clicks that are not one 0 or 1 for each item", line)
    else:
        builder.add(query, [str(item) for item in items], [_FLAGS[str(click)] for click in clicks], line)


_FLAGS = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "False": 0, "True": 1, "false": 0, "true": 1}


def _cells(text: str) -> Any:
    text = text.strip()
    if text.startswith("["):
        try:
            return json.loads(text)
        except ValueError:
            return None
    for separator in "|;":
        if separator in text:
            return [part.strip() for part in text.split(separator)]
    return text.split()


def write_csv(log: ClickLog, path: str | Path) -> None:
    """Write a log as a table that `read_csv` reads back."""
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for query, items, clicks in zip(log.queries.tolist(), log.items.tolist(), log.clicks.tolist(), strict=True):
            names = [log.item_name(code) for code in items if code >= 0]
            plain = not any(set(name) & set(" |;[\t\r\n") for name in names)
            cell = " ".join(names) if plain else json.dumps(names)
            writer.writerow([log.query_names[query], cell, " ".join(map(str, clicks[: len(names)]))])
