"""The dependent click model with preferences that change from epoch to epoch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy.typing as npt

from rankloop.arrays import check_probabilities
from rankloop.environments.dependent_click_model import DependentClickModel
from rankloop.environments.drifting import DriftingEnvironment
from rankloop.kernels.arrays import Floats


class DriftingDependentClickModel(DriftingEnvironment):
    """Users of the dependent click model whose preferences change from epoch to epoch.

    Parameters
    ----------
    attractions, epoch_length, name
        As in `DriftingCascade`.
    abandonment
        Probability of leaving after a click, for each position; it does not change.

    Examples
    --------
    >>> users = DriftingDependentClickModel([[0.5, 0.2], [0.2, 0.5]], [0.8, 0.6], epoch_length=1000)
    >>> round(users.reward([0, 1], at=0), 3), round(users.reward([0, 1], at=1000), 3)
    (0.472, 0.412)
    """

    offers = (*DriftingEnvironment.offers, "abandonment")

    def __init__(
        self,
        attractions: npt.ArrayLike,
        abandonment: npt.ArrayLike,
        epoch_length: int | Sequence[int],
        *,
        name: str = "drifting DCM",
    ) -> None:
        self.abandonment = check_probabilities("abandonment", abandonment)
        super().__init__(attractions, epoch_length, name)

    def _users(self, attraction: Floats) -> DependentClickModel:
        return DependentClickModel(attraction, self.abandonment)
