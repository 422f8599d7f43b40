"""The loop with real users in it: policies in front of traffic, inside your own program."""

from rankloop.live.live import Live
from rankloop.live.settings import Settings
from rankloop.live.shown import LiveDuel, Shown
from rankloop.live.stores import Store, StoreError, StoreLost
from rankloop.live.uplift import Uplift

__all__ = ["Live", "LiveDuel", "Settings", "Shown", "Store", "StoreError", "StoreLost", "Uplift"]
