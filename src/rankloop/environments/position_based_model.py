"""The position-based model: whether an item is seen depends on its position alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankloop.arrays import check_probabilities
from rankloop.click_models.draws import draw_position_based
from rankloop.environments.click_environment import ClickEnvironment
from rankloop.kernels import gains, regret, respond, step
from rankloop.kernels.arrays import Clicks, Floats, Items, Stream


class PositionBasedState(NamedTuple):
    attraction: Floats
    examination: Floats
    optimal: Floats
    top: int


@step(respond, PositionBasedState)
def _respond(environment: PositionBasedState, rng: Stream, items: Items, feedback: Clicks) -> None:
    draw_position_based(rng, environment.attraction, environment.examination, items, feedback)


@step(regret, PositionBasedState)
def _regret(environment: PositionBasedState, items: Items) -> float:
    n = min(len(items), environment.top)
    clicks = 0.0
    for k in range(n):
        clicks += environment.examination[k] * environment.attraction[items[k]]
    return environment.optimal[n] - clicks


@step(gains, PositionBasedState, counted=True)
def _gains(environment: PositionBasedState) -> Floats:
    return environment.attraction


class PositionBasedModel(ClickEnvironment):
    """Users who look at each position with a probability of its own and click what they see and like.

    The reward of a list is the expected number of clicks, `sum examination(k) attraction`.

    Parameters
    ----------
    attraction
        Probability of a click on each item, once it is seen.
    examination
        Probability with which each position is seen. Lists may be no longer than this.
    name
        Name of the problem in tables and plots.

    Examples
    --------
    >>> users = PositionBasedModel([0.5, 0.2, 0.1], examination=[1.0, 0.5])
    >>> users.reward([1, 0])
    0.45
    >>> users.optimal_list(2), round(users.regret([1, 0]), 2)
    ([0, 1], 0.15)

    References
    ----------
    M. Richardson, E. Dominowska, R. Ragno. Predicting Clicks: Estimating the Click-Through Rate for New Ads. WWW 2007.
    """

    n_positions: int
    offers = (*ClickEnvironment.offers, "examination")

    def __init__(self, attraction: npt.ArrayLike, examination: npt.ArrayLike, *, name: str = "PBM") -> None:
        super().__init__(attraction, name)
        self.examination = check_probabilities("examination", examination)
        self.n_positions = len(self.examination)

    def state_at(self, top: int | None) -> PositionBasedState:
        """What the compiled loop needs to count regret over the first `top` positions (None: over all)."""
        return PositionBasedState(
            np.array(self.attraction), np.array(self.examination), self.optimal_rewards, self._check_top(top)
        )

    def _reward(self, attraction: Floats) -> float:
        return float(np.sum(self.examination[: len(attraction)] * attraction))

    def _weights(self, n_positions: int) -> Floats:
        return self.examination[:n_positions]
