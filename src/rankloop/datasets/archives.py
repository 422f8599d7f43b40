"""Folders and archives as downloaded, seen alike: a set of named files."""

from __future__ import annotations

import gzip
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, NamedTuple, cast

DAMAGES = (EOFError, OSError, zlib.error, zipfile.BadZipFile, tarfile.TarError)
"""What a damaged file raises where it is unpacked, or any file that cannot be read."""


class Member(NamedTuple):
    """A file in a folder or archive: what to call it in messages, its own name, and how to open it."""

    name: str
    base: str
    open_packed: Callable[[], IO[bytes]]

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open it to read its bytes, through gzip where it is packed."""
        try:
            with self.open_packed() as file:
                packed = file.read(2) == b"\x1f\x8b"
            file = self.open_packed()
        except DAMAGES as error:
            raise ValueError(f"{self.name} cannot be read ({error})") from None
        with file:
            if not packed:
                yield file
            else:
                with gzip.open(file) as unpacked:
                    yield cast(IO[bytes], unpacked)


class Files:
    """The files of one or several folders and archives (.zip, .tar, .tgz); a single file counts as itself.

    Archives stay open, since finding one's way in a .tgz again takes long; `with` closes them.
    """

    def __init__(self, paths: str | Path | Sequence[str | Path]) -> None:
        given = [paths] if isinstance(paths, str | Path) else paths
        if not isinstance(given, Sequence) or not all(isinstance(path, str | Path) for path in given):
            raise ValueError(f"the path of a file or folder is wanted, or a list of them, not {paths!r}")
        self.described = ", ".join(str(path) for path in given) or "an empty list of files"
        self._archives = ExitStack()
        with self._archives as opened:
            self.members = [member for path in given for member in _members(Path(path), opened)]
            self._archives = opened.pop_all()

    def __enter__(self) -> Files:
        return self

    def __exit__(self, *_: object) -> None:
        self._archives.close()

    def matching(self, pattern: str) -> list[Member]:
        """All files whose name, without the folder and `.gz`, matches, in the order in which they are stored."""
        return [member for member in self.members if re.fullmatch(pattern, member.base)]

    def find(self, base: str) -> Member | None:
        """The file of that name; refused where there are several in different folders."""
        found = self.matching(re.escape(base))
        if len(found) > 1:
            raise ValueError(f"there are {len(found)} files {base}: {', '.join(member.name for member in found)}")
        return found[0] if found else None

    def need(self, base: str, beside: str) -> Member:
        """The file of that name, which must be there since another one is."""
        found = self.find(base)
        if found is None:
            raise ValueError(f"{self.described} has {beside} but no {base}: both are needed")
        return found


def called(path: str | Path) -> str:
    """What to call the data of a folder, or of a file, whose ending says nothing."""
    path = Path(path).absolute()
    return path.name if path.is_dir() else path.stem


def _members(path: Path, opened: ExitStack) -> list[Member]:
    if path.is_dir():
        # The folder itself and those in it, as an archive unpacks to; deeper ones hold something else.
        within = sorted(file for pattern in ("*", "*/*") for file in path.glob(pattern) if file.is_file())
        return [_member(file) for file in within]
    if not path.exists():
        raise ValueError(f"there is no file or folder {path}")
    try:
        if zipfile.is_zipfile(path):
            return _zipped(path, opened.enter_context(zipfile.ZipFile(path)))
        if tarfile.is_tarfile(path):
            return _tarred(path, opened.enter_context(tarfile.open(path)))
    except DAMAGES as error:
        raise ValueError(f"{path} is damaged: it cannot be unpacked ({error})") from None
    if path.name.endswith((".zip", ".tgz", ".tar.gz", ".tar")):
        raise ValueError(f"{path} is damaged: it is not an archive of the kind that its name says")
    return [_member(path)]


def _zipped(path: Path, archive: zipfile.ZipFile) -> list[Member]:
    def opener(name: str) -> Callable[[], IO[bytes]]:
        return lambda: archive.open(name)

    names = [name for name in archive.namelist() if not name.endswith("/") and "__MACOSX" not in name]
    return [Member(f"{path}/{name}", _base(name), opener(name)) for name in names]


def _tarred(path: Path, archive: tarfile.TarFile) -> list[Member]:
    def opener(info: tarfile.TarInfo) -> Callable[[], IO[bytes]]:
        return lambda: cast(IO[bytes], archive.extractfile(info))

    members = [Member(f"{path}/{info.name}", _base(info.name), opener(info)) for info in archive if info.isfile()]
    while cast(IO[bytes], archive.fileobj).read(1 << 20):  # gzip tells at its end whether all was right
        pass
    return members


def _member(file: Path) -> Member:
    return Member(str(file), _base(file.name), lambda: open(file, "rb"))


def _base(name: str) -> str:
    return name.rpartition("/")[2].removesuffix(".gz")
