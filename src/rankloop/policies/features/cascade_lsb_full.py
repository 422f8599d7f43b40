"""CascadeLSBFull: CascadeLSB with relevance features as further topics."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from rankloop.arrays import SLACK
from rankloop.kernels.arrays import Floats
from rankloop.policies.features.cascade_hybrid import CascadeHybrid


class CascadeLSBFull(CascadeHybrid):
    """CascadeLSB with relevance features as further topics: `CascadeLSB(np.hstack([topics, relevance]), ...)`.

    A baseline of the thesis: it has the same data as CascadeHybrid, but models relevance as something that a list can
    cover. `theta` has the weights of the topics and, after them, of the relevance features.

    What an item adds to a topic is its coverage times the product of 1 - x_b over the items b above it. The thesis does
    not say how to treat negative relevance features, of which a singular value decomposition has many. Taken literally,
    they make the product larger than 1, so that the topic is worth more further down. Our convention is that a negative
    feature covers nothing, so that the product stays in [0, 1].

    Parameters
    ----------
    relevance
        Relevance features of the items, one row for each item; each from -1 to 1.
    negative
        Effect of a negative relevance feature on the items further down: "nothing" (ours), or "literal", the product as
        the thesis writes it.
    topics, n_positions, gamma, ridge, seed
        As in `CascadeHybrid`.

    Examples
    --------
    >>> policy = CascadeLSBFull([[1, 0], [0, 1]], [[0.9, 0], [0, 0.9]], n_positions=1)
    >>> for ranking in (policy.rank() for _ in range(100)):
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
        self, relevance: ArrayLike, topics: ArrayLike, n_positions: int, *, gamma: float = 1.0, ridge: float = 1.0,
        negative: Literal["nothing", "literal"] = "nothing", seed: int | None = None,
    ) -> None:  # fmt: skip
        if negative not in ("nothing", "literal"):
            raise ValueError(f"negative must be 'nothing' or 'literal', not {negative!r}")
        self.negative = negative
        self._literal = negative == "literal"
        super().__init__(relevance, topics, n_positions, gamma=gamma, ridge=ridge, seed=seed)

    @property
    def relevance(self) -> Floats:
        """Relevance features of the catalogue, including those of removed items."""
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
