"""Photographs of the dashboard for the documentation: `make photographs` takes them with Debian's Chromium."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import dashboard_world
from browser import program
from dashboard_pages import address
from PIL import Image
from playwright.sync_api import Browser, sync_playwright
from service_client import ADMIN, served

STEPS = 9_000
"""Users of each loop: three days of them."""
COLOURS = 128
"""Colours of a photograph, which is enough for text and charts."""
PICTURES = {
    "overview": ("#/", 1280, "light"),
    "overview-dark": ("#/", 1280, "dark"),
    "overview-phone": ("#/", 360, "light"),
    "rerank": (address("search"), 1280, "light"),
    "key": (address("search", "laptop"), 1280, "light"),
    "evaluate": (address("rankers"), 1280, "light"),
    "evaluate-dark": (address("rankers"), 1280, "dark"),
    "follow": (address("front page", "morning"), 1280, "light"),
    "diversify": (address("home", "reader 1"), 1280, "light"),
    "impression": ("", 1280, "light"),
}
"""Address, width and theme of each; the height is that of the page, up to a limit."""
TALLEST = {360: 1500, 1280: 1500}


def photograph(browser: Browser, server: str, name: str, folder: Path) -> None:
    """Take one, with few colours, so that it is small."""
    place, width, theme = PICTURES[name]
    narrow = width < 500
    context = browser.new_context(
        viewport={"width": width, "height": 760},
        color_scheme=theme,  # type: ignore[arg-type]
        device_scale_factor=2 if narrow else 1,
        timezone_id="UTC",
    )
    page = context.new_page()
    page.goto(f"{server}/#key={ADMIN}&to={place.removeprefix('#')}")
    page.wait_for_selector("main h1")
    page.wait_for_load_state("networkidle")
    height = min(page.evaluate("document.documentElement.scrollHeight"), TALLEST[width])
    page.set_viewport_size({"width": width, "height": height})
    page.wait_for_timeout(300)
    path = folder / f"dashboard-{name}.png"
    page.screenshot(path=path)
    context.close()
    with Image.open(path) as taken:
        taken.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path} {path.stat().st_size / 1000:.0f} kB", flush=True)


def main() -> None:
    """Fill a store, serve it, and photograph its pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where to put them")
    parser.add_argument("--only", nargs="*", default=list(PICTURES), choices=list(PICTURES))
    asked = parser.parse_args()
    found = program()
    if found is None:
        sys.exit("there is no Chromium here: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        store = Path(folder) / "shop.db"
        clock = dashboard_world.fill(store, steps=STEPS)
        with served(store, clock=clock) as running:
            given = {"key": "laptop", "items": dashboard_world.LISTS["laptop"], "user": "user 4"}
            shown = running.admin.post("/v1/loops/search/rank", json=given).json()
            running.admin.post("/v1/events", json={"impression": shown["id"], "item": shown["items"][0], "seen": 5})
            running.admin.post("/v1/events", json={"impression": shown["id"], "type": "finish"})
            PICTURES["impression"] = (f"#/impressions/{shown['id']}", *PICTURES["impression"][1:])
            browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
            for name in asked.only:
                photograph(browser, running.address, name, asked.folder)
            browser.close()


if __name__ == "__main__":
    main()
