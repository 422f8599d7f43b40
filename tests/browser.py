"""Debian's Chromium for tests, driven by Playwright; a test that wants a page asks for `page` or `browser`.

Import all fixtures into a `conftest.py`. Where there is no Chromium they skip, but not in CI.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

SECONDS = 30.0
"""How long a page may take to show something, on a machine with much else to do."""


def program() -> str | None:
    """The browser, if there is one."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser that the tests of a module share: while it runs, tests elsewhere could not use asyncio."""
    found = program()
    if found is None:
        told = "there is no Chromium here: apt-get install chromium"
        if os.environ.get("CI"):
            pytest.fail(told)
        pytest.skip(told)
    with sync_playwright() as playwright:
        # Its own sandbox needs rights that root in a container does not have; it sees pages of the tests alone.
        launched = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        try:
            yield launched
        finally:
            launched.close()


def new_context(browser: Browser) -> BrowserContext:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(1000 * SECONDS)
    return context


@pytest.fixture(scope="module")
def shared_context(browser: Browser) -> Iterator[BrowserContext]:
    """What the pages of a module have in common: a page with a context of its own takes twice the time to open.

    It would take as long again after all pages of the context had been closed, so one stays open.
    """
    context = new_context(browser)
    context.new_page()
    yield context
    context.close()


@pytest.fixture
def alone() -> None:
    """Asked for by a test that does to its context what cannot be undone: its page then has one of its own."""


@pytest.fixture
def page(request: pytest.FixtureRequest, browser: Browser, shared_context: BrowserContext) -> Iterator[Page]:
    """A new page in a browser that remembers nothing; its errors fail the test."""
    on_its_own = "alone" in request.fixturenames
    context = new_context(browser) if on_its_own else shared_context
    opened = context.new_page()
    errors: list[str] = []
    origins: set[str] = set()
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("framenavigated", lambda frame: origins.add("/".join(frame.url.split("/")[:3])))
    yield opened
    if on_its_own:
        context.close()
    else:
        forget(opened, origins)
    assert not errors, errors


def forget(opened: Page, origins: set[str]) -> None:
    """Close a page with those that it has opened, and remove what they have left with the browser."""
    context = opened.context
    developer = context.new_cdp_session(opened)
    developer.send("Network.clearBrowserCache")
    for origin in origins:
        developer.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
    context.clear_cookies()
    for each in context.pages[1:]:
        each.close()
