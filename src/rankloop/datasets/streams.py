"""Files as streams of whole lines, unpacked on the way."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from rankloop.datasets.archives import DAMAGES


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file to read its bytes, through gzip where it is packed."""
    try:
        with open(path, "rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        return cast(IO[bytes], gzip.open(path)) if packed else open(path, "rb")
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror})") from None


def blocks_of_lines(path: Path, size: int = 1 << 20) -> Iterator[bytes]:
    """The file in blocks of whole lines, the last of which always ends with a newline."""
    with open_bytes(path) as file:
        for block in whole_lines(file, str(path), size):
            yield block if block.endswith(b"\n") else block + b"\n"


def whole_lines(file: IO[bytes], name: str, size: int = 1 << 20) -> Iterator[bytes]:
    """An open file in blocks of whole lines; only the last may lack its newline, where the file does."""
    rest = b""
    while True:
        try:
            block = file.read(size)
        except DAMAGES as error:
            raise ValueError(f"{name} is damaged: it cannot be unpacked to its end ({error})") from None
        if not block:
            break
        end = block.rfind(b"\n") + 1
        if end == 0:
            rest += block
            continue
        yield rest + block[:end]
        rest = block[end:]
    if rest:
        yield rest
