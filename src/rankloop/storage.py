"""One file format for everything that is saved: a zip of arrays with a JSON header, written whole or not at all."""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

FORMAT_VERSION = 1


def _check_path(path: Any) -> Path:
    """A path of a file: not a number, which would stand for a file that is open already."""
    try:
        text = os.fspath(path)
        return Path(text if isinstance(text, str) else os.fsdecode(text))
    except TypeError:
        raise ValueError(f"a path must be a text or a pathlib.Path, not {path!r}") from None


@contextmanager
def replacing(path: str | Path) -> Iterator[IO[bytes]]:
    """Write a file that appears under its name only once it is complete."""
    target = _check_path(path)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):  # an interrupt may come just after the file has got its name
            os.unlink(temporary)
        raise


def write_archive(
    path: str | Path, kind: str, header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> None:
    """Write a header that JSON can hold and named arrays to one file."""
    text = json.dumps({"rankloop": kind, "format": FORMAT_VERSION, **header}, default=_plain)
    with replacing(path) as file:
        named: dict[str, Any] = {"header": np.frombuffer(text.encode(), np.uint8), **arrays}
        np.savez_compressed(file, **named)


def read_archive(path: str | Path, kind: str | None = None) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Read a file of `write_archive`, refusing what is damaged, of another kind or of another format version."""
    path = _check_path(path)
    try:
        # NumPy leaves files open that it cannot read.
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(arrays.pop("header").tobytes())
        found, version = header["rankloop"], header["format"]
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}") from None
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
    ) as error:
        raise ValueError(f"{path} is damaged or was not written by rankloop ({error})") from None
    if version != FORMAT_VERSION:
        raise ValueError(
            f"{path} has format version {version!r}, this version of rankloop reads version {FORMAT_VERSION}: "
            "use the version of rankloop that wrote it, or save it again"
        )
    if kind is not None and found != kind:
        raise ValueError(f"{path} holds a {found}, not a {kind}")
    return header, arrays


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
