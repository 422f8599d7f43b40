"""Reading and writing LETOR text files."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from rankloop.arrays import Ints
from rankloop.datasets.letor_parser import (
    AT,
    BLANK,
    CLIPPED,
    COMPLAINTS,
    DONE,
    LINES,
    MOST_FEATURES,
    N_COUNTERS,
    NANS,
    NEEDED,
    ROWS,
    TOO_NARROW,
    WIDEST,
    parse_lines,
)
from rankloop.storage import replacing

BLOCK = 1 << 24
PADDING = b"\n" * 16
FIRST_WIDTH = 64


class LetorLines(NamedTuple):
    """The lines of a file as arrays, in the file's order."""

    features: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int8]
    qids: Ints
    lines: Ints
    notes: dict[str, int]


def read_letor_text(path: Path) -> LetorLines:
    """Read a file, plain or gzip."""
    try:
        return _read_text(path)
    except MemoryError:
        raise ValueError(f"{path} does not fit in memory: split it, or leave out features") from None


def _read_text(path: Path) -> LetorLines:
    counters = np.zeros(N_COUNTERS, np.int64)
    width = FIRST_WIDTH
    blocks: list[tuple[npt.NDArray[Any], ...]] = []
    for text in _blocks(path):
        data = np.frombuffer(text + PADDING, np.uint8)
        n_rows = text.count(b"\n")
        labels, qids, lines = np.zeros(n_rows, np.int8), np.zeros(n_rows, np.int64), np.zeros(n_rows, np.int64)
        features = np.zeros((n_rows, width), np.float32)
        seen = np.zeros(width, np.int64)
        counters[[AT, ROWS]] = 0
        while True:
            status = parse_lines(data, len(text), features, seen, labels, qids, lines, counters)
            if status != TOO_NARROW:
                break
            old = features
            width = max(int(counters[NEEDED]), min(2 * width, MOST_FEATURES))
            features = np.zeros((n_rows, width), np.float32)
            features[:, : old.shape[1]] = old
            seen = np.concatenate([seen, np.zeros(width - len(seen), np.int64)])
        if status != DONE:
            begin = int(counters[AT])
            line = text[begin : text.index(b"\n", begin)].decode(errors="replace").strip()
            shown = line if len(line) <= 60 else line[:57] + "..."
            raise ValueError(f"{path}, line {counters[LINES] + 1} {COMPLAINTS[status]}: {shown!r}")
        n = int(counters[ROWS])
        blocks.append((features[:n], labels[:n], qids[:n], lines[:n]))
    if not sum(len(block[1]) for block in blocks):
        raise ValueError(f"{path} holds no documents: it is empty, or has only blank lines and comments")
    notes = {
        "blank lines and comments skipped": int(counters[BLANK]),
        "NaN values read as 0": int(counters[NANS]),
        "values beyond single precision cut": int(counters[CLIPPED]),
    }
    return _joined(blocks, max(1, int(counters[WIDEST])), {why: n for why, n in notes.items() if n})


def _joined(blocks: list[tuple[npt.NDArray[Any], ...]], width: int, notes: dict[str, int]) -> LetorLines:
    """One table of all blocks; each is dropped once copied, so memory never holds the features twice."""
    labels, qids, lines = (np.concatenate([block[part] for block in blocks]) for part in (1, 2, 3))
    features = np.empty((len(labels), width), np.float32)
    end = len(labels)
    while blocks:
        part = blocks.pop()[0]
        narrow = min(width, part.shape[1])
        features[end - len(part) : end, :narrow] = part[:, :narrow]
        features[end - len(part) : end, narrow:] = 0
        end -= len(part)
    return LetorLines(features, labels, qids, lines, notes)


def _blocks(path: Path) -> Iterator[bytes]:
    """The file in pieces of whole lines."""
    rest = b""
    try:
        with open_text(path) as file:
            while piece := file.read(BLOCK):
                cut = piece.rfind(b"\n") + 1
                if not cut:
                    rest += piece
                    continue
                yield rest + piece[:cut]
                rest = piece[cut:]
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path} cannot be read ({getattr(error, 'strerror', None) or error})") from None
    if rest:
        yield rest + b"\n"


def open_text(path: Path) -> IO[bytes]:
    """Open a file for reading, through gzip if it is compressed, whatever its name."""
    with open(path, "rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
    return cast(IO[bytes], gzip.open(path)) if compressed else open(path, "rb")


def write_letor_text(path: Path, features: npt.NDArray[np.float32], labels: npt.NDArray[np.int8], qids: Ints) -> None:
    """Write documents as LETOR text, through gzip where the name ends in .gz."""
    with replacing(path) as raw:
        file = gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) if path.suffix == ".gz" else raw
        for values, label, qid in zip(features, labels, qids, strict=True):
            fields = " ".join(f"{number}:{value:.9g}" for number, value in enumerate(values.tolist(), 1))
            file.write(f"{label} qid:{qid} {fields}\n".encode())
        if file is not raw:
            file.close()
