"""The loop with real users in it: policies in front of traffic, inside your own program.

Its names load when first used: what only passes lists on, as a client of the service does, needs no compiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankloop.live.all_partitions import Whole
    from rankloop.live.asynchronous import AsyncLive
    from rankloop.live.explain import LiveExplanation
    from rankloop.live.live import Live
    from rankloop.live.settings import Settings
    from rankloop.live.shown import LiveDuel, Shown
    from rankloop.live.stores import Store, StoreError, StoreLost
    from rankloop.live.uplift import Uplift
    from rankloop.live.verify import Verification
else:
    from importlib import import_module

    _HOMES = {
        "AsyncLive": "asynchronous",
        "Live": "live",
        "LiveDuel": "shown",
        "LiveExplanation": "explain",
        "Settings": "settings",
        "Shown": "shown",
        "Store": "stores",
        "StoreError": "stores",
        "StoreLost": "stores",
        "Uplift": "uplift",
        "Verification": "verify",
        "Whole": "all_partitions",
    }

    def __getattr__(name):
        if name not in _HOMES:
            raise AttributeError(f"module 'rankloop.live' has no attribute {name!r}")
        globals()[name] = getattr(import_module(f"rankloop.live.{_HOMES[name]}"), name)
        return globals()[name]

    def __dir__():
        return sorted({*globals(), *__all__})


__all__ = [
    "AsyncLive",
    "Live",
    "LiveDuel",
    "LiveExplanation",
    "Settings",
    "Shown",
    "Store",
    "StoreError",
    "StoreLost",
    "Uplift",
    "Verification",
    "Whole",
]
