"""Files as streams of whole lines, unpacked on the way."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file to read its bytes, through gzip where it is packed."""
    try:
        file = open(path, "rb")  # noqa: SIM115 (the caller closes it)
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
    except FileNotFoundError:
        raise ValueError(f"no file {path}") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read ({error.strerror})") from None
    return cast(IO[bytes], gzip.GzipFile(fileobj=file)) if packed else file


def blocks_of_lines(path: Path, size: int = 1 << 20) -> Iterator[bytes]:
    """The file in blocks of whole lines, the last of which always ends with a newline."""
    with open_bytes(path) as file:
        rest = b""
        while True:
            try:
                block = file.read(size)
            except (EOFError, OSError, zlib.error) as error:
                raise ValueError(f"{path} is damaged: it cannot be unpacked to its end ({error})") from None
            if not block:
                break
            end = block.rfind(b"\n") + 1
            if end == 0:
                rest += block
                continue
            yield rest + block[:end]
            rest = block[end:]
        if rest:
            yield rest + b"\n"
