from __future__ import annotations

from collections.abc import Iterator

import postgres_server
import pytest


@pytest.fixture(scope="session")
def postgres() -> Iterator[postgres_server.Server]:
    with postgres_server.running() as server:
        yield server


@pytest.fixture
def database(postgres: postgres_server.Server) -> str:
    """The address of an empty database."""
    return postgres.empty_database()
