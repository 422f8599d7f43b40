"""CascadeLSB: lists that cover the topics a user cares for, for users who leave at their first click."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from rankloop.kernels.arrays import Floats
from rankloop.policies.clicks.base import Ranking
from rankloop.policies.features.base import FeaturePolicy


class CascadeLSB(FeaturePolicy):
    """Shows the items that may add most to the topics a user cares for.

    The model of an item's attraction is `omega'theta`, where omega is what it adds to the topics that the items above
    it cover: the choice where only diversity matters. Where relevance matters too, CascadeHybrid learns both. The
    thesis calls this policy with relevance features as further topics CascadeLSBFull. Topics may therefore be negative
    here: a negative value covers nothing of its topic, and lowers the attraction of its own item.

    Parameters
    ----------
    topics
        Coverage of each topic by each item, one row for each item: from 0 to 1, or from -1 for features that are no
        real topics.
    n_positions, gamma, ridge, seed
        As in `CascadeHybrid`.

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
        self, topics: ArrayLike, n_positions: int, *, gamma: float = 1.0, ridge: float = 1.0, seed: int | None = None
    ) -> None:
        super().__init__(None, topics, n_positions, gamma, ridge, seed)

    @property
    def topics(self) -> Floats:
        """Topics of the catalogue, including those of removed items."""
        return self._features[1]

    def rank(self, candidates: Iterable[int] | None = None, *, topics: ArrayLike | None = None) -> Ranking:
        """The list to show next.

        Parameters
        ----------
        candidates
            Items to choose from; all of the catalogue if not given.
        topics
            Topics of further candidates that are not in the catalogue, as in `CascadeHybrid.rank`.
        """
        return self._rank(candidates, None, topics)

    def add_items(self, topics: ArrayLike) -> list[int]:
        """Add items to the catalogue, one row for each item, and return their numbers."""
        return self._add(None, topics)
