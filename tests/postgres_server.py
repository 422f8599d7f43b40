"""A PostgreSQL server for tests, in a temporary directory, run by an ordinary user."""

from __future__ import annotations

import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

SECONDS_TO_START = 60

HASTY = ("fsync=off", "full_page_writes=off", "wal_level=minimal", "max_wal_senders=0", "autovacuum=off")
"""Settings of a server that need not outlive its machine, with tables that are soon gone."""

END_CONNECTIONS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


def programs() -> Path | None:
    """The folder with the server's programs, if there is one."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    folders = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    return max(folders, key=lambda folder: float(folder.parent.name), default=None)


def end_with_parent() -> None:
    """Let the server end when the tests are killed, where Linux can do that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGQUIT)


class Server:
    """A server that listens on a socket in its own folder and trusts whoever can reach it."""

    def __init__(self, programs: Path, folder: Path, user: str | None, settings: Sequence[str] = HASTY) -> None:
        self.programs, self.folder, self._user, self._settings = programs, folder, user, settings
        self._process: subprocess.Popen[bytes] | None = None
        self._databases: set[str] = set()

    def _command(self, name: str, *arguments: str) -> dict[str, Any]:
        identity = {} if self._user is None else {"user": self._user, "group": self._user_group, "extra_groups": []}
        return {"args": [str(self.programs / name), *arguments], "cwd": self.folder, **identity}

    @property
    def _user_group(self) -> int:
        assert self._user is not None
        return pwd.getpwnam(self._user).pw_gid

    def make(self) -> None:
        """Make the cluster."""
        command = self._command(
            "initdb", "-D", "data", "-A", "trust", "-U", "tester", "-E", "UTF8", "--locale=C", "--no-sync"
        )
        subprocess.run(**command, check=True, capture_output=True)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = ("listen_addresses=", "shared_buffers=32MB", *self._settings)
        options = [word for setting in settings for word in ("-c", setting)]
        command = self._command("postgres", "-D", "data", "-k", str(self.folder), *options)
        with open(self.folder / "log", "ab") as log:
            self._process = subprocess.Popen(
                **command, stdout=log, stderr=log, start_new_session=True, preexec_fn=end_with_parent
            )
        for _ in range(SECONDS_TO_START * 20):
            try:
                self.sql("SELECT 1")
                return
            except psycopg.OperationalError:
                assert self._process.poll() is None, (self.folder / "log").read_text()
                time.sleep(0.05)
        raise AssertionError("the server does not answer: " + (self.folder / "log").read_text())

    def settle(self) -> None:
        """Let it finish what earlier tests have left to do, so that it starts again at once after it was stopped."""
        self.sql("CHECKPOINT")

    def stop(self) -> None:
        """Stop it at once, as a crash does; what was committed is there when it starts again."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def limit_files(self, size: int | None) -> None:
        """Let no file grow beyond a size, which the server takes for a full disk; None for no limit."""
        assert self._process is not None
        first = self._process.pid
        children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        identity = {name: value for name, value in self._command("").items() if name not in ("args", "cwd")}
        for pid in (first, *children):  # what it starts from now on has the same limit
            limit = "unlimited" if size is None else size
            subprocess.run(["prlimit", f"--pid={pid}", f"--fsize={limit}:"], capture_output=True, **identity)

    def url(self, database: str = "postgres") -> str:
        """The address of a database."""
        return f"postgresql://tester@/{database}?host={self.folder}"

    @property
    def socket(self) -> Path:
        """The socket that the server listens on."""
        return self.folder / ".s.PGSQL.5432"

    def empty_database(self, name: str = "test", options: str = "") -> str:
        """The address of a database without tables; making a new one takes more time and room than emptying one."""
        url = self.url(name)
        if name not in self._databases:
            self.sql(f"CREATE DATABASE {name} {options}")
            self._databases.add(name)
        else:
            self.sql(f"{END_CONNECTIONS}; DROP SCHEMA IF EXISTS rankloop CASCADE", url=url)
        return url

    def sql(self, statement: str, *values: Any, url: str | None = None) -> list[tuple[Any, ...]]:
        """What a statement gives, if anything."""
        with psycopg.connect(url or self.url(), autocommit=True) as connection:
            cursor = connection.execute(statement.encode(), values or None)
            return cursor.fetchall() if cursor.description else []

    def end_connections(self, url: str) -> int:
        """End all connections to a database; how many there were."""
        return len(self.sql(END_CONNECTIONS, url=url))


def end_lease(url: str) -> None:
    """Let the lease of a store end now, as if its time had passed."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE rankloop.partitions SET expires = now() - interval '1 s'")


@contextmanager
def running(settings: Sequence[str] = HASTY) -> Iterator[Server]:
    """A server that runs while the block does; the test is skipped where PostgreSQL is not installed.

    Its settings are PostgreSQL's own but for those that are given.
    """
    found = programs()
    if found is None:
        message = "PostgreSQL's server is not installed (Debian: apt-get install postgresql)"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    user = None
    if os.geteuid() == 0:  # the server refuses to run as root
        user = next(name for name in ("postgres", "nobody") if any(name == each.pw_name for each in pwd.getpwall()))
    folder = Path(tempfile.mkdtemp(prefix="rankloop-pg-", dir="/tmp"))  # a socket's path has at most 107 bytes
    if user is not None:
        shutil.chown(folder, user)
    server = Server(found, folder, user, settings)
    try:
        server.make()
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
