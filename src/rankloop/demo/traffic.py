"""Simulated visitors who come in several threads, ask for lists, and report what they did in batches."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

THREADS = 6
EVENTS_AT_ONCE = 30
"""Events that one thread sends together: learning is that many events behind."""

Event = dict[str, Any]


class Visit(NamedTuple):
    """What one visitor got from one loop, as data."""

    problem: str
    number: int
    """How many visitors had come before."""
    loop: str
    key: str
    arm: str
    clicked: int
    position: int
    """Where what the visitor looked for stood, from 1; 0 if they looked for nothing, or it was not there."""
    topics: int
    """Topics that the list covers; 0 where items have none."""


class World(Protocol):
    """Simulated users of one or several loops."""

    title: str
    client: Any

    def create(self) -> None:
        """Create the loops."""

    def visit(self, dice: random.Random, number: int) -> tuple[list[Visit], list[Event]]:
        """One visitor: what they got to see, and what they did."""


def events_of(impression: str, clicked: list[str]) -> list[Event]:
    """Clicks, and that the visitor has left; nothing for a list that nobody recorded."""
    if not impression:
        return []
    events: list[Event] = [{"impression": impression, "item": item} for item in clicked]
    return [*events, {"impression": impression, "type": "finish"}]


def play(
    world: World,
    visitors: int,
    *,
    seed: int,
    threads: int = THREADS,
    tell: Callable[[int], None] = lambda _: None,
) -> list[Visit]:
    """What visitors got, in the order in which they came.

    Which visitor is answered first when several come at once is up to the machine: runs of the same seed are alike, but
    not the same.

    Parameters
    ----------
    world
        The visitors, and what they visit.
    visitors
        Number of visitors.
    seed
        Seed of the visitors' random numbers.
    threads
        Number of visitors who may come at once.
    tell
        Function that is called with the number of visitors who have gone.
    """
    numbers, found, failed = itertools.count(), list[Visit](), list[BaseException]()
    gone = [0] * threads

    def come(thread: int) -> None:
        dice, waiting = random.Random(f"{seed} {thread}"), list[Event]()
        try:
            while not failed and (number := next(numbers)) < visitors:
                visits, events = world.visit(dice, number)
                found.extend(visits)
                gone[thread] += 1
                waiting += events
                if len(waiting) >= EVENTS_AT_ONCE:
                    world.client.events(waiting)
                    waiting = []
            if waiting:
                world.client.events(waiting)
        except BaseException as error:
            failed.append(error)

    at_work = [threading.Thread(target=come, args=(k,), daemon=True) for k in range(threads)]
    for thread in at_work:
        thread.start()
    try:
        while any(thread.is_alive() for thread in at_work):
            time.sleep(0.1)
            tell(sum(gone))
    except BaseException as error:  # Ctrl-C: let the threads come to an end
        failed.append(error)
        raise
    finally:
        for thread in at_work:
            thread.join()
    if failed:
        raise failed[0]
    tell(visitors)
    return sorted(found, key=lambda visit: visit.number)
