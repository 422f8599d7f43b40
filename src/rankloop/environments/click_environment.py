"""What the click environments share: items with attractions, lists that are rewarded and clicked."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from rankloop.arrays import check_probabilities
from rankloop.checks import check_whole
from rankloop.environments.checks import check_list
from rankloop.kernels import entry, regret, respond, stream
from rankloop.kernels.arrays import Clicks, Floats, Items, Stream


@entry
def click_once(environment: Any, rng: Stream, items: Items, clicks: Clicks) -> None:
    """One user's clicks, for a caller in Python."""
    respond(environment, rng, items, clicks)


@entry
def regret_once(environment: Any, items: Items) -> float:
    """One list's regret, for a caller in Python."""
    return regret(environment, items)


class ClickEnvironment:
    """Base of the environments that respond to a list with clicks.

    A subclass says how the reward of a list follows from the attractions of its items (`_reward`), which weight each
    position has in it (`_weights`), and what the compiled loop needs (`state_at`).
    """

    attraction: Floats
    name: str
    n_positions: int | None = None
    """Length of the longest list that the model can answer; None where there is no limit."""
    offers: tuple[str, ...] = ("n_items", "n_positions")
    """What policies may be told, by the names of attributes."""

    def __init__(self, attraction: npt.ArrayLike, name: str) -> None:
        self.attraction = check_probabilities("attraction", attraction)
        self.name = name

    @property
    def n_items(self) -> int:
        """The number of items that can be shown."""
        return len(self.attraction)

    def click(self, ranking: Any, seed: int | Stream | None = None) -> list[int]:
        """Draw one user's clicks on a list: 0 or 1 for each position.

        `seed` is a number, or a stream of random numbers to draw from, which then moves on.
        """
        items = check_list(ranking, self.n_items, self.n_positions)
        rng = seed if isinstance(seed, np.ndarray) else stream(seed)
        clicks = np.zeros(len(items), np.uint8)
        click_once(self.state, rng, items, clicks)
        return clicks.tolist()

    def reward(self, ranking: Any, top: int | None = None) -> float:
        """The expected reward of a list, or of its first `top` positions."""
        items = check_list(ranking, self.n_items, self.n_positions)
        return self._reward(self.attraction[items[: self._check_top(top)]])

    def regret(self, ranking: Any, top: int | None = None) -> float:
        """How much less reward the list has than the best list of its length, over the first `top` positions."""
        items = check_list(ranking, self.n_items, self.n_positions)
        n = min(len(items), self._check_top(top))
        return float(self.optimal_rewards[n] - self._reward(self.attraction[items[:n]]))

    def optimal_list(self, n_positions: int | None = None) -> list[int]:
        """The list of that length with the highest reward.

        The most attractive items stand at the positions of the largest weights; where weights fall from the top, items
        are in descending order of attraction.
        """
        most = self.n_items if self.n_positions is None else min(self.n_items, self.n_positions)
        n = most if n_positions is None else check_whole("n_positions", n_positions, 1, most)
        best = np.zeros(n, np.int64)
        best[np.argsort(-self._weights(n), kind="stable")] = np.argsort(-self.attraction, kind="stable")[:n]
        return best.tolist()

    @cached_property
    def optimal_rewards(self) -> Floats:
        """The reward of the best list of each length, from 0 on."""
        most = self.n_items if self.n_positions is None else min(self.n_items, self.n_positions)
        best = [0.0, *(self._reward(self.attraction[self.optimal_list(n)]) for n in range(1, most + 1))]
        return np.array(best)

    @cached_property
    def state(self) -> Any:
        """What the compiled loop needs; its regret counts all positions."""
        return self.state_at(None)

    def state_at(self, top: int | None) -> Any:
        """What the compiled loop needs to count regret over the first `top` positions (None: over all)."""
        raise NotImplementedError

    def _reward(self, attraction: Floats) -> float:
        """The reward of a list whose items have these attractions, by position."""
        raise NotImplementedError

    def _weights(self, n_positions: int) -> Floats:
        """The weight of each position; at equal weights, any order of the same items is as good."""
        raise NotImplementedError

    def _check_top(self, top: int | None) -> int:
        return self.n_items if top is None else check_whole("top", top, 1)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_items} items, name={self.name!r})"
