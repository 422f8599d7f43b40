"""The cascade model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankloop.click_models.chain import ChainModel
from rankloop.click_models.estimation import FitSettings, smoothed, typical_mean
from rankloop.click_models.sessions import Codes, Sessions
from rankloop.kernels.arrays import Floats


class CM(ChainModel):
    """The cascade model: the first attractive item is clicked, and the user leaves.

    Fitted by counting: of the times an item was at or above the first click, how often it was that click. Later clicks
    of a session, which the model rules out, are left aside in fitting; in judging they are as unlikely as anything may
    be (`LEAST_PROBABILITY`).

    Examples
    --------
    >>> from rankloop.datasets import ClickLog
    >>> log = ClickLog.from_sessions([("q", "ab", [0, 1])] * 3 + [("q", "ab", [1, 0])])
    >>> model = CM.fit(log, smoothing=0)
    >>> {item: round(p, 6) for item, p in model.attraction_of("q").items()}
    {'a': 0.25, 'b': 1.0}
    >>> model.reward("q", ["a"])
    0.25

    References
    ----------
    N. Craswell, O. Zoeter, M. Taylor, B. Ramsey. An Experimental Comparison of Click Position-Bias Models. WSDM 2008.
    """

    @classmethod
    def _estimate(
        cls, sessions: Sessions, n_pairs: int, settings: FitSettings
    ) -> tuple[dict[str, Floats], list[float]]:
        clicked, seen = np.zeros(n_pairs), np.zeros(n_pairs)
        for pairs, clicks, weight in sessions.blocks():
            before = np.cumsum(clicks, axis=1) - clicks
            examined = (before == 0) & (pairs >= 0)
            first = examined & (clicks > 0)
            weights = np.broadcast_to(weight[:, None], clicks.shape)
            seen += np.bincount(pairs[examined], weights[examined], n_pairs)
            clicked += np.bincount(pairs[first], weights[first], n_pairs)
        mean = typical_mean(clicked, seen, settings.smoothing)
        return {"attraction": np.append(smoothed(clicked, seen, mean, settings.smoothing), mean)}, []

    def _going_on(self, lists: Codes) -> tuple[Floats, Floats]:
        return np.zeros(lists.shape), np.ones(lists.shape)

    def reward(self, query: str, items: Sequence[str]) -> float:
        """The probability of a click on the list."""
        return 1.0 - float(np.prod(1.0 - self.attraction[self.pairs.find(query, items)]))
