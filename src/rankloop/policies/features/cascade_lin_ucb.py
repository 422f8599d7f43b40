"""CascadeLinUCB: the items whose features might attract most, learned from lists down to the first click."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rankloop.kernels import Floats
from rankloop.policies.clicks.base import Ranking
from rankloop.policies.features.base import FeaturePolicy


class CascadeLinUCB(FeaturePolicy):
    """Shows the items of the largest upper confidence bounds, by a linear model of their features.

    The attraction of an item is taken to be `z'beta`, whatever stands above it: the choice where only relevance counts.
    Where topics matter too, CascadeHybrid learns both; giving this one topics as further features is what the thesis
    calls CascadeLinUCBFull.

    Parameters
    ----------
    features
        Of the items, one row each.
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
        self,
        features: npt.ArrayLike,
        n_positions: int,
        *,
        gamma: float = 1.0,
        ridge: float = 1.0,
        seed: int | None = None,
    ) -> None:
        super().__init__(features, None, n_positions, gamma, ridge, seed)

    @property
    def features(self) -> Floats:
        """The features of the catalogue, those of items removed included."""
        return self._features[0]

    def rank(self, candidates: Iterable[int] | None = None, *, features: npt.ArrayLike | None = None) -> Ranking:
        """The list to show next.

        Parameters
        ----------
        candidates
            The items to choose from; all of the catalogue if not given.
        features
            Of further candidates that are not in the catalogue, one row each. The list calls them -1, -2, ... in the
            order of the rows, and carries their features, so that clicks on them can be learned from.
        """
        return self._rank(candidates, features, None)

    def add_items(self, features: npt.ArrayLike) -> list[int]:
        """Add items to the catalogue, one row each; returns their numbers."""
        return self._add(features, None)
