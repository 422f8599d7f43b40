"""C2UCB: upper confidence bounds by a linear model of features, for users who look at everything they are shown."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rankloop.checks import check_number
from rankloop.kernels.arrays import Stream
from rankloop.policies.features.base import LARGEST, FeaturePolicy
from rankloop.policies.features.cascade_lin_ucb import CascadeLinUCB
from rankloop.policies.features.catalogue import Catalogue
from rankloop.policies.features.diverse import new_room
from rankloop.policies.features.ridge import Ridge
from rankloop.policies.features.steps import AnyState, DiverseState

SMALLEST_NOISE = 1e-3
"""Below it, rounding would blur the entropies of lists of similar items."""


class C2UCB(CascadeLinUCB):
    """Uses the model of CascadeLinUCB, but assumes that users look at every item, and learns from every click.

    This is a contextual combinatorial bandit. Where users leave after the first click, it takes the items below for
    unattractive although nobody looked at them; CascadeLinUCB does not make that mistake.

    The reward of a list is the number of its clicks or, with `diversity` above 0, that of the paper's application: the
    attractions of its items plus `diversity` times the entropy of the list, `1/2 log det(I + X X' / noise^2)`, where X
    are the features of its items. The entropy is largest where these features are orthogonal. The value of diversity is
    given, and not learned from clicks.

    As in the paper are the upper confidence bounds of the items' attractions by ridge regression; this reward; the
    greedy list, which uses the bounds for the attractions and has at least 1 - 1/e of the largest reward where none of
    them is negative; and learning from every item shown. It differs from the paper in four points: terms of the
    entropy that are the same for all lists are left out; a list keeps the order in which its items were chosen, where
    the paper has sets; `gamma` is constant, where the paper's theorem lets it grow with time; and negative bounds are
    not cut off.

    Parameters
    ----------
    features, n_positions, gamma, ridge, seed
        As in `CascadeLinUCB`.
    diversity
        Weight of the entropy of a list; with 0 only clicks count. A click is worth 1, and for features of length 1 and
        a noise of 1 an item adds at most 0.35 to the entropy.
    noise
        Standard deviation in the entropy: the smaller it is, the less do similar items add to a list.

    Examples
    --------
    >>> policy = C2UCB([[1, 0], [0, 1], [0.7, 0.7]], n_positions=2)
    >>> for _ in range(200):
    ...     ranking = policy.rank()
    ...     policy.update(ranking, clicks=[int(item > 0) for item in ranking])
    >>> sorted(policy.best)
    [1, 2]

    Two crime stories that attract more than a comedy, for a list that should have both:

    >>> policy = C2UCB([[1, 0], [1, 0], [0, 1]], n_positions=2, diversity=3)
    >>> for t in range(200):
    ...     ranking = policy.rank()
    ...     policy.update(ranking, clicks=[int(item < 2 or t % 4 > 0) for item in ranking])
    >>> policy.beta.round(1).tolist(), policy.best[1]
    ([1.0, 0.7], 2)

    References
    ----------
    L. Qin, S. Chen, X. Zhu. Contextual Combinatorial Bandit and its Application on Diversified Online Recommendation.
    SDM 2014. The entropy: L. Qin, X. Zhu. Promoting Diversity in Recommendation by Entropy Regularizer. IJCAI 2013.
    """

    examples = (
        *CascadeLinUCB.examples,
        {"features": np.eye(5), "n_positions": 2, "diversity": 0.5},
        {"features": np.eye(4, 3), "n_positions": 4, "gamma": 0.5, "diversity": 2.0, "noise": 0.3},
    )
    cascade = False

    def __init__(
        self, features: ArrayLike, n_positions: int, *, gamma: float = 1.0, ridge: float = 1.0, diversity: float = 0.0,
        noise: float = 1.0, seed: int | None = None,
    ) -> None:  # fmt: skip
        self.diversity = check_number("diversity", diversity, 0, LARGEST)
        self.noise = check_number("noise", noise, SMALLEST_NOISE, LARGEST)
        super().__init__(features, n_positions, gamma=gamma, ridge=ridge, seed=seed)

    def _state_with(self, catalogue: Catalogue, rng: Stream, model: Ridge) -> AnyState:
        state = super()._state_with(catalogue, rng, model)
        if self.diversity == 0:
            return state
        variance = self.noise**2
        room = new_room(catalogue.relevance, variance)
        return DiverseState(**state._asdict(), room=room, diversity=self.diversity, variance=variance)

    def adopt_catalogue(self, other: FeaturePolicy) -> None:
        """Share the catalogue of another policy of this kind: this one's own with some items added."""
        super().adopt_catalogue(other)
        if self.diversity > 0:
            self.state = self.state._replace(room=other.state.room)
