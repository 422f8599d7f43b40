"""Run the search site, or let simulated users search and see which ranker their clicks choose.

python -m rankloop.examples.docs_search                               # the site, on a store of its own
python -m rankloop.examples.docs_search --url http://127.0.0.1:8000   # on a service, with the key RANKLOOP_KEY
python -m rankloop.examples.docs_search --visits 10000                # simulated users, then a table of all rankers
"""

from __future__ import annotations

import argparse
import random
from contextlib import AbstractContextManager, suppress
from typing import Any

import rankloop as rl
from rankloop.examples.docs_search.corpus import open_corpus
from rankloop.examples.docs_search.measure import HEADINGS, measure, rows_of
from rankloop.examples.docs_search.rankers import RANKERS
from rankloop.examples.docs_search.search import OFTEN, SEARCHES, DocsSearch
from rankloop.examples.docs_search.users import make_queries, visit
from rankloop.examples.docs_search.website import Website


def opened(url: str | None, store: str) -> AbstractContextManager[Any]:
    """rankloop in this program, or a service."""
    return rl.Live(store) if url is None else rl.Client(url)


def simulate_users(search: DocsSearch, visits: int, seed: int = 0) -> None:
    """Let simulated users search, and print how good every ranker is, and which of them their clicks chose."""
    asked, held_out = make_queries(search.corpus, seed)
    dice = random.Random(seed)
    for _ in range(visits):
        page, clicked = visit(search, dice.choice(asked), dice)
        for item in clicked:
            search.click(page.impression, item)
        if page.impression:
            search.leave(page.impression)
    status = search.loop.status("rankers")
    measured = measure(search.corpus, search.rankers, held_out, search.default)
    left = f"{len(status['survivors'])} of {len(search.rankers)}"
    print(f"after {visits:,} searches {left} rankers are left in the race, and clicks favour: {status['best']}")
    print(f"MRR of each ranker on {len(held_out)} queries that nobody asked:")
    for line in (HEADINGS, *rows_of(measured, status["best"], search.default)):
        print("{:10}{:40}{:8}{:20}{:22}{}".format(*line).rstrip())


def options() -> argparse.ArgumentParser:
    """The options of the program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="a rankloop service; without it, a store of its own")
    parser.add_argument("--store", default="docs-search.db", help="that store (%(default)s)")
    parser.add_argument("--folder", default=".", help="where the index is kept (%(default)s)")
    parser.add_argument("--port", type=int, default=8080, help="port of the site (%(default)s)")
    parser.add_argument("--often", type=int, default=OFTEN, help="times after which a query is frequent (%(default)s)")
    parser.add_argument("--visits", type=int, default=0, help="number of simulated searches, instead of the site")
    return parser


def main() -> None:
    """Read the options and run."""
    given = options().parse_args()
    if given.visits < 0 or given.often < 1:
        options().error("--visits must be at least 0, and --often at least 1")
    with opened(given.url, given.store) as loop:
        # A few hundred queries are all that simulated users know: soon all would be frequent, and none would compare.
        often = None if given.visits else given.often
        search = DocsSearch(open_corpus(given.folder), loop, often=often)
        search.create(policy="MergeDTS", batch_size=len(RANKERS), c=SEARCHES)
        if given.visits:
            simulate_users(search, given.visits)
            return
        with Website(search, port=given.port) as site:
            print(f"search Python's standard library at {site.address} (Ctrl-C ends it)", flush=True)
            with suppress(KeyboardInterrupt):
                site.serve_forever()


if __name__ == "__main__":
    main()
