"""The loop with real users in it: policies in front of traffic, inside your own program."""

from rankloop.live.asynchronous import AsyncLive
from rankloop.live.explain import LiveExplanation
from rankloop.live.live import Live
from rankloop.live.settings import Settings
from rankloop.live.shown import LiveDuel, Shown
from rankloop.live.stores import Store, StoreError, StoreLost
from rankloop.live.uplift import Uplift
from rankloop.live.verify import Verification

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
]
