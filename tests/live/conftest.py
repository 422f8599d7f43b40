"""Stores for the tests of the live loop: every test that asks for `new_store` or `new_place` runs on each kind."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from hasty_disk import hasty_disk, patient_disk
from hypothesis import settings
from live_world import Clock, MakeStore
from postgres_server import Server

from rankloop.live.postgres import PostgresStore
from rankloop.live.sqlite import SQLiteStore

__all__ = ["hasty_disk", "patient_disk"]

settings.register_profile("thorough", max_examples=1_000, stateful_step_count=100, deadline=None)


@pytest.fixture
def database(postgres: Server) -> str:
    """The address of an empty database."""
    return postgres.empty_database()


@pytest.fixture(params=("sqlite", "postgres"))
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], MakeStore]:
    """Clears a place for a store, and gives what makes store objects there."""
    if request.param == "sqlite":
        numbers = itertools.count()

        def new_file() -> MakeStore:
            path = tmp_path / f"shop-{next(numbers)}.db"
            return lambda: SQLiteStore(path)

        return new_file
    database: str = request.getfixturevalue("database")

    def cleared() -> MakeStore:
        with psycopg.connect(database, autocommit=True) as connection:
            connection.execute("SET client_min_messages = warning")
            connection.execute("DROP SCHEMA IF EXISTS rankloop CASCADE")
        return lambda: PostgresStore(database)

    return cleared


@pytest.fixture
def new_store(new_place: Callable[[], MakeStore]) -> MakeStore:
    """Makes store objects, all for one place, which is empty at first."""
    return new_place()


@pytest.fixture
def clock() -> Clock:
    """A clock to turn."""
    return Clock()
