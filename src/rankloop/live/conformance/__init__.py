"""Checks that every store passes, for this package's own stores and for anybody else's.

Derive a class of tests from `StoreConformance` and say how a store is made; pytest does the rest:

    from rankloop.live.conformance import StoreConformance

    class TestMyStore(StoreConformance):
        @pytest.fixture(autouse=True)
        def place(self, tmp_path):
            self.path = tmp_path / "my.store"

        def make_store(self, *, read_only=False):
            return MyStore(self.path, read_only=read_only)
"""

from __future__ import annotations

from rankloop.live.conformance.cases import BODIES, KEYS, LONG_KEYS, chosen, clicked
from rankloop.live.conformance.opening import OpeningChecks
from rankloop.live.conformance.reading import ReadingChecks
from rankloop.live.conformance.writing import WritingChecks

__all__ = ["BODIES", "KEYS", "LONG_KEYS", "StoreConformance", "chosen", "clicked"]


class StoreConformance(OpeningChecks, WritingChecks, ReadingChecks):
    """What every store must do, as methods that pytest runs.

    Each test begins with a place where no store is: `make_store` makes a store there that has not been opened yet, and
    may be called several times in a test.
    """
