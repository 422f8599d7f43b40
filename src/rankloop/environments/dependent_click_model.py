"""The dependent click model: users may click several items, and leave satisfied after one of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankloop.arrays import check_probabilities
from rankloop.click_models.draws import draw_dependent
from rankloop.environments.click_environment import ClickEnvironment
from rankloop.kernels import gains, regret, respond, step
from rankloop.kernels.arrays import Clicks, Floats, Items, Stream


class DependentState(NamedTuple):
    attraction: Floats
    abandonment: Floats
    optimal: Floats
    top: int


@step(respond, DependentState)
def _respond(environment: DependentState, rng: Stream, items: Items, feedback: Clicks) -> None:
    draw_dependent(rng, environment.attraction, environment.abandonment, items, feedback)


@step(regret, DependentState)
def _regret(environment: DependentState, items: Items) -> float:
    n = min(len(items), environment.top)
    unsatisfied = 1.0
    for k in range(n):
        unsatisfied *= 1.0 - environment.abandonment[k] * environment.attraction[items[k]]
    return environment.optimal[n] - (1.0 - unsatisfied)


@step(gains, DependentState, counted=True)
def _gains(environment: DependentState) -> Floats:
    return environment.attraction


class DependentClickModel(ClickEnvironment):
    """Users who scan a list from the top, click what attracts them, and may leave satisfied after a click.

    The reward of a list is the probability of leaving satisfied, `1 - prod (1 - abandonment(k) attraction)`.

    Parameters
    ----------
    attraction
        Probability of a click on each item, once it is seen.
    abandonment
        Probability of leaving after a click, for each position. Lists may be no longer than this.
    name
        Name of the problem in tables and plots.

    Examples
    --------
    >>> users = DependentClickModel([0.5, 0.2, 0.1], abandonment=[0.8, 0.6, 0.5])
    >>> round(users.reward([0, 1]), 3)
    0.472
    >>> users.optimal_list(2), users.click([0, 1, 2], seed=13)
    ([0, 1], [1, 0, 0])

    References
    ----------
    F. Guo, C. Liu, Y. M. Wang. Efficient Multiple-Click Models in Web Search. WSDM 2009.
    S. Katariya, B. Kveton, C. Szepesvári, Z. Wen. DCM Bandits: Learning to Rank with Multiple Clicks. ICML 2016.
    """

    n_positions: int
    offers = (*ClickEnvironment.offers, "abandonment")

    def __init__(self, attraction: npt.ArrayLike, abandonment: npt.ArrayLike, *, name: str = "DCM") -> None:
        super().__init__(attraction, name)
        self.abandonment = check_probabilities("abandonment", abandonment)
        self.n_positions = len(self.abandonment)

    def state_at(self, top: int | None) -> DependentState:
        """What the compiled loop needs to count regret over the first `top` positions (None: over all)."""
        return DependentState(
            np.array(self.attraction), np.array(self.abandonment), self.optimal_rewards, self._check_top(top)
        )

    def _reward(self, attraction: Floats) -> float:
        return 1.0 - float(np.prod(1.0 - self.abandonment[: len(attraction)] * attraction))

    def _weights(self, n_positions: int) -> Floats:
        return self.abandonment[:n_positions]
