"""How soon the dashboard shows something, on a store with many keys.

A store is filled with one list for each of so many keys, and served; Chromium opens pages, each in a fresh context,
with nothing kept from before. First paint is what the browser reports of itself; "shown" is when the page's own
numbers stand on it. An answer of the same server without a page is the measure of what the browser alone takes.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from live_sizes import ITEMS, Filling, groups
from playwright.sync_api import Browser, sync_playwright

import rankloop as rl

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from browser import program
from service_client import ADMIN, served

PAGES = {"overview": "#/", "keys": "#/loops/search", "one key": "#/loops/search/keys/query%207"}
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN"


def fill(path: Path, n_keys: int) -> None:
    """A loop with so many keys."""
    with rl.Live(Filling(path), background=False) as live:
        live.create("search", kind="rerank", seed=1)
        for numbers in groups(n_keys):
            shown = [live.rank("search", f"query {number}", ITEMS) for number in numbers]
            live.events([{"impression": each.id, "item": each.items[0]} for each in shown])


def opened(browser: Browser, address: str, wait: str) -> tuple[float, float]:
    """Milliseconds until the first paint, and until something stands on the page."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector(wait, timeout=60_000)
    shown = page.evaluate("performance.now()")
    page.wait_for_function(f"{PAINTED} > 0")
    painted = page.evaluate(PAINTED)
    context.close()
    return painted, shown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=7)
    asked = parser.parse_args()
    found = program()
    if found is None:
        sys.exit("there is no Chromium here: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        store = Path(folder) / "shop.db"
        fill(store, asked.keys)
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        with served(store) as running:
            cases = {name: (f"/#key={ADMIN}&to={place[1:]}", "main .facts") for name, place in PAGES.items()}
            cases["nothing"] = ("/health/live", "pre, body")
            print(f"{asked.keys:,} keys, medians of {asked.times}: milliseconds to the first paint, and to its numbers")
            for name, (place, wait) in cases.items():
                times = [opened(browser, running.address + place, wait) for _ in range(asked.times)]
                painted, shown = (statistics.median(column) for column in zip(*times, strict=True))
                print(f"{name:10} {painted:6.0f} {shown:6.0f}", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
