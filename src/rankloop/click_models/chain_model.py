"""Base of the models of users who go down the list."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankloop.click_models import chain
from rankloop.click_models.base import ClickModel
from rankloop.click_models.estimation import SMALLEST, Settings, maximise, penalty, smoothed, typical_mean
from rankloop.click_models.sessions import Codes, Sessions
from rankloop.kernels import Clicks, Floats


class ChainModel(ClickModel):
    """A model of users who go down the list."""

    def _rates(self, lists: Codes) -> tuple[Floats, Floats, Floats]:
        """The attraction, and the probability of going on after a click and after a skip, at each position."""
        after_click, after_skip = self._going_on(lists)
        return self.attraction[lists], after_click, after_skip

    def _going_on(self, lists: Codes) -> tuple[Floats, Floats]:
        raise NotImplementedError

    def _marginals(self, lists: Codes) -> Floats:
        return chain.marginals(*self._rates(lists))

    def _conditionals(self, lists: Codes, clicks: Clicks) -> Floats:
        return chain.conditionals(*self._rates(lists), clicks)

    def _draw(self, lists: Codes, rng: np.random.Generator) -> Clicks:
        return chain.draw(*self._rates(lists), rng)


class ChainFit(NamedTuple):
    """A fitted chain: attraction and leaving by pair with that of unknown pairs last, or leaving by position."""

    attraction: Floats
    leaving: Floats
    going_on: float
    history: list[float]


def fit_chain(
    sessions: Sessions, n_pairs: int, settings: Settings, *, leaving_by_position: bool, always_go_on: bool, exact: bool
) -> ChainFit:
    """Fit a chain by counting, as if users were satisfied with their last click, and if `exact` go on from there by EM.

    `going_on` is the probability of examining the next position where the user is not satisfied.
    """
    smoothing = settings.smoothing
    clicked, seen, ended, by_position = chain.counts_to_last_click(sessions, n_pairs)
    attraction_mean = typical_mean(clicked, seen, smoothing)
    attraction = smoothed(clicked, seen, attraction_mean, smoothing)
    if leaving_by_position:
        could_leave, left = by_position
        leaving_mean = 0.5
        leaving_of = np.tile(np.arange(sessions.n_positions, dtype=np.int32), (len(sessions.lists), 1))
    else:
        could_leave, left = clicked, ended
        leaving_mean = typical_mean(left, could_leave, smoothing)
        leaving_of = sessions.lists
    leaving = smoothed(left, could_leave, leaving_mean, smoothing)
    going_on = np.array([1 - SMALLEST if always_go_on else 0.9])

    def iterate() -> tuple[float, float]:
        nonlocal attraction, leaving, going_on, could_leave
        attracted, seen, left, could_leave, went_on = (
            np.zeros(n) for n in (n_pairs, n_pairs, len(leaving), len(leaving), 2)
        )
        likelihood = chain.expect(
            sessions.lists, sessions.of_list, sessions.clicks, sessions.weight, leaving_of, attraction, leaving,
            float(going_on[0]), attracted, seen, left, could_leave, went_on,
        )  # fmt: skip
        objective = likelihood + penalty(attraction, attraction_mean, smoothing)
        objective += penalty(leaving, leaving_mean, smoothing)
        attraction = smoothed(attracted, seen, attraction_mean, smoothing)
        leaving = smoothed(left, could_leave, leaving_mean, smoothing)
        if not always_go_on:
            objective += penalty(going_on, 0.5, smoothing)
            going_on = smoothed(went_on[:1], went_on[1:], 0.5, smoothing)
        return objective, likelihood

    history = maximise(iterate, sessions.n_sessions, settings) if exact else []
    if leaving_by_position:
        leaving[could_leave == 0] = 1 - SMALLEST  # nothing lies below: whoever clicks here leaves
    else:
        leaving = np.append(leaving, leaving_mean)
    return ChainFit(np.append(attraction, attraction_mean), leaving, float(going_on[0]), history)
