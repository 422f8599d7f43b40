"""Users who look at positions, as PBM and UBM have it: an examined item is clicked with its attraction.

Whether a position is examined depends on it alone (PBM), or also on where the last click above it was (UBM).
`examination[k, j]` is the probability of examining position k, where j = 0 means no click above and j = i + 1 that the
last one was at position i.
"""

from __future__ import annotations

import math

import numpy as np

from rankloop.click_models.base import ClickModel
from rankloop.click_models.chain import counts_to_last_click
from rankloop.click_models.estimation import FitSettings, maximise_likelihood, penalty, smoothed, typical_mean
from rankloop.click_models.sessions import Codes, Sessions
from rankloop.kernels import entry
from rankloop.kernels.arrays import Clicks, Floats


def marginals(attraction: Floats, examination: Floats) -> Floats:
    """The probability of a click at each position of each list."""
    n, n_positions = attraction.shape
    clicked = np.zeros((n, n_positions))
    # last[:, j] is the probability that the last click so far was at j - 1.
    last = np.zeros((n, n_positions + 1))
    last[:, 0] = 1.0
    for k in range(n_positions):
        arriving = last[:, : k + 1] * (attraction[:, k, None] * examination[k, : k + 1])
        last[:, : k + 1] -= arriving
        clicked[:, k] = last[:, k + 1] = arriving.sum(axis=1)
    return clicked


def conditionals(attraction: Floats, examination: Floats, clicks: Clicks) -> Floats:
    """The probability of a click at each position, given the clicks above it."""
    clicked = np.empty_like(attraction)
    last = np.zeros(len(attraction), np.int64)
    for k in range(attraction.shape[1]):
        clicked[:, k] = attraction[:, k] * examination[k, last]
        last[clicks[:, k] > 0] = k + 1
    return clicked


def draw(attraction: Floats, examination: Floats, rng: np.random.Generator) -> Clicks:
    """Clicks of one user on each list."""
    clicks = np.zeros(attraction.shape, np.uint8)
    last = np.zeros(len(attraction), np.int64)
    for k in range(attraction.shape[1]):
        clicks[:, k] = rng.random(len(last)) < attraction[:, k] * examination[k, last]
        last[clicks[:, k] > 0] = k + 1
    return clicks


@entry
def expect(lists: Codes, of_list: Codes, clicks: Clicks, weight: Floats, place_of: Codes, attraction: Floats,
           examination: Floats, attracted: Floats, seen: Floats, examined: Floats, shown: Floats) -> float:  # fmt: skip
    """One E-step, exact: expected counts given the clicks, added to the last four arguments.

    `examination[place_of[k, j]]` is the probability of examining position k with the last click at j - 1. An item
    counts as tried when it was examined, so `seen` is an expectation and `attracted` is not. Returns the
    log-likelihood.
    """
    n_positions = lists.shape[1]
    total = 0.0
    for j in range(len(of_list)):
        g = of_list[j]
        w = weight[j]
        last = 0
        likelihood = 1.0
        for k in range(n_positions):
            pair = lists[g, k]
            if pair < 0:
                break
            place = place_of[k, last]
            shown[place] += w
            a = attraction[pair]
            e = examination[place]
            if clicks[j, k]:
                examined[place] += w
                attracted[pair] += w
                seen[pair] += w
                likelihood *= a * e
                last = k + 1
            else:
                unclicked = 1.0 - a * e
                expected = w * e * (1.0 - a) / unclicked
                examined[place] += expected
                seen[pair] += expected
                likelihood *= unclicked
            if likelihood < 1e-200:
                total += w * math.log(likelihood)
                likelihood = 1.0
        total += w * math.log(likelihood)
    return total


class BrowsingModel(ClickModel):
    """A model of users who look at positions."""

    shared_parameters = ("examination",)

    def _examination(self, n_positions: int) -> Floats:
        """The probability of examining each position, by where the last click above was."""
        raise NotImplementedError

    def _marginals(self, lists: Codes) -> Floats:
        return marginals(self.attraction[lists], self._examination(lists.shape[1]))

    def _conditionals(self, lists: Codes, clicks: Clicks) -> Floats:
        return conditionals(self.attraction[lists], self._examination(lists.shape[1]), clicks)

    def _draw(self, lists: Codes, rng: np.random.Generator) -> Clicks:
        return draw(self.attraction[lists], self._examination(lists.shape[1]), rng)


def fit_browsing(
    sessions: Sessions, n_pairs: int, settings: FitSettings, place_of: Codes
) -> tuple[Floats, Floats, list[float]]:
    """Fit by EM: attraction with that of unknown pairs last, examination by place, and the objectives.

    `place_of[k, j]` numbers the parameter of examining position k when the last click above was at j - 1.
    """
    smoothing = settings.smoothing
    clicked, seen, _, _ = counts_to_last_click(sessions, n_pairs)
    attraction_mean = typical_mean(clicked, seen, smoothing)
    attraction = smoothed(clicked, seen, attraction_mean, smoothing)
    n_places = int(place_of.max()) + 1
    examination = np.full(n_places, 0.5)

    def iterate() -> tuple[float, float]:
        nonlocal attraction, examination
        attracted, seen, examined, shown = (np.zeros(n) for n in (n_pairs, n_pairs, n_places, n_places))
        likelihood = expect(
            sessions.lists, sessions.of_list, sessions.clicks, sessions.weight, place_of, attraction, examination,
            attracted, seen, examined, shown,
        )  # fmt: skip
        objective = likelihood + penalty(attraction, attraction_mean, smoothing)
        objective += penalty(examination, 0.5, smoothing)
        attraction = smoothed(attracted, seen, attraction_mean, smoothing)
        examination = smoothed(examined, shown, 0.5, smoothing)
        return objective, likelihood

    history = maximise_likelihood(iterate, sessions.n_sessions, settings)
    return np.append(attraction, attraction_mean), examination, history
