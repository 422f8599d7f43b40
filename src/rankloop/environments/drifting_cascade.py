"""The cascade model with preferences that change from epoch to epoch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy.typing as npt

from rankloop.environments.cascade_model import CascadeModel
from rankloop.environments.drifting import DriftingEnvironment
from rankloop.kernels.arrays import Floats


class DriftingCascade(DriftingEnvironment):
    """Users of the cascade model whose preferences change from epoch to epoch, without notice to policies.

    Each list that is answered takes one step. After the last epoch the first one begins again. The regret of a list is
    measured against the best list at that step.

    Parameters
    ----------
    attractions
        Probability of a click on each item, once it is seen: one row for each epoch.
    epoch_length
        Number of lists that an epoch lasts: one number for all epochs, or one for each.
    name
        Name of the problem in tables and plots.

    Examples
    --------
    >>> users = DriftingCascade([[0.5, 0.2, 0.1], [0.1, 0.2, 0.5]], epoch_length=[1000, 500])
    >>> users.epoch_at(999), users.epoch_at(1000), users.epoch_at(1500)
    (0, 1, 0)
    >>> users.optimal_list(2, at=0), users.optimal_list(2, at=1000)
    ([0, 1], [2, 1])
    >>> round(users.regret([0, 1], at=1000), 2)
    0.32

    References
    ----------
    C. Li, M. de Rijke. Cascading Non-Stationary Bandits: Online Learning to Rank in the Non-Stationary Cascade Model.
    IJCAI 2019.
    """

    def __init__(
        self, attractions: npt.ArrayLike, epoch_length: int | Sequence[int], *, name: str = "drifting CM"
    ) -> None:
        super().__init__(attractions, epoch_length, name)

    def _users(self, attraction: Floats) -> CascadeModel:
        return CascadeModel(attraction)
