"""The loops of a store that several workers share: created and changed once, and taken over by every partition."""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankloop.live.entries import Entry, Kind, pack_json, unpack_json
from rankloop.live.live import Live
from rankloop.live.loop_items import check_items_with_features
from rankloop.live.loops import Loop, Loops
from rankloop.live.names import check_name
from rankloop.live.settings import Settings

if TYPE_CHECKING:
    from rankloop.live.directory import Directory


class SharedLoops:
    """What the loops of a shared store have been told.

    All partitions give a loop the same number, so that a user is in the holdout of all of them or of none.

    Parameters
    ----------
    directory
        What the workers share, open.
    """

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._lock = threading.RLock()
        self._loops = Loops()
        self.version = 0
        """Number of the last change that is known."""
        self.look()

    def look(self) -> None:
        """Read what others have changed."""
        with self._lock:
            for version, change in self._directory.changes(self.version):
                self._loops.take(Entry(version, 0, change[0], 0, None, change[1:]))
                self.version = version

    @property
    def loops(self) -> tuple[str, ...]:
        """The names of all loops."""
        return tuple(self._loops.by_name)

    def settings(self, loop: str) -> Settings:
        """What a loop was told."""
        return self._loops.named(loop).settings

    def create(self, loop: str, *, kind: str, **settings: Any) -> None:
        """Create a loop; nothing happens if it is there with the same settings."""
        checked = Settings.checked(kind=kind, **settings)
        check_name("the name of a loop", loop)

        def make() -> bytes | None:
            known = self._loops.by_name.get(loop)
            if known is not None:
                known.check_same(checked, settings)
                return None
            seed = secrets.randbits(48) if checked.seed is None else checked.seed
            number = max(self._loops.by_number, default=0) + 1
            return _change(Kind.LOOP, Loop(number, loop, replace(checked, seed=seed)).to_entry())

        self._add(make)

    def change(self, loop: str, **settings: Any) -> None:
        """Change the mode, the share of traffic or the rankers of a running loop."""

        def make() -> bytes | None:
            target = self._loops.named(loop)
            changed = target.settings.changed(**settings)
            if changed == target.settings:
                return None
            return _change(Kind.LOOP, Loop(target.number, loop, changed).to_entry())

        self._add(make)

    def put_items(self, loop: str, items: Mapping[str, Mapping[str, Any]]) -> None:
        """Give the features of items, new or changed, to a loop that diversifies."""
        target = self._loops.named(loop, "diversify")
        names, relevance, topics = check_items_with_features(target.settings, items)
        body = {"loop": target.number, "names": names, "relevance": relevance, "topics": topics}
        self._add(lambda: _change(Kind.ITEMS, pack_json(body)))

    def _add(self, make: Callable[[], bytes | None]) -> None:
        """Add a change, made from what everybody has changed until now; it is durable afterwards."""

        def with_the_latest() -> bytes | None:
            self.look()
            return make()

        with self._lock:
            self._directory.add_change(with_the_latest)
            self.look()

    def bring_up_to_date(self, live: Live, partition: int) -> None:
        """Let a partition take over what it has not heard of yet, for good."""
        for version, change in self._directory.changes(live.adopted):
            live.adopt(version, change[0], _for_partition(change[0], unpack_json(change[1:]), partition))
        live.commit(live.last)


def _change(kind: int, body: bytes) -> bytes:
    return bytes([kind]) + body


def _for_partition(kind: int, body: dict[str, Any], partition: int) -> dict[str, Any]:
    """A change as a partition takes it over: with random numbers of its own, since keys are numbered in each anew."""
    if kind == Kind.LOOP and partition:
        seed = body["settings"]["seed"]
        own = hashlib.blake2b(f"{seed} {partition}".encode(), digest_size=6).digest()
        body["settings"]["seed"] = int.from_bytes(own, "little")
    return body
