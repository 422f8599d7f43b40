"""The user browsing model."""

from __future__ import annotations

import numpy as np

from rankloop.click_models.browsing import BrowsingModel, fit_browsing
from rankloop.click_models.estimation import FitSettings
from rankloop.click_models.sessions import Sessions
from rankloop.kernels.arrays import Floats


class UBM(BrowsingModel):
    """The user browsing model: whether a position is examined depends on it and on where the last click above was.

    Has attraction by query-item pair, and examination by position k and last click: `examination[k, 0]` with no click
    above, `examination[k, i + 1]` with the last one at position i, both counted from 0. Fitted by EM.

    Examples
    --------
    >>> from rankloop.datasets import synthetic_click_log
    >>> model = UBM.fit(synthetic_click_log(2000, seed=1))
    >>> model.parameters["examination"].shape
    (10, 10)

    References
    ----------
    G. Dupret, B. Piwowarski. A User Browsing Model to Predict Search Engine Click Data from Past Observations.
    SIGIR 2008.
    """

    shared_dimensions = 2

    @classmethod
    def _estimate(
        cls, sessions: Sessions, n_pairs: int, settings: FitSettings
    ) -> tuple[dict[str, Floats], list[float]]:
        n = sessions.n_positions
        place_of = np.arange(n * n, dtype=np.int32).reshape(n, n)
        attraction, examination, history = fit_browsing(sessions, n_pairs, settings, place_of)
        return {"attraction": attraction, "examination": np.tril(examination.reshape(n, n))}, history

    def _examination(self, n_positions: int) -> Floats:
        places = self._places(n_positions)
        return self.parameters["examination"][places[:, None], places]
