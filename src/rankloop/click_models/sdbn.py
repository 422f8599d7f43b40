"""The simplified dynamic Bayesian network."""

from __future__ import annotations

import numpy as np

from rankloop.click_models.chain import ChainModel, fit_chain
from rankloop.click_models.estimation import FitSettings
from rankloop.click_models.sessions import Codes, Sessions
from rankloop.kernels.arrays import Floats


class SDBN(ChainModel):
    """The simplified dynamic Bayesian network: as DCM, but how likely a click satisfies depends on the item.

    Has attraction and satisfaction by query-item pair. Fitted by counting on the same assumptions as DCM, or with
    `exact=True` by maximum likelihood.

    Examples
    --------
    >>> from rankloop.datasets import ClickLog
    >>> log = ClickLog.from_sessions([("q", "abc", [1, 0, 1]), ("q", "abc", [1, 0, 0]), ("q", "abc", [0, 0, 0])])
    >>> model = SDBN.fit(log, smoothing=0)
    >>> model.parameters["satisfaction"][model.pairs.of("q")].round(3)
    array([0.5 , 0.75, 1. ])

    References
    ----------
    O. Chapelle, Y. Zhang. A Dynamic Bayesian Network Click Model for Web Search Ranking. WWW 2009.
    """

    pair_parameters = ("attraction", "satisfaction")

    @classmethod
    def _estimate(
        cls, sessions: Sessions, n_pairs: int, settings: FitSettings
    ) -> tuple[dict[str, Floats], list[float]]:
        fit = fit_chain(sessions, n_pairs, settings, leaving_by_position=False, always_go_on=True, exact=settings.exact)
        return {"attraction": fit.attraction, "satisfaction": fit.leaving}, fit.history

    def _going_on(self, lists: Codes) -> tuple[Floats, Floats]:
        return 1 - self.parameters["satisfaction"][lists], np.ones(lists.shape)
