"""The dynamic Bayesian network."""

from __future__ import annotations

import numpy as np

from rankloop.click_models.chain import ChainModel, fit_chain
from rankloop.click_models.estimation import FitSettings
from rankloop.click_models.sessions import Codes, Sessions
from rankloop.kernels.arrays import Floats


class DBN(ChainModel):
    """The dynamic Bayesian network: as SDBN, and users who are not satisfied may still give up at any position.

    Has attraction and satisfaction by query-item pair and one probability of giving up, `abandonment`. Fitted by EM
    with an exact E-step.

    Examples
    --------
    >>> from rankloop.datasets import synthetic_click_log
    >>> model = DBN.fit(synthetic_click_log(2000, seed=1))
    >>> bool(np.all(np.diff(model.history) >= 0))
    True

    References
    ----------
    O. Chapelle, Y. Zhang. A Dynamic Bayesian Network Click Model for Web Search Ranking. WWW 2009.
    """

    pair_parameters = ("attraction", "satisfaction")
    shared_parameters = ("abandonment",)
    shared_dimensions = 0

    @classmethod
    def _estimate(
        cls, sessions: Sessions, n_pairs: int, settings: FitSettings
    ) -> tuple[dict[str, Floats], list[float]]:
        fit = fit_chain(sessions, n_pairs, settings, leaving_by_position=False, always_go_on=False, exact=True)
        abandonment = np.array(1 - fit.going_on)
        return {"attraction": fit.attraction, "satisfaction": fit.leaving, "abandonment": abandonment}, fit.history

    def _going_on(self, lists: Codes) -> tuple[Floats, Floats]:
        going_on = 1 - float(self.parameters["abandonment"])
        return going_on * (1 - self.parameters["satisfaction"][lists]), np.full(lists.shape, going_on)
