"""The position-based model with preferences that change from epoch to epoch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy.typing as npt

from rankloop.arrays import check_probabilities
from rankloop.environments.drifting import DriftingEnvironment
from rankloop.environments.position_based_model import PositionBasedModel
from rankloop.kernels.arrays import Floats


class DriftingPositionBasedModel(DriftingEnvironment):
    """Users of the position-based model whose preferences change from epoch to epoch.

    Parameters
    ----------
    attractions, epoch_length, name
        As in `DriftingCascade`.
    examination
        Probability with which each position is seen; it does not change.

    Examples
    --------
    >>> users = DriftingPositionBasedModel([[0.5, 0.2], [0.2, 0.5]], [1.0, 0.5], epoch_length=[1000, 500])
    >>> users.reward([0, 1], at=0), users.reward([0, 1], at=1000)
    (0.6, 0.45)
    """

    offers = (*DriftingEnvironment.offers, "examination")

    def __init__(
        self,
        attractions: npt.ArrayLike,
        examination: npt.ArrayLike,
        epoch_length: int | Sequence[int],
        *,
        name: str = "drifting PBM",
    ) -> None:
        self.examination = check_probabilities("examination", examination)
        super().__init__(attractions, epoch_length, name)

    def _users(self, attraction: Floats) -> PositionBasedModel:
        return PositionBasedModel(attraction, self.examination)
