"""LETOR datasets: documents of queries, with graded relevance and numbered features."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankloop.arrays import Ints
from rankloop.datasets.letor_text import LetorLines, read_letor_text, write_letor_text
from rankloop.storage import replacing

CACHE_VERSION = 1
"""Version of the cache, to be raised whenever the same text would be read into other arrays."""

CACHE_SUFFIX = ".rankloop.npz"


class Letor:
    """Documents of queries: graded relevance and features.

    Parameters
    ----------
    features
        Features of the documents, one row each, the documents of a query one after the other.
    labels
        The grade of each document, from 0.
    offsets
        Query q has the documents from `offsets[q]` to before `offsets[q + 1]`.
    qids
        The queries' numbers in the source.
    rows
        Where each document stood in the source, counted from 0 over documents.
    name
        Name of the data in tables.
    notes
        Counts of what was skipped or changed while reading.

    Examples
    --------
    >>> data = Letor.from_documents([[0.5, 2], [0.1, 3], [0.2, 1]], labels=[1, 0, 2], qids=[7, 7, 9])
    >>> data
    Letor(2 queries, 3 documents, 2 features, name='documents')
    >>> data.offsets.tolist(), data.qids.tolist()
    ([0, 2, 3], [7, 9])
    """

    def __init__(
        self,
        features: npt.NDArray[np.float32],
        labels: npt.NDArray[np.int8],
        offsets: Ints,
        qids: Ints,
        *,
        rows: Ints | None = None,
        name: str = "documents",
        notes: dict[str, int] | None = None,
    ) -> None:
        self.features = features
        self.labels = labels
        self.offsets = offsets
        self.qids = qids
        self.rows = np.arange(len(labels)) if rows is None else rows
        self.name = name
        self.notes = notes or {}

    @classmethod
    def from_documents(
        cls, features: npt.ArrayLike, labels: npt.ArrayLike, qids: npt.ArrayLike, *, name: str = "documents"
    ) -> Letor:
        """Documents in any order, which are grouped by query."""
        table = np.asarray(features, np.float32)
        grades = np.asarray(labels)
        queries = np.asarray(qids, np.int64)
        if table.ndim != 2 or not len(table) or grades.shape != (len(table),) or queries.shape != (len(table),):
            raise ValueError("there must be at least one document, and features, a label and a qid for each")
        if not np.isfinite(table).all():
            raise ValueError("features must be finite numbers")
        if not (np.equal(np.mod(grades, 1), 0) & (grades >= 0) & (grades < 32)).all():
            raise ValueError("labels must be whole numbers from 0 to 31")
        return _grouped(LetorLines(table, grades.astype(np.int8), queries, np.arange(1, len(table) + 1), {}), name)

    @property
    def n_queries(self) -> int:
        """How many queries."""
        return len(self.qids)

    @property
    def n_documents(self) -> int:
        """How many documents, over all queries."""
        return len(self.labels)

    @property
    def n_features(self) -> int:
        """How many features."""
        return int(self.features.shape[1])

    @property
    def sizes(self) -> Ints:
        """How many documents each query has."""
        return np.diff(self.offsets)

    @cached_property
    def counts(self) -> dict[str, int]:
        """What was skipped or changed while reading, and queries that cannot tell rankers apart well, by kind."""
        best = np.maximum.reduceat(self.labels, self.offsets[:-1])
        odd = {
            "queries of one document": int((self.sizes == 1).sum()),
            "queries without a relevant document": int((best == 0).sum()),
        }
        return {**self.notes, **{kind: n for kind, n in odd.items() if n}}

    def select(self, queries: Iterable[int]) -> Letor:
        """Some of the queries, by their place from 0."""
        chosen = np.asarray(list(queries), np.int64)
        if not len(chosen) or not ((chosen >= 0) & (chosen < self.n_queries)).all():
            raise ValueError(f"queries are numbered from 0 to {self.n_queries - 1}; at least one must be chosen")
        at = np.concatenate([np.arange(self.offsets[q], self.offsets[q + 1]) for q in chosen])
        offsets = np.concatenate([[0], np.cumsum(self.sizes[chosen])])
        return Letor(
            self.features[at], self.labels[at], offsets, self.qids[chosen], rows=self.rows[at], name=self.name, notes={}
        )

    def save(self, path: str | Path) -> None:
        """Write the documents as LETOR text, compressed where the path ends in .gz."""
        write_letor_text(Path(path), self.features, self.labels, np.repeat(self.qids, self.sizes))

    def __repr__(self) -> str:
        return (
            f"Letor({self.n_queries:,} queries, {self.n_documents:,} documents, {self.n_features} features, "
            f"name={self.name!r})"
        )


def read_letor(path: str | Path, *, cache: bool = True) -> Letor:
    """Read a LETOR file: lines of `grade qid:number feature:value ... # comment`, plain or gzip.

    Features that a line leaves out are 0, as the format has it. Documents of a query that are scattered over the file
    are brought together where its first one stands. NaN values are read as 0 and values beyond single precision are
    cut to it (ISTELLA writes "none" as the largest double); `Letor.counts` says how many. Queries with one document or
    no relevant one are kept. Anything else that is not in the format raises ValueError with the line.

    Parameters
    ----------
    path
        The file.
    cache
        Whether to keep the arrays beside the file, as `<file>.rankloop.npz`, and to read them from there as long as the
        file's size and time of change stay as they were. Where nothing can be written, there is no cache.

    Examples
    --------
    One query with two documents, of which the file does not give all features:

    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "small.txt"
    >>> _ = path.write_text("2 qid:1 1:0.5 3:1 # a comment\\n0 qid:1 2:nan\\n")
    >>> data = read_letor(path)
    >>> data.features.tolist(), data.counts
    ([[0.5, 0.0, 1.0], [0.0, 0.0, 0.0]], {'NaN values read as 0': 1})
    """
    path = Path(path)
    try:
        status = path.stat()
    except OSError:
        raise ValueError(f"there is no file {path}") from None
    if not path.is_file():
        raise ValueError(f"{path} is not a file: give one file of the dataset, such as Fold1/train.txt")
    name = path.name.split(".")[0]
    if not cache:
        return _grouped(read_letor_text(path), name)
    key = {"version": CACHE_VERSION, "size": status.st_size, "changed": status.st_mtime_ns}
    kept = path.with_name(path.name + CACHE_SUFFIX)
    data = _read_cache(kept, key, name)
    if data is None:
        data = _grouped(read_letor_text(path), name)
        _write_cache(kept, key, data)
    return data


def _grouped(table: LetorLines, name: str) -> Letor:
    """Bring the documents of each query together, queries in order of first appearance."""
    starts = np.flatnonzero(np.concatenate([[True], table.qids[1:] != table.qids[:-1]]))
    qids = table.qids[starts]
    offsets = np.concatenate([starts, [len(table.qids)]])
    if len(np.unique(qids)) == len(qids):
        return Letor(table.features, table.labels, offsets, qids, name=name, notes=table.notes)
    distinct, first, place = np.unique(table.qids, return_index=True, return_inverse=True)
    order = np.argsort(first[place], kind="stable")
    by_appearance = np.argsort(first)
    sizes = np.bincount(place)[by_appearance]
    scattered = len(qids) - len(distinct)
    return Letor(
        table.features[order],
        table.labels[order],
        np.concatenate([[0], np.cumsum(sizes)]),
        distinct[by_appearance],
        rows=order,
        name=name,
        notes={**table.notes, "pieces of scattered queries brought together": scattered},
    )


def _read_cache(path: Path, key: dict[str, int], name: str) -> Letor | None:
    """What the cache holds, if it was made from the very same file."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            header = json.loads(archive["header"].tobytes())
            if header["key"] != key:
                return None
            arrays: dict[str, Any] = {part: archive[part] for part in ("features", "labels", "offsets", "qids", "rows")}
    except Exception:  # a cache that is absent or damaged in whatever way is made anew
        return None
    return Letor(**arrays, name=name, notes=header["notes"])


def _write_cache(path: Path, key: dict[str, int], data: Letor) -> None:
    try:
        if not path.parent.stat().st_mode & 0o222:
            return  # a folder marked read-only stays as it is, for root too
        header = np.frombuffer(json.dumps({"key": key, "notes": data.notes}).encode(), np.uint8)
        with replacing(path) as file:
            np.savez(
                file,
                header=header,
                features=data.features,
                labels=data.labels,
                offsets=data.offsets,
                qids=data.qids,
                rows=data.rows,
            )
    except OSError:
        pass
