"""CascadeHybrid: learn from clicks to show lists that are relevant and not redundant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from rankloop.kernels.arrays import Floats
from rankloop.policies.clicks.base import Ranking
from rankloop.policies.features.base import FeaturePolicy


class CascadeHybrid(FeaturePolicy):
    """Learns both how much a user cares for the features of an item and for topics that the list does not cover yet.

    The model of an item's attraction is `z'beta + omega'theta`, where z are its relevance features, and omega is what
    it adds to the topics that the items above it cover. Each position shows the item with the largest upper confidence
    bound: its estimate plus `gamma` times its uncertainty. Users are assumed to look down to their first click.

    Parameters
    ----------
    relevance
        Relevance features of the items, one row for each item.
    topics
        Coverage of each topic by each item, from 0 to 1, one row for each item.
    n_positions
        Number of items shown.
    gamma
        Amount of exploration. 1 does well in the thesis; `rankloop.theory` has the (much larger) one of its theorem.
    ridge
        Strength of the prior belief that no feature matters, in observations; 1 in the thesis.
    seed
        Seed of the policy's random numbers, which only break ties.

    Examples
    --------
    Two crime stories, equally good, and a comedy:

    >>> policy = CascadeHybrid(relevance=[[1, 0], [1, 0], [0, 1]], topics=[[0.9, 0], [0.9, 0], [0, 0.9]], n_positions=2)
    >>> for _ in range(300):  # the user wants one of each
    ...     ranking = policy.rank()
    ...     policy.update(ranking, clicks=[0, int(2 in ranking)])
    >>> 2 in policy.best
    True
    >>> policy.theta.shape, policy.beta.shape
    ((2,), (2,))

    References
    ----------
    C. Li, H. Feng, M. de Rijke. Cascading Hybrid Bandits: Online Learning to Rank for Relevance and Diversity.
    RecSys 2020.
    """

    examples: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {"relevance": np.eye(5), "topics": np.full((5, 2), 0.05), "n_positions": 2},
        {"relevance": np.eye(4, 3), "topics": np.eye(4) * 0.8, "n_positions": 4, "gamma": 0.5, "ridge": 2.0},
    )

    def __init__(
        self, relevance: ArrayLike, topics: ArrayLike, n_positions: int, *, gamma: float = 1.0, ridge: float = 1.0,
        seed: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(relevance, topics, n_positions, gamma, ridge, seed)

    @property
    def relevance(self) -> Floats:
        """Relevance features of the catalogue, including those of removed items."""
        return self._features[0]

    @property
    def topics(self) -> Floats:
        """Topics of the catalogue, including those of removed items."""
        return self._topics_of(self._features)

    def rank(
        self,
        candidates: Iterable[int] | None = None,
        *,
        relevance: ArrayLike | None = None,
        topics: ArrayLike | None = None,
    ) -> Ranking:
        """The list to show next.

        Parameters
        ----------
        candidates
            Items to choose from; all of the catalogue if not given.
        relevance, topics
            Features of further candidates that are not in the catalogue. They get the numbers -1, -2, ... in the order
            of the rows, and the list carries their features, so that the policy can learn from clicks on them.
        """
        return self._rank(candidates, relevance, topics)

    def add_items(self, relevance: ArrayLike, topics: ArrayLike) -> list[int]:
        """Add items to the catalogue, one row for each item, and return their numbers."""
        return self._add(relevance, topics)
