"""Stores for the tests of the live loop: every test that asks for `new_store` runs on each kind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from live_world import Clock, MakeStore

from rankloop.live.sqlite import SQLiteStore

settings.register_profile("thorough", max_examples=2_000, stateful_step_count=100, deadline=None)

STORES = ("sqlite",)


@pytest.fixture(params=STORES)
def new_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeStore]:
    """Makes store objects, all for one place, which is empty at first."""
    assert request.param == "sqlite"
    yield lambda: SQLiteStore(tmp_path / "shop.db")


@pytest.fixture
def clock() -> Clock:
    """A clock to turn."""
    return Clock()
