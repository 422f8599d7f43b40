"""CascadeLinUCBFull: CascadeLinUCB that is told the topics too."""

from __future__ import annotations

import numpy as np

from rankloop.kernels import Floats
from rankloop.policies.features.cascade_hybrid import CascadeHybrid


class CascadeLinUCBFull(CascadeHybrid):
    """CascadeLinUCB that has topics as further features: `CascadeLinUCB(np.hstack([topics, relevance]), ...)`.

    It knows as much as CascadeHybrid, but not that a topic is worth less once the list covers it: a baseline of the
    thesis. `beta` are the weights of the topics and, after them, of the relevance features.

    Parameters
    ----------
    relevance
        The relevance features of the items, one row each.
    topics
        How much each item covers of each topic, from 0 to 1, one row each.
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
    >>> policy = CascadeLinUCBFull([[1, 0], [0, 1]], [[0.9, 0], [0, 0.9]], n_positions=1)
    >>> for _ in range(100):
    ...     ranking = policy.rank()
    ...     policy.update(ranking, clicks=[int(ranking[0] == 1)])
    >>> policy.best, policy.beta.shape
    ([1], (4,))

    References
    ----------
    C. Li, H. Feng, M. de Rijke. Cascading Hybrid Bandits: Online Learning to Rank for Relevance and Diversity.
    RecSys 2020.
    """

    @property
    def relevance(self) -> Floats:
        """The relevance features of the catalogue, those of items removed included."""
        return self._split(self._features[0])[0]

    def _topics_of(self, features: tuple[Floats, Floats]) -> Floats:
        return self._split(features[0])[1]

    def _arrange(self, relevance: Floats, topics: Floats) -> tuple[Floats, Floats]:
        return np.concatenate([topics, relevance], axis=1), np.zeros((len(topics), 0))
