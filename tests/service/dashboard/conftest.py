"""One service on a store with known content, and pages that are open on it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dashboard_world
import pytest
from browser import SECONDS
from dashboard_pages import Open
from hasty_disk import hasty
from live_world import Clock
from playwright.sync_api import Page, expect
from service_client import ADMIN, Running, served

from rankloop.live.views import view_cache as looking
from rankloop.service.limits import Limits

expect.set_options(timeout=1000 * SECONDS)

STEPS = 2_000
"""Users of each loop: enough for BubbleRank to exchange two items and for rankers to lose."""


@pytest.fixture(autouse=True)
def always_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """No answer is given twice."""
    monkeypatch.setattr(looking, "FRESH", 0.0)


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Clock]:
    """The store with known content, for everybody to copy."""
    path = tmp_path_factory.mktemp("dashboard") / "shop.db"
    with hasty():
        return path, dashboard_world.fill(path, steps=STEPS)


@pytest.fixture(scope="module")
def shop(filled: tuple[Path, Clock], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service on a copy of it, at the time at which it ends."""
    path = tmp_path_factory.mktemp("shop") / "shop.db"
    shutil.copy(filled[0], path)
    with served(path, limits=Limits(guesses=0.0, browser_rate=0.0), clock=filled[1]) as running:
        yield running


@pytest.fixture
def visit(page: Page, shop: Running) -> Open:
    """Opens a page of the dashboard with a key, and waits until it shows something."""

    def visit(address: str = "#/", *, key: str = ADMIN, running: Running = shop, wait: str = "main h1") -> Page:
        page.add_init_script(
            f"sessionStorage.getItem('rankloop key') ?? sessionStorage.setItem('rankloop key', {json.dumps(key)})"
        )
        page.goto(f"{running.address}/{address}")
        page.wait_for_selector(wait)
        return page

    return visit


@pytest.fixture
def violations(page: Page) -> Iterator[list[str]]:
    """What a page asked of others, and what its own rules forbade: nothing, in the end."""
    found: list[str] = []

    def hear(message: Any) -> None:
        if message.type == "error" and "Content Security Policy" in message.text:
            found.append(message.text)

    page.on("console", hear)
    yield found
    assert not found
