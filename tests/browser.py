"""Debian's Chromium for tests, driven by Playwright; a test that wants a page asks for `page` or `browser`.

Import both fixtures into a `conftest.py`. Where there is no Chromium they skip, but not in CI.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

SECONDS = 30.0
"""How long a page may take to show something, on a machine with much else to do."""


def program() -> str | None:
    """The browser, if there is one."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


_open: list[Browser] = []


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A browser that all tests of a process share, whichever `conftest.py` they have this from."""
    if _open:  # Playwright runs once in a process
        yield _open[0]
        return
    found = program()
    if found is None:
        told = "there is no Chromium here: apt-get install chromium"
        if os.environ.get("CI"):
            pytest.fail(told)
        pytest.skip(told)
    with sync_playwright() as playwright:
        # Its own sandbox needs rights that root in a container does not have; it sees pages of the tests alone.
        launched = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        _open.append(launched)
        try:
            yield launched
        finally:
            _open.clear()
            launched.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A new page, whose errors fail the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(1000 * SECONDS)
    opened = context.new_page()
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    yield opened
    context.close()
    assert not errors, errors
