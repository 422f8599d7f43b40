"""FixedRanking: the production list, always."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rankloop.kernels import choose, learn, step
from rankloop.kernels.arrays import Clicks, Ints, Items, Notes, Stream
from rankloop.policies.clicks.base import ClickPolicy
from rankloop.policies.clicks.initial import check_initial


class FixedRankingState(NamedTuple):
    rng: Stream
    initial: Ints


@step(choose, FixedRankingState)
def _choose(state: FixedRankingState, items: Items, notes: Notes) -> None:
    for k in range(len(items)):
        items[k] = state.initial[k]


@step(learn, FixedRankingState)
def _learn(state: FixedRankingState, items: Items, notes: Notes, clicks: Clicks) -> None:
    pass


class FixedRanking(ClickPolicy):
    """Always shows the same list: a baseline for the learning policies (the thesis' Baseline).

    Parameters
    ----------
    initial
        The list, best first: an order of the items 0 to L - 1.
    n_positions
        Number of items shown; all if not given.

    Examples
    --------
    >>> FixedRanking([3, 1, 2, 0], n_positions=2).rank()
    Ranking([3, 1])
    """

    state: FixedRankingState
    examples = ({"initial": [2, 0, 1, 3]}, {"initial": [2, 0, 1, 3], "n_positions": 2})
    learns = False
    takes_seen = True

    def __init__(self, initial: Sequence[int], n_positions: int | None = None, *, seed: int | None = None) -> None:
        self.initial = check_initial(initial)
        super().__init__(len(self.initial), len(self.initial) if n_positions is None else n_positions, seed)
        self.state = FixedRankingState(self._rng, np.array(self.initial))

    def update_outdated(
        self, items: Sequence[int | None], notes: Sequence[float], clicks: Sequence[int], seen: int | None = None
    ) -> bool:
        """There is nothing to learn."""
        del items, notes, clicks, seen
        return True

    @property
    def best(self) -> list[int]:
        """The list it shows."""
        return self.initial[: self.n_positions]
