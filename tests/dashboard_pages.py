"""How tests open pages of the dashboard, and read them."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

from playwright.sync_api import Locator, Page

Open = Callable[..., Page]
"""Opens a page: its address, and perhaps another key or service than usual."""


def address(loop: str, key: str | None = None) -> str:
    """The fragment of a loop's page, or of a key's."""
    return f"#/loops/{quote(loop, safe='')}" + ("" if key is None else f"/keys/{quote(key, safe='')}")


def fact(page: Page, label: str) -> str:
    """A number at the top of a page."""
    return page.locator(".facts > div", has=page.locator("dt", has_text=label)).locator("dd").first.inner_text()


def section(page: Page, title: str) -> Locator:
    """A part of a page by its heading."""
    return page.locator("section", has=page.get_by_role("heading", name=title, exact=True))


def facts(page: Page) -> dict[str, tuple[str, str]]:
    """All numbers at the top of a page, each with what stands below it."""
    found = {}
    for each in page.locator(".facts > div").all():
        value, *note = [part.inner_text() for part in each.locator("dd").all()]
        found[each.locator("dt").inner_text()] = (value, " ".join(note))
    return found


def tables(page: Page) -> dict[str, list[list[str]]]:
    """The cells of all tables of a page by their captions, also of those that are folded away; charts have no text."""
    read: dict[str, list[list[str]]] = page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll("main table")].map((table) => [
          table.caption.textContent,
          [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => {
            const copy = cell.cloneNode(true);
            copy.querySelectorAll("svg").forEach((chart) => chart.remove());
            return copy.textContent.trim();
          })),
        ]))"""
    )
    return read
