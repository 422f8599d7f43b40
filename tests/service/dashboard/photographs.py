"""Photographs of the dashboard for the documentation: `make photographs` takes them with Debian's Chromium."""

from __future__ import annotations

import argparse
import sys
import tempfile
from io import BytesIO
from itertools import chain
from pathlib import Path
from urllib.parse import quote

import dashboard_world
from browser import program
from dashboard_pages import address
from dashboard_world import EMOJI, REVERTED
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright
from service_client import ADMIN, Running, served

STEPS = 9_000
"""Users of most loops: three days of them."""
LARGEST = 400_000
"""Bytes that a photograph may have."""
QUERIES = (
    "running shoes",
    REVERTED,
    "desk lamp",
    EMOJI,
    "water bottle",
    "wireless mouse",
)
"""What people search besides laptops."""
SCREEN = 815
"""Height of a window before the page's own is known."""
FIRST_SCREEN = "first-screen"
"""The overview as far as a window shows it, for the README."""
KEYS = (("search", "laptop"), ("front page", "morning"), ("home", "reader 1"))
"""Keys that are photographed, with their loops."""
PICTURES = {
    FIRST_SCREEN: ("#/", 1280, "light"),
    "overview": ("#/", 1280, "light"),
    "overview-dark": ("#/", 1280, "dark"),
    "overview-wide": ("#/", 2560, "light"),
    "rerank": (address("search"), 1280, "light"),
    "key": (address(*KEYS[0]), 1280, "light"),
    "evaluate": (address("rankers"), 1280, "light"),
    "evaluate-dark": (address("rankers"), 1280, "dark"),
    "follow": (address(*KEYS[1]), 1280, "light"),
    "diversify": (address(*KEYS[2]), 1280, "light"),
    "impression": ("", 1280, "light"),
}
"""Address, width and theme of each whole page."""
PHONE = ((360, 780), ("#/", address(*KEYS[0]), address(*KEYS[1])))
"""The screen of a phone, and what three of them show beside each other."""


def opened(browser: Browser, server: str, place: str, width: int, height: int, theme: str, scale: int = 1) -> Page:
    """A page once all is drawn."""
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=theme,  # type: ignore[arg-type]
        device_scale_factor=scale,
        timezone_id="UTC",
    )
    page = context.new_page()
    page.goto(f"{server}/#key={ADMIN}&to={place.removeprefix('#')}")
    page.wait_for_selector("main h1")
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(500)
    return page


def wait_until_counted(running: Running) -> None:
    """Return once the whole journal has been counted, and the keys replayed that are photographed."""
    counted = {"/v1/overview": "counted"}
    replayed = {f"/v1/loops/{quote(loop)}/keys/{quote(key)}/history": "progress" for loop, key in KEYS}
    for path, word in (counted | replayed).items():
        for _ in range(1_000):
            if running.admin.get(path).json()[word]["complete"]:
                break
        else:
            sys.exit(f"{path} does not come to an end")


def keep(image: Image.Image, path: Path) -> None:
    """Keep a picture with 256 colours: half of them are its most frequent ones, the others are far from each other."""
    full = image.convert("RGB")
    most = sorted(full.getcolors(full.width * full.height) or [], reverse=True)[:128]
    others = full.quantize(128, Image.Quantize.MAXCOVERAGE).getpalette() or []
    palette = Image.new("P", (1, 1))
    palette.putpalette([*chain.from_iterable(colour for _, colour in most), *others])  # type: ignore[arg-type]
    full.quantize(palette=palette, dither=Image.Dither.NONE).save(path, optimize=True)
    size = path.stat().st_size
    print(f"{path} {image.width} x {image.height}, {size / 1000:.0f} kB", flush=True)
    if size > LARGEST:
        sys.exit(f"{path} is too large")


def photograph(browser: Browser, server: str, name: str, folder: Path) -> None:
    """Take a whole page, or what a window shows of it."""
    place, width, theme = PICTURES[name]
    page = opened(browser, server, place, width, SCREEN, theme)
    if name != FIRST_SCREEN:
        height = page.evaluate("document.documentElement.scrollHeight")
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(300)
    keep(Image.open(BytesIO(page.screenshot())), folder / f"dashboard-{name}.png")
    page.context.close()


def photograph_phones(browser: Browser, server: str, folder: Path) -> None:
    """Take three screens of a phone, and put them beside each other."""
    (width, height), places = PHONE
    screens = []
    for place in places:
        page = opened(browser, server, place, width, height, "light", scale=2)
        screens.append(Image.open(BytesIO(page.screenshot())))
        page.context.close()
    gap = 40
    whole = Image.new("RGB", ((2 * width + gap) * len(places) - gap, 2 * height), "#c9d0d8")
    for number, screen in enumerate(screens):
        whole.paste(screen, (number * (2 * width + gap), 0))
    keep(whole, folder / "dashboard-phone.png")


def main() -> None:
    """Fill a store, serve it, and photograph its pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where to put them")
    parser.add_argument("--only", nargs="*", default=[*PICTURES, "phone"], choices=[*PICTURES, "phone"])
    asked = parser.parse_args()
    found = program()
    if found is None:
        sys.exit("there is no Chromium here: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        store = Path(folder) / "shop.db"
        clock = dashboard_world.fill(store, steps=STEPS, queries=QUERIES)
        with served(store, clock=clock) as running:
            given = {"key": "laptop", "items": dashboard_world.LISTS["laptop"], "user": "user 4"}
            shown = running.admin.post("/v1/loops/search/rank", json=given).json()
            running.admin.post("/v1/events", json={"impression": shown["id"], "item": shown["items"][0], "seen": 5})
            running.admin.post("/v1/events", json={"impression": shown["id"], "type": "finish"})
            PICTURES["impression"] = (f"#/impressions/{shown['id']}", *PICTURES["impression"][1:])
            wait_until_counted(running)
            browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
            for name in asked.only:
                if name == "phone":
                    photograph_phones(browser, running.address, asked.folder)
                else:
                    photograph(browser, running.address, name, asked.folder)
            browser.close()


if __name__ == "__main__":
    main()
