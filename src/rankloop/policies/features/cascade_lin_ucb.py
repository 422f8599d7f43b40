"""CascadeLinUCB: upper confidence bounds by a linear model of features, for users who leave at their first click."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from rankloop.kernels.arrays import Floats
from rankloop.policies.clicks.base import Ranking
from rankloop.policies.features.base import FeaturePolicy


class CascadeLinUCB(FeaturePolicy):
    """Shows the items with the largest upper confidence bounds, by a linear model of their features.

    The model of an item's attraction is `z'beta`, independent of the items above it: the choice where only relevance
    matters. Where topics matter too, CascadeHybrid learns both. The thesis calls this policy with topics as further
    features CascadeLinUCBFull.

    Parameters
    ----------
    features
        Features of the items, one row for each item.
    n_positions, gamma, ridge, seed
        As in `CascadeHybrid`.

    Examples
    --------
    >>> policy = CascadeLinUCB([[1, 0], [0, 1], [0.7, 0.7]], n_positions=1)
    >>> for _ in range(200):  # the user cares for the second feature
    ...     ranking = policy.rank()
    ...     policy.update(ranking, clicks=[int(ranking[0] == 1)])
    >>> policy.best
    [1]
    >>> bool(policy.beta[1] > policy.beta[0])
    True

    References
    ----------
    S. Zong, H. Ni, K. Sung, N. R. Ke, Z. Wen, B. Kveton. Cascading Bandits for Large-Scale Recommendation Problems.
    UAI 2016.
    """

    examples: ClassVar[tuple[Mapping[str, Any], ...]] = (
        {"features": np.eye(5), "n_positions": 2},
        {"features": np.eye(4), "n_positions": 4, "gamma": 0.5, "ridge": 2.0},
    )
    _names = ("features", None)

    def __init__(
        self, features: ArrayLike, n_positions: int, *, gamma: float = 1.0, ridge: float = 1.0, seed: int | None = None
    ) -> None:
        super().__init__(features, None, n_positions, gamma, ridge, seed)

    @property
    def features(self) -> Floats:
        """Features of the catalogue, including those of removed items."""
        return self._features[0]

    def rank(self, candidates: Iterable[int] | None = None, *, features: ArrayLike | None = None) -> Ranking:
        """The list to show next.

        Parameters
        ----------
        candidates
            Items to choose from; all of the catalogue if not given.
        features
            Features of further candidates that are not in the catalogue, as in `CascadeHybrid.rank`.
        """
        return self._rank(candidates, features, None)

    def add_items(self, features: ArrayLike) -> list[int]:
        """Add items to the catalogue, one row for each item, and return their numbers."""
        return self._add(features, None)
