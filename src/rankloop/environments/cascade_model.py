"""The cascade model: users click the first attractive item and leave."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankloop.click_models.draws import draw_cascade
from rankloop.environments.click_environment import ClickEnvironment
from rankloop.kernels import gains, regret, respond, step
from rankloop.kernels.arrays import Clicks, Floats, Items, Stream


class CascadeState(NamedTuple):
    attraction: Floats
    optimal: Floats
    top: int


@step(respond, CascadeState)
def _respond(environment: CascadeState, rng: Stream, items: Items, feedback: Clicks) -> None:
    draw_cascade(rng, environment.attraction, items, feedback)


@step(regret, CascadeState)
def _regret(environment: CascadeState, items: Items) -> float:
    n = min(len(items), environment.top)
    unclicked = 1.0
    for k in range(n):
        unclicked *= 1.0 - environment.attraction[items[k]]
    return environment.optimal[n] - (1.0 - unclicked)


@step(gains, CascadeState, counted=True)
def _gains(environment: CascadeState) -> Floats:
    return environment.attraction


class CascadeModel(ClickEnvironment):
    """Users who scan a list from the top, click the first item that attracts them, and leave.

    The reward of a list is the probability of a click, `1 - prod (1 - attraction)`.

    Parameters
    ----------
    attraction
        Probability of a click on each item, once it is seen.
    name
        Name of the problem in tables and plots.

    Examples
    --------
    >>> users = CascadeModel([0.5, 0.2, 0.1])
    >>> users.reward([1, 0])
    0.6
    >>> users.optimal_list(2), round(users.regret([1, 2]), 2)
    ([0, 1], 0.32)
    >>> users.click([0, 1, 2], seed=4)
    [1, 0, 0]

    References
    ----------
    N. Craswell, O. Zoeter, M. Taylor, B. Ramsey. An Experimental Comparison of Click Position-Bias Models. WSDM 2008.
    """

    def __init__(self, attraction: npt.ArrayLike, *, name: str = "CM") -> None:
        super().__init__(attraction, name)

    def state_at(self, top: int | None) -> CascadeState:
        """What the compiled loop needs to count regret over the first `top` positions (None: over all)."""
        return CascadeState(np.array(self.attraction), self.optimal_rewards, self._check_top(top))

    def _reward(self, attraction: Floats) -> float:
        return 1.0 - float(np.prod(1.0 - attraction))

    def _weights(self, n_positions: int) -> Floats:
        return np.ones(n_positions)
