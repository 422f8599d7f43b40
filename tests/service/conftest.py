"""A service on each kind of store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import alone, browser, page, shared_context
from hasty_disk import hasty_disk
from service_client import Running, served

from rankloop.service.limits import Limits

__all__ = ["alone", "browser", "hasty_disk", "page", "shared_context"]

LIMITS = Limits(guesses=0.0, browser_rate=0.0)
"""None that a test would run into by being quick."""


@pytest.fixture(scope="module", params=("sqlite", "postgres"))
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service that all tests of a module share, on each kind of store."""
    if request.param == "sqlite":
        store: str | Path = tmp_path_factory.mktemp("service") / "shop.db"
    else:
        store = request.getfixturevalue("postgres").empty_database()
    with served(store, limits=LIMITS) as service:
        yield service


@pytest.fixture
def on_sqlite(tmp_path: Path) -> Iterator[Running]:
    """A service of its own."""
    with served(tmp_path / "shop.db", limits=LIMITS) as service:
        yield service
