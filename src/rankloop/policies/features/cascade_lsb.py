"""CascadeLSB: lists that cover the topics a user cares for, learned from lists down to the first click."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from rankloop.kernels import Floats
from rankloop.policies.clicks.base import Ranking
from rankloop.policies.features.base import FeaturePolicy


class CascadeLSB(FeaturePolicy):
    """Shows items that might add most to the topics a user cares for.

    The attraction of an item is taken to be `omega'theta`: omega says how much it adds to the topics that the items
    above it cover. The choice where only diversity counts. Where relevance matters too, CascadeHybrid learns both;
    giving this one relevance features as further topics is what the thesis calls CascadeLSBFull, and why topics may be
    negative here: what is below 0 covers nothing of its topic, and counts for less than nothing itself.

    Parameters
    ----------
    topics
        How much each item covers of each topic, one row each: from 0 to 1, or from -1 where a feature is no real topic.
    n_positions
        How many items are shown.
    gamma
        How much to explore.
    ridge
        How many observations the belief that nothing matters is worth.
    seed
        Of the policy's own random numbers, which only break ties.

    Examples
    --------
    Two crime stories and a comedy, for a user who wants one of each:

    >>> policy = CascadeLSB([[0.9, 0], [0.9, 0], [0, 0.8]], n_positions=2)
    >>> for _ in range(300):
    ...     ranking = policy.rank()
    ...     policy.update(ranking, clicks=[0, int(2 in ranking)])
    >>> 2 in policy.best
    True

    References
    ----------
    G. Hiranandani, H. Singh, P. Gupta, I. A. Burhanuddin, Z. Wen, B. Kveton. Cascading Linear Submodular Bandits:
    Accounting for Position Bias and Diversity in Online Learning to Rank. UAI 2019.
    """

    examples = (
        {"topics": np.eye(5) * 0.9, "n_positions": 2},
        {"topics": np.eye(4) * 0.8, "n_positions": 4, "gamma": 0.5, "ridge": 2.0},
    )
    _names = (None, "topics")
    _least_coverage = -1.0

    def __init__(
        self,
        topics: npt.ArrayLike,
        n_positions: int,
        *,
        gamma: float = 1.0,
        ridge: float = 1.0,
        seed: int | None = None,
    ) -> None:
        super().__init__(None, topics, n_positions, gamma, ridge, seed)

    @property
    def topics(self) -> Floats:
        """The topics of the catalogue, those of items removed included."""
        return self._features[1]

    def rank(self, candidates: Iterable[int] | None = None, *, topics: npt.ArrayLike | None = None) -> Ranking:
        """The list to show next.

        Parameters
        ----------
        candidates
            The items to choose from; all of the catalogue if not given.
        topics
            Of further candidates that are not in the catalogue, one row each. The list calls them -1, -2, ... in the
            order of the rows, and carries their topics, so that clicks on them can be learned from.
        """
        return self._rank(candidates, None, topics)

    def add_items(self, topics: npt.ArrayLike) -> list[int]:
        """Add items to the catalogue, one row each; returns their numbers."""
        return self._add(None, topics)
