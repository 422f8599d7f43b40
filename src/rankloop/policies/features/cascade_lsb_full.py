"""CascadeLSBFull: CascadeLSB that is told the relevance features too."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from rankloop.kernels import Floats
from rankloop.policies.features.cascade_hybrid import CascadeHybrid
from rankloop.policies.features.catalogue import SLACK


class CascadeLSBFull(CascadeHybrid):
    """CascadeLSB with relevance features as further topics: `CascadeLSB(np.hstack([topics, relevance]), ...)`.

    It knows as much as CascadeHybrid, but takes relevance for something that a list can cover: a baseline of the
    thesis. `theta` are the weights of the topics and, after them, of the relevance features.

    What an item adds to a topic is its coverage times the product of 1 - x_b over the items b above it. The thesis does
    not say what becomes of relevance features below 0, of which a singular value decomposition has many. Taken
    literally, such an item makes the product larger than 1: the topic is then worth more below it. The convention here,
    which is ours and not the thesis', is that what is below 0 covers nothing, so that the product stays in [0, 1].

    Parameters
    ----------
    relevance
        The relevance features of the items, one row each; each from -1 to 1.
    topics
        How much each item covers of each topic, from 0 to 1, one row each.
    n_positions
        How many items are shown.
    gamma
        How much to explore.
    ridge
        How many observations the belief that nothing matters is worth.
    negative
        What a relevance feature below 0 does to the items below: "nothing" (ours), or "literal", the product as the
        thesis writes it.
    seed
        Of the policy's own random numbers, which only break ties.

    Examples
    --------
    >>> policy = CascadeLSBFull([[1, 0], [0, 1]], [[0.9, 0], [0, 0.9]], n_positions=1)
    >>> for _ in range(100):
    ...     ranking = policy.rank()
    ...     policy.update(ranking, clicks=[int(ranking[0] == 1)])
    >>> policy.best, policy.theta.shape
    ([1], (4,))

    References
    ----------
    C. Li, H. Feng, M. de Rijke. Cascading Hybrid Bandits: Online Learning to Rank for Relevance and Diversity.
    RecSys 2020.
    """

    examples = (*CascadeHybrid.examples, {**CascadeHybrid.examples[1], "relevance": -np.eye(4), "negative": "literal"})
    _least_coverage = -1.0

    def __init__(
        self,
        relevance: npt.ArrayLike,
        topics: npt.ArrayLike,
        n_positions: int,
        *,
        gamma: float = 1.0,
        ridge: float = 1.0,
        negative: Literal["nothing", "literal"] = "nothing",
        seed: int | None = None,
    ) -> None:
        if negative not in ("nothing", "literal"):
            raise ValueError(f"negative must be 'nothing' or 'literal', not {negative!r}")
        self.negative = negative
        self._literal = negative == "literal"
        super().__init__(relevance, topics, n_positions, gamma=gamma, ridge=ridge, seed=seed)

    @property
    def relevance(self) -> Floats:
        """The relevance features of the catalogue, those of items removed included."""
        return self._split(self._features[1])[0]

    def _topics_of(self, features: tuple[Floats, Floats]) -> Floats:
        return self._split(features[1])[1]

    def _arrange(self, relevance: Floats, topics: Floats) -> tuple[Floats, Floats]:
        if (topics < -SLACK).any():
            raise ValueError(f"topics must lie in [0, 1], not be {topics.min():g}")
        if (abs(relevance) > 1 + SLACK).any():
            worst = relevance.flat[abs(relevance).argmax()]
            raise ValueError(f"relevance features are topics here, so they must lie in [-1, 1], not be {worst:g}")
        return np.zeros((len(topics), 0)), np.concatenate([topics.clip(0.0, 1.0), relevance.clip(-1.0, 1.0)], axis=1)
