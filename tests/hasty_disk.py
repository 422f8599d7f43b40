"""SQLite stores that do not wait for the disk, as the tests' PostgreSQL does not either.

Nobody cuts the power while tests run, and what a process has written outlives its end. Import the fixture `hasty_disk`
into a `conftest.py`; a test that is about durability asks for `patient_disk`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from rankloop.live.sqlite import SQLiteStore
from rankloop.live.stores import Header

_connect = SQLiteStore._connect


def _connect_hastily(store: SQLiteStore) -> Header:
    header = _connect(store)
    if not store._read_only:
        store._query("PRAGMA synchronous = OFF")
    return header


@contextmanager
def hasty() -> Iterator[None]:
    """Stores that are opened in this process meanwhile do not wait."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SQLiteStore, "_connect", _connect_hastily)
        yield


@pytest.fixture(scope="module", autouse=True)
def hasty_disk() -> Iterator[None]:
    with hasty():
        yield


@pytest.fixture
def patient_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores wait for the disk after all, as they do for users."""
    monkeypatch.setattr(SQLiteStore, "_connect", _connect)
