"""Where an SQLite store may stand, and the lock beside it by which one program at a time writes."""

from __future__ import annotations

import os
import weakref
from pathlib import Path
from typing import IO, Any

from rankloop.live.stores import StoreError

try:
    import fcntl
except ImportError:  # Windows, where nothing but care keeps two programs from opening one file
    fcntl = None  # type: ignore[assignment]

NETWORK_DISKS = ("nfs", "nfs4", "cifs", "smbfs", "smb3", "fuse.sshfs", "afs", "ceph", "glusterfs", "lustre")


def check_place(path: Path, name: str) -> None:
    """Refuse a file that cannot be made or written, or on a disk where SQLite cannot keep its promises."""
    folder = path.parent if str(path.parent) else Path(".")
    if not folder.is_dir():
        raise StoreError(f"{name} cannot be made: there is no folder {folder}")
    if path.is_dir():
        raise StoreError(f"{name} is a folder: name a file in it")
    target = path if path.exists() else folder
    if not os.access(target, os.W_OK) or _read_only_file(target):
        raise StoreError(f"{name} cannot be written: {target} is read-only")
    disk = _file_system(folder)
    if disk in NETWORK_DISKS:
        raise StoreError(
            f"{name} is on a network disk ({disk}), where SQLite cannot keep its promises: "
            "put it on a local disk, or use postgresql://"
        )


def claim(name: str) -> IO[bytes]:
    """Hold the lock beside a file until what is returned is closed, or refuse where another program holds it."""
    try:
        file = open(f"{name}-lock", "a+b")  # noqa: SIM115  # held until the store is closed
    except OSError as error:
        raise StoreError(f"{name} cannot be written: {name}-lock: {error.strerror}") from None
    if fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            holder = file.read(20).decode(errors="replace") or "another process"
            file.close()
            raise StoreError(
                f"{name} is held by process {holder}: one program at a time writes to an SQLite store. "
                "Close it there, or let several programs share a postgresql:// store or `rankloop serve`"
            ) from None
    file.truncate(0)
    file.write(str(os.getpid()).encode())
    file.flush()
    if hasattr(os, "register_at_fork"):
        mine: weakref.ref[IO[bytes]] = weakref.ref(file)
        os.register_at_fork(after_in_child=lambda: _let_go(mine))
    return file


def _let_go(reference: weakref.ref[Any]) -> None:
    """Keep a forked child from holding the lock when its parent has closed the store."""
    file = reference()
    if file is not None:
        file.close()


def _read_only_file(path: Path) -> bool:
    """Whether nobody may write to it; the superuser passes every other test."""
    return path.is_file() and not path.stat().st_mode & 0o222


def _file_system(folder: Path) -> str:
    """The kind of file system that a folder is on, where Linux tells."""
    try:
        mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return ""
    place = str(folder.resolve())
    best, found = "", ""
    for mount in mounts:
        point = mount[1].rstrip("/")
        if (place == point or place.startswith(point + "/")) and len(point) >= len(best):
            best, found = point, mount[2]
    return found
