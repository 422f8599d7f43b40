"""A page of stories whose readers change their minds, for a policy that follows and one that does not."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from rankloop.demo.traffic import Event, Visit, events_of

STORIES = (
    "election", "football", "weather", "recipes", "markets", "cinema", "travel", "health", "science", "gardens",
    "games", "music",
)  # fmt: skip
SECTIONS = ("morning", "evening")
POSITIONS = 4
N_HOT = 3
HOT, COLD = 0.5, 0.04
"""How often a story that everybody wants is clicked when it is seen, and any other."""

LENGTHS = (1_200, 600, 600)
"""Visitors of each section before the first change, from there to the second, and after it."""

FOLLOWS, REMEMBERS = "trending", "trending, nothing forgotten"


class Trending:
    """Readers who click the first story that attracts them. Three stories are hot, and after a change three others.

    Parameters
    ----------
    client
        Where to ask and to report.
    lengths
        Visitors of a section in each period.
    rival
        Whether the policy that forgets nothing is shown the same readers.
    """

    title = "Follow readers whose tastes change"

    def __init__(self, client: Any, lengths: Sequence[int] = LENGTHS, *, rival: bool = True, seed: int = 0) -> None:
        self.client = client
        self.changes = [len(SECTIONS) * end for end in accumulate(lengths)]
        """Numbers of the visitors with whom periods end."""
        self._rival, self._seed, self._horizon = rival, seed, sum(lengths)

    def create(self) -> None:
        """Create the loops."""
        shared = {"kind": "follow", "positions": POSITIONS, "holdout": 0.0}
        self.client.create(FOLLOWS, policy="CascadeSWUCB", horizon=self._horizon, **shared)
        if self._rival:
            self.client.create(REMEMBERS, policy="CascadeKLUCB", **shared)

    def period(self, number: int) -> int:
        """How often tastes had changed when a visitor came; they go on to change after the last of the periods."""
        at = number % self.changes[-1]
        return len(self.changes) * (number // self.changes[-1]) + sum(at >= end for end in self.changes)

    def hot(self, section: str, period: int) -> set[str]:
        """What everybody wants: never what everybody wanted before."""
        before = self.hot(section, period - 1) if period % len(self.changes) else set()
        others = [story for story in STORIES if story not in before]
        return set(random.Random(f"{self._seed} {section} {period}").sample(others, N_HOT))

    def visit(self, dice: random.Random, number: int) -> tuple[list[Visit], list[Event]]:
        """One reader, who gets to see the list of each policy."""
        section = SECTIONS[number % len(SECTIONS)]
        hot = self.hot(section, self.period(number))
        wants = {story for story in STORIES if dice.random() < (HOT if story in hot else COLD)}
        visits, events = [], list[Event]()
        for loop in (FOLLOWS, REMEMBERS)[: 1 + self._rival]:
            shown = self.client.rank(loop, section, list(STORIES))
            clicked = [story for story in shown.items if story in wants][:1]
            visits.append(Visit("follow", number, loop, section, shown.arm, len(clicked), 0, 0))
            events += events_of(shown.id, clicked)
        return visits, events
