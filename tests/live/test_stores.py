"""The checks that every store passes, on both stores."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankloop.live.conformance import StoreConformance
from rankloop.live.postgres import PostgresStore
from rankloop.live.sqlite import SQLiteStore
from rankloop.live.stores import Store


class TestSQLite(StoreConformance):
    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path) -> None:
        self.path = tmp_path / "a shop? 100%.db"

    def make_store(self, *, read_only: bool = False) -> Store:
        return SQLiteStore(self.path, read_only=read_only)


class TestPostgres(StoreConformance):
    @pytest.fixture(autouse=True)
    def place(self, database: str) -> None:
        self.url = database

    def make_store(self, *, read_only: bool = False) -> Store:
        return PostgresStore(self.url, read_only=read_only, lease=5.0)
