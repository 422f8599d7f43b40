"""`rankloop serve --demo`: a service, the search site and simulated users, until somebody ends them."""

from __future__ import annotations

import itertools
import os
import random
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from rankloop.client import Client, ServiceAway
from rankloop.demo.compiling import compile_policies
from rankloop.demo.home import Home
from rankloop.demo.searching import Evaluating, Reranking, Searching
from rankloop.demo.serving import service
from rankloop.demo.traffic import Event, World
from rankloop.demo.trending import Trending
from rankloop.examples.docs_search.corpus import open_corpus
from rankloop.examples.docs_search.website import Website

FOLDER = Path("rankloop-demo")
"""Where the store, the service's log and the index of the search site are kept."""

PACE = 15.0
"""Simulated visitors of each problem per second: enough to see it learn, and little for one core."""

SEARCHES = 100_000
"""Searches that the confidence bounds of the evaluation are made for: some two hours."""

PERIODS = (600, 400, 400)
"""Visitors of each section until readers change their minds: the first change comes after 80 seconds."""

PATIENCE = 2.0
"""Seconds that a visitor waits for a list before production's is shown."""

SECONDS_BETWEEN_REPORTS = 1.0
SECONDS_TO_RECOVER = 2.0
"""How long visitors stay away from a service that does not answer."""


class OnShow(NamedTuple):
    """What runs, and where."""

    service: str
    key: str
    site: str
    pace: float
    """Simulated visitors per second."""
    ended: Callable[[], int | None]
    """Gives the service's exit code once it has ended."""


@contextmanager
def on_show(arguments: Sequence[str], *, host: str, site_port: int, seed: int = 0) -> Iterator[OnShow]:
    """Everything runs meanwhile.

    Parameters
    ----------
    arguments
        What `rankloop serve` is told.
    host, site_port
        Where the search site listens; port 0 takes any that is free.
    seed
        Seed of the visitors' random numbers.
    """
    FOLDER.mkdir(exist_ok=True)
    compile_policies()
    corpus = open_corpus(FOLDER)
    with ExitStack() as stack:
        stack.callback(corpus.close)
        serving = stack.enter_context(
            service(arguments, FOLDER / "service.log", key=os.environ.get("RANKLOOP_ADMIN_KEY"))
        )
        client = stack.enter_context(Client(serving.address, serving.key, timeout=PATIENCE))
        searching = Searching(corpus, client)
        worlds: list[World] = [
            Evaluating(searching, SEARCHES),
            Reranking(searching),
            Trending(client, PERIODS, rival=False, seed=seed),
            Home(client, rival=False, seed=seed),
        ]
        for world in worlds:
            world.create()
        site = Website(searching.site, host, site_port, note=f'<a href="{serving.address}/">What rankloop learns</a>')
        address = stack.enter_context(site.running())
        stack.enter_context(visited(worlds, PACE, seed))
        yield OnShow(serving.address, serving.key, address, PACE * len(worlds), serving.process.poll)


@contextmanager
def visited(worlds: Sequence[World], pace: float, seed: int) -> Iterator[None]:
    """Visitors come meanwhile, so many per second to each of several worlds."""
    over = threading.Event()
    threads = [threading.Thread(target=_come, args=(world, pace, seed, over), daemon=True) for world in worlds]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def _come(world: World, pace: float, seed: int, over: threading.Event) -> None:
    """Visitors of one world, one after the other; they stay away for a while when nobody answers."""
    dice, waiting = random.Random(f"{seed} {world.title}"), list[Event]()
    for number in itertools.count():
        if over.wait(1 / pace):
            break
        try:
            waiting += world.visit(dice, number)[1]
            if number % max(1, round(pace * SECONDS_BETWEEN_REPORTS)) == 0 and waiting:
                world.client.events(waiting)
                waiting = []
        except ServiceAway:
            waiting = []
            over.wait(SECONDS_TO_RECOVER)
    if waiting:
        with suppress(ServiceAway):
            world.client.events(waiting)


def until_ended(shown: OnShow) -> int:
    """Wait for Ctrl-C or SIGTERM; 0, or the service's exit code if it ended by itself."""
    over = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: over.set())
    while not over.wait(0.2):
        code = shown.ended()
        if code is not None:
            return code or 1
    return 0
