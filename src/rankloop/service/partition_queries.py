"""What is asked of every partition of a store, and put together by whoever was asked.

To add a question, write a function that gives plain data (texts, numbers, bytes, lists, objects) for one live loop, and
add it to `GATHERED`; `Service.gather` then gives its answers for all partitions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from rankloop.live import Live
from rankloop.live.merged_status import tally
from rankloop.live.views.keys import keys_in
from rankloop.live.views.overview import overview_of


def tallies(live: Live, loops: list[str]) -> dict[str, Any]:
    """What one partition has counted for some loops."""
    return {loop: tally(live, loop) for loop in loops}


GATHERED: dict[str, Callable[..., Any]] = {"tallies": tallies, "overview": overview_of, "keys": keys_in}
"""Functions by name: each takes a live loop, and the arguments that were given."""


def plain_status(status: dict[str, Any]) -> dict[str, Any]:
    """A status as JSON can hold it."""
    if "uplift" in status:
        uplift = status["uplift"]
        status = {**status, "uplift": {**asdict(uplift), "decided": uplift.decided}}
    return status
