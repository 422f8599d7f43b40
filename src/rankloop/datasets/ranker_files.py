"""Rankers from files: scores line by line, or runs in TREC's format."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from rankloop.datasets.letor import Letor
from rankloop.datasets.letor_text import open_text
from rankloop.datasets.rankers import Rankers

DOCID = re.compile(r"#.*?\bdocid\s*=\s*(\S+)")


def rankers_from_scores(data: Letor, paths: Iterable[str | Path]) -> Rankers:
    """One ranker for each file, which has one line with a score for each document, in the order of the LETOR file."""
    columns, names = [], []
    for path in map(Path, paths):
        scores = []
        for number, line in _lines(path):
            try:
                scores.append(float(line))
            except ValueError:
                raise ValueError(f"{path}, line {number}: {line!r} is not a score") from None
            if np.isnan(scores[-1]):
                raise ValueError(f"{path}, line {number}: a score must not be NaN")
        if len(scores) <= int(data.rows.max()) or len(scores) < data.n_documents:
            raise ValueError(f"{path} has {len(scores)} scores, but the data has {data.n_documents} documents")
        columns.append(np.array(scores, np.float32)[data.rows])
        names.append(path.stem)
    if not columns:
        raise ValueError("no files of scores")
    return Rankers(data, np.stack(columns, axis=1), names)


def rankers_from_runs(
    data: Letor, paths: Iterable[str | Path], docids: Sequence[str] | None = None
) -> tuple[Rankers, dict[str, int]]:
    """One ranker for each TREC run, whose lines are `qid Q0 document rank score tag`, and a count of what was skipped.

    Parameters
    ----------
    data
        The documents.
    paths
        The runs; compressed or not.
    docids
        The documents' names in the order of the LETOR file (see `read_docids`). Without them a document is named by
        its place in its query, counted from 0 in the file's order.

    Documents that a run does not return come after all others, in random order. Lines with queries or documents
    that the data does not have are skipped and counted.
    """
    place: dict[tuple[int, str], int] = {}
    for query, qid in enumerate(data.qids.tolist()):
        begin, end = int(data.offsets[query]), int(data.offsets[query + 1])
        for document in range(begin, end):
            known_as = str(document - begin) if docids is None else docids[int(data.rows[document])]
            place[qid, known_as] = document
    known = set(data.qids.tolist())
    skipped = {"lines of unknown queries": 0, "lines of unknown documents": 0}
    columns, names = [], []
    for path in map(Path, paths):
        scores = np.full(data.n_documents, -np.inf, np.float32)
        found = 0
        for number, line in _lines(path):
            fields = line.split()
            try:
                qid, named, score = int(fields[0]), fields[2], float(fields[4])
            except (ValueError, IndexError):
                raise ValueError(
                    f"{path}, line {number}: {line!r} is not of the form 'qid Q0 document rank score tag'"
                ) from None
            if np.isnan(score):
                raise ValueError(f"{path}, line {number}: a score must not be NaN")
            at = place.get((qid, named))
            if at is None:
                skipped["lines of unknown documents" if qid in known else "lines of unknown queries"] += 1
                continue
            scores[at] = score
            found += 1
        if not found:
            raise ValueError(f"{path} returns no document of {data.name}: are its queries and documents named alike?")
        columns.append(scores)
        names.append(path.stem)
    if not columns:
        raise ValueError("no runs")
    return Rankers(data, np.stack(columns, axis=1), names), {why: n for why, n in skipped.items() if n}


def read_docids(path: str | Path) -> list[str] | None:
    """The documents' names where the comments of a LETOR file give them (`# docid = GX001-23`), else None."""
    names = []
    for _, line in _lines(Path(path)):
        if line.startswith("#"):
            continue
        match = DOCID.search(line)
        if match is None:
            return None
        names.append(match[1])
    return names


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that hold something, with their numbers."""
    try:
        with open_text(path) as file:
            for number, line in enumerate(file, 1):
                if text := line.decode().strip():
                    yield number, text
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}") from None
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read ({error})") from None
