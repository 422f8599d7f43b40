"""CascadeHybrid: lists that are relevant and not redundant, learned from clicks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rankloop.kernels import Floats
from rankloop.policies.clicks.base import Ranking
from rankloop.policies.features.base import FeaturePolicy


class CascadeHybrid(FeaturePolicy):
    """Learns at once how much a user cares for the features of an item and for topics that the list lacks so far.

    The attraction of an item is taken to be `z'beta + omega'theta`: z are its relevance features, and omega says how
    much it adds to the topics that the items above it cover. Each position goes to the item whose attraction might be
    highest: its estimate plus `gamma` times its uncertainty. Users are taken to look down to their first click.

    Parameters
    ----------
    relevance
        The relevance features of the items, one row each.
    topics
        How much each item covers of each topic, from 0 to 1, one row each.
    n_positions
        How many items are shown.
    gamma
        How much to explore. 1 does well in the thesis; `rankloop.theory` has the (much larger) one of its theorem.
    ridge
        How many observations the belief that nothing matters is worth; the thesis' is 1.
    seed
        Of the policy's own random numbers, which only break ties.

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
        self,
        relevance: npt.ArrayLike,
        topics: npt.ArrayLike,
        n_positions: int,
        *,
        gamma: float = 1.0,
        ridge: float = 1.0,
        seed: int | None = None,
    ) -> None:
        super().__init__(relevance, topics, n_positions, gamma, ridge, seed)

    @property
    def relevance(self) -> Floats:
        """The relevance features of the catalogue, those of items removed included."""
        return self._features[0]

    @property
    def topics(self) -> Floats:
        """The topics of the catalogue, those of items removed included."""
        return self._topics_of(self._features)

    def rank(
        self,
        candidates: Iterable[int] | None = None,
        *,
        relevance: npt.ArrayLike | None = None,
        topics: npt.ArrayLike | None = None,
    ) -> Ranking:
        """The list to show next.

        Parameters
        ----------
        candidates
            The items to choose from; all of the catalogue if not given.
        relevance, topics
            Features of further candidates that are not in the catalogue, one row each. The list calls them -1, -2, ...
            in the order of the rows, and carries their features, so that clicks on them can be learned from.
        """
        return self._rank(candidates, relevance, topics)

    def add_items(self, relevance: npt.ArrayLike, topics: npt.ArrayLike) -> list[int]:
        """Add items to the catalogue, one row each; returns their numbers."""
        return self._add(relevance, topics)
