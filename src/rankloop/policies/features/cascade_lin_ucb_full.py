"""CascadeLinUCBFull: CascadeLinUCB with topics as further features."""

from __future__ import annotations

import numpy as np

from rankloop.kernels.arrays import Floats
from rankloop.policies.features.cascade_hybrid import CascadeHybrid


class CascadeLinUCBFull(CascadeHybrid):
    """CascadeLinUCB with topics as further features: `CascadeLinUCB(np.hstack([topics, relevance]), ...)`.

    A baseline of the thesis: it has the same data as CascadeHybrid, but does not model that a topic is worth less once
    the list covers it. `beta` has the weights of the topics and, after them, of the relevance features.

    Parameters
    ----------
    relevance, topics, n_positions, gamma, ridge, seed
        As in `CascadeHybrid`.

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
        """Relevance features of the catalogue, including those of removed items."""
        return self._split(self._features[0])[0]

    def _topics_of(self, features: tuple[Floats, Floats]) -> Floats:
        return self._split(features[0])[1]

    def _arrange(self, relevance: Floats, topics: Floats) -> tuple[Floats, Floats]:
        return np.concatenate([topics, relevance], axis=1), np.zeros((len(topics), 0))
