"""`rankloop serve --demo`: a service, the search site and simulated users, until somebody ends them."""

from __future__ import annotations

import itertools
import logging
import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from rankloop.client import Client, ServiceAway, ServiceError
from rankloop.demo.compiling import compile_policies
from rankloop.demo.home import Home
from rankloop.demo.searching import Evaluating, Reranking, Searching
from rankloop.demo.service_process import service
from rankloop.demo.traffic import Event, World
from rankloop.demo.trending import Trending
from rankloop.examples.docs_search.corpus import open_corpus
from rankloop.examples.docs_search.search import SEARCHES
from rankloop.examples.docs_search.website import Website

FOLDER = Path("rankloop-demo")
"""Where the store, the service's log and the index of the search site are kept."""

PACE = 15.0
"""Simulated visitors of each problem per second: enough to see it learn, and little for one core."""

PERIODS = (600, 400, 400)
"""Visitors of each section until readers change their minds: the first change comes after 80 seconds."""

PATIENCE = 2.0
"""Seconds that a visitor waits for a list before production's is shown."""

SECONDS_BETWEEN_REPORTS = 1.0
SECONDS_TO_RECOVER = 2.0
"""How long visitors stay away after something went wrong."""

logger = logging.getLogger(__name__)


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
    """Run everything while the block runs.

    Parameters
    ----------
    arguments
        Arguments of `rankloop serve`.
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
            Reranking(searching, SEARCHES),
            Trending(client, PERIODS, rival=False, seed=seed),
            Home(client, rival=False, seed=seed),
        ]
        for world in worlds:
            world.create()
        try:
            site = Website(
                searching.site, host, site_port, note=f'<a href="{serving.address}/">What rankloop learns</a>'
            )
        except OSError as error:
            why = f"the search site cannot listen on port {site_port}, the one after the service's"
            raise ValueError(f"{why} ({error.strerror or error}): choose another with --port") from error
        address = stack.enter_context(site.running())
        stack.enter_context(visited(worlds, PACE, seed))
        yield OnShow(serving.address, serving.key, address, PACE * len(worlds), serving.process.poll)


@contextmanager
def visited(worlds: Sequence[World], pace: float, seed: int) -> Iterator[None]:
    """Let visitors come to each of several worlds while the block runs, at a pace in visitors per second."""
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
        except Exception as error:  # whatever it is: other visitors come
            if not isinstance(error, ServiceAway):
                logger.warning("%s: a simulated visitor had to leave: %s: %s", world.title, type(error).__name__, error)
            waiting = []
            over.wait(SECONDS_TO_RECOVER)
    if waiting:
        with suppress(ServiceError):  # nobody is there any more, at the end of everything
            world.client.events(waiting)


def wait_for_end(shown: OnShow) -> int:
    """Wait until the service ends by itself, or until the wait is interrupted; its exit code, or 1 if that is 0."""
    while (code := shown.ended()) is None:
        time.sleep(0.2)
    return code or 1
