"""The dependent click model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankloop.click_models.chain import ChainModel, fit_chain
from rankloop.click_models.estimation import FitSettings
from rankloop.click_models.sessions import Codes, Sessions
from rankloop.kernels.arrays import Floats


class DCM(ChainModel):
    """The dependent click model: attractive items are clicked until a click at position k satisfies, with v(k).

    Has attraction by query-item pair and abandonment v by position. Fitted by counting, as its authors do: all items
    down to the last click count as examined (all of a list with no click), and the last click as the satisfying one.
    With `exact=True` the likelihood itself is maximised, which recovers the parameters of simulated users.

    Examples
    --------
    >>> from rankloop.datasets import ClickLog
    >>> log = ClickLog.from_sessions([("q", "abc", [1, 0, 1]), ("q", "abc", [1, 0, 0]), ("q", "abc", [0, 0, 0])])
    >>> model = DCM.fit(log, smoothing=0)
    >>> {item: round(p, 3) for item, p in model.attraction_of("q").items()}
    {'a': 0.667, 'b': 0.0, 'c': 0.5}
    >>> model.parameters["abandonment"].round(3)
    array([0.5, 1. , 1. ])
    >>> round(model.reward("q", ["a", "b", "c"]), 3)
    0.667

    References
    ----------
    F. Guo, C. Liu, Y. M. Wang. Efficient Multiple-Click Models in Web Search. WSDM 2009.
    """

    shared_parameters = ("abandonment",)

    @classmethod
    def _estimate(
        cls, sessions: Sessions, n_pairs: int, settings: FitSettings
    ) -> tuple[dict[str, Floats], list[float]]:
        fit = fit_chain(sessions, n_pairs, settings, leaving_by_position=True, always_go_on=True, exact=settings.exact)
        return {"attraction": fit.attraction, "abandonment": fit.leaving}, fit.history

    def _going_on(self, lists: Codes) -> tuple[Floats, Floats]:
        after_click = 1 - self.parameters["abandonment"][self._places(lists.shape[1])]
        return np.tile(after_click, (len(lists), 1)), np.ones(lists.shape)

    def reward(self, query: str, items: Sequence[str]) -> float:
        """The probability of leaving the list satisfied."""
        abandonment = self.parameters["abandonment"][self._places(len(items))]
        return 1.0 - float(np.prod(1.0 - abandonment * self.attraction[self.pairs.find(query, items)]))
