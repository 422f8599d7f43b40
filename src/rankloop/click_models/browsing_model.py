"""Base of the models of users who look at positions."""

from __future__ import annotations

import numpy as np

from rankloop.click_models import browsing, chain
from rankloop.click_models.base import ClickModel
from rankloop.click_models.estimation import Settings, maximise, penalty, smoothed, typical_mean
from rankloop.click_models.sessions import Codes, Sessions
from rankloop.kernels import Clicks, Floats


class BrowsingModel(ClickModel):
    """A model of users who look at positions."""

    shared_parameters = ("examination",)

    def _examination(self, n_positions: int) -> Floats:
        """The probability of examining each position, by where the last click above was."""
        raise NotImplementedError

    def _marginals(self, lists: Codes) -> Floats:
        return browsing.marginals(self.attraction[lists], self._examination(lists.shape[1]))

    def _conditionals(self, lists: Codes, clicks: Clicks) -> Floats:
        return browsing.conditionals(self.attraction[lists], self._examination(lists.shape[1]), clicks)

    def _draw(self, lists: Codes, rng: np.random.Generator) -> Clicks:
        return browsing.draw(self.attraction[lists], self._examination(lists.shape[1]), rng)


def fit_browsing(
    sessions: Sessions, n_pairs: int, settings: Settings, place_of: Codes
) -> tuple[Floats, Floats, list[float]]:
    """Fit by EM: attraction with that of unknown pairs last, examination by place, and the objectives.

    `place_of[k, j]` numbers the parameter of examining position k when the last click above was at j - 1.
    """
    smoothing = settings.smoothing
    clicked, seen, _, _ = chain.counts_to_last_click(sessions, n_pairs)
    attraction_mean = typical_mean(clicked, seen, smoothing)
    attraction = smoothed(clicked, seen, attraction_mean, smoothing)
    n_places = int(place_of.max()) + 1
    examination = np.full(n_places, 0.5)

    def iterate() -> tuple[float, float]:
        nonlocal attraction, examination
        attracted, seen, examined, shown = (np.zeros(n) for n in (n_pairs, n_pairs, n_places, n_places))
        likelihood = browsing.expect(
            sessions.lists, sessions.of_list, sessions.clicks, sessions.weight, place_of, attraction, examination,
            attracted, seen, examined, shown,
        )  # fmt: skip
        objective = likelihood + penalty(attraction, attraction_mean, smoothing)
        objective += penalty(examination, 0.5, smoothing)
        attraction = smoothed(attracted, seen, attraction_mean, smoothing)
        examination = smoothed(examined, shown, 0.5, smoothing)
        return objective, likelihood

    history = maximise(iterate, sessions.n_sessions, settings)
    return np.append(attraction, attraction_mean), examination, history
