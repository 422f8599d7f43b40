"""C2UCB: the items whose features might attract most, for users who look at everything they are shown."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankloop.checks import check_number
from rankloop.kernels import Stream
from rankloop.policies.features.base import LARGEST, FeaturePolicy
from rankloop.policies.features.cascade_lin_ucb import CascadeLinUCB
from rankloop.policies.features.catalogue import Catalogue
from rankloop.policies.features.diverse import new_room
from rankloop.policies.features.ridge import Ridge
from rankloop.policies.features.steps import DiverseState, FeatureState

SMALLEST_NOISE = 1e-3
"""Below it, rounding would blur the entropies of lists of similar items."""


class C2UCB(CascadeLinUCB):
    """Shows what CascadeLinUCB would show, but takes every item shown as seen, and learns from each click.

    A contextual combinatorial bandit. Where users leave after the first click, items below it are taken for
    unattractive though nobody looked; CascadeLinUCB does not make that mistake.

    The reward of a list is the number of its clicks, or, with a weight `diversity` above 0, that of the paper's
    application: the attractions of its items plus `diversity` times the entropy of the list,
    `1/2 log det(I + X X' / noise^2)`, where X are the features of its items. It is largest where their features are
    orthogonal, so that a list of different items is worth more than ten of the same. How much diversity is worth is not
    learned from clicks, but given.

    As in the paper: upper confidence bounds of the items' attractions by ridge regression; that reward; the greedy
    list, which takes the bounds for the attractions and has at least 1 - 1/e of the largest reward where none of them
    is below 0; and learning from every item shown. Ours: the terms of the entropy that are the same for all lists are
    left out; a list is in the order in which its items were chosen, where the paper has sets; `gamma` stays the same,
    where the paper's theorem lets it grow with time; and bounds below 0 are not cut off.

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
    diversity
        The weight of the entropy of a list; with 0 only clicks count. A click is worth 1, and for features of length 1
        and a noise of 1 an item adds at most 0.35 to the entropy.
    noise
        The standard deviation in the entropy: the smaller, the less items that are somewhat alike add to a list.
    seed
        Of the policy's own random numbers, which only break ties.

    Examples
    --------
    >>> policy = C2UCB([[1, 0], [0, 1], [0.7, 0.7]], n_positions=2)
    >>> for _ in range(200):
    ...     ranking = policy.rank()
    ...     policy.update(ranking, clicks=[int(item > 0) for item in ranking])
    >>> sorted(policy.best)
    [1, 2]

    Two crime stories that attract more than a comedy, and a list that is to have both:

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
        self,
        features: npt.ArrayLike,
        n_positions: int,
        *,
        gamma: float = 1.0,
        ridge: float = 1.0,
        diversity: float = 0.0,
        noise: float = 1.0,
        seed: int | None = None,
    ) -> None:
        self.diversity = check_number("diversity", diversity, 0, LARGEST)
        self.noise = check_number("noise", noise, SMALLEST_NOISE, LARGEST)
        super().__init__(features, n_positions, gamma=gamma, ridge=ridge, seed=seed)

    def _state_with(self, catalogue: Catalogue, rng: Stream, model: Ridge) -> FeatureState | DiverseState:
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
