"""The position-based model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankloop.click_models.browsing import BrowsingModel, fit_browsing
from rankloop.click_models.estimation import FitSettings
from rankloop.click_models.sessions import Sessions
from rankloop.kernels.arrays import Floats


class PBM(BrowsingModel):
    """The position-based model: a position is examined with a probability of its own, then clicked if attractive.

    Has attraction by query-item pair and examination by position. Fitted by EM. Only the products of the two can be
    told from clicks: smoothing, and lists in different orders, settle the scale.

    Examples
    --------
    >>> from rankloop.datasets import synthetic_click_log
    >>> model = PBM.fit(synthetic_click_log(2000, seed=1))
    >>> len(model.parameters["examination"])
    10

    References
    ----------
    M. Richardson, E. Dominowska, R. Ragno. Predicting Clicks: Estimating the Click-Through Rate for New Ads. WWW 2007.
    """

    @classmethod
    def _estimate(
        cls, sessions: Sessions, n_pairs: int, settings: FitSettings
    ) -> tuple[dict[str, Floats], list[float]]:
        n = sessions.n_positions
        place_of = np.repeat(np.arange(n, dtype=np.int32)[:, None], n, axis=1)
        attraction, examination, history = fit_browsing(sessions, n_pairs, settings, place_of)
        return {"attraction": attraction, "examination": examination}, history

    def _examination(self, n_positions: int) -> Floats:
        by_position = self.parameters["examination"][self._places(n_positions)]
        return np.repeat(by_position[:, None], n_positions, axis=1)

    def reward(self, query: str, items: Sequence[str]) -> float:
        """The expected number of clicks on the list."""
        return float(np.sum(self.click_probabilities(query, items)))
