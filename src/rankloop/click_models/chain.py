"""Users who go down the list, as CM, DCM, SDBN and DBN have it.

All four are one chain. An examined item is clicked with its attraction. After a click the user goes on to the next
position with one probability, after a skip with another; nothing below the end of the scan is clicked.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rankloop.click_models.base import ClickModel
from rankloop.click_models.estimation import SMALLEST, FitSettings, maximise_likelihood, penalty, smoothed, typical_mean
from rankloop.click_models.sessions import Codes, Sessions
from rankloop.kernels import entry
from rankloop.kernels.arrays import Clicks, Floats


def marginals(attraction: Floats, after_click: Floats, after_skip: Floats) -> Floats:
    """The probability of a click at each position of each list."""
    clicked = np.empty_like(attraction)
    examined = np.ones(len(attraction))
    for k in range(attraction.shape[1]):
        a = attraction[:, k]
        clicked[:, k] = examined * a
        examined = examined * (a * after_click[:, k] + (1 - a) * after_skip[:, k])
    return clicked


def conditionals(attraction: Floats, after_click: Floats, after_skip: Floats, clicks: Clicks) -> Floats:
    """The probability of a click at each position, given the clicks above it."""
    clicked = np.empty_like(attraction)
    examined = np.ones(len(attraction))
    for k in range(attraction.shape[1]):
        a = attraction[:, k]
        p = clicked[:, k] = examined * a
        with np.errstate(invalid="ignore", divide="ignore"):
            still = np.where(p < 1, examined * (1 - a) / (1 - p), 0.0)
        examined = np.where(clicks[:, k] > 0, after_click[:, k], still * after_skip[:, k])
    return clicked


def draw(attraction: Floats, after_click: Floats, after_skip: Floats, rng: np.random.Generator) -> Clicks:
    """Clicks of one user on each list."""
    clicks = np.zeros(attraction.shape, np.uint8)
    examined = np.ones(len(attraction), bool)
    for k in range(attraction.shape[1]):
        clicked = examined & (rng.random(len(examined)) < attraction[:, k])
        clicks[:, k] = clicked
        going_on = np.where(clicked, after_click[:, k], after_skip[:, k])
        examined &= rng.random(len(examined)) < going_on
    return clicks


def counts_to_last_click(sessions: Sessions, n_pairs: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Shown and clicked, by pair, down to the last click (all of a list with none); last clicks by pair and position.

    Returns the clicks and the views of each pair, the sessions that ended with it, and a table of clicks and last
    clicks by position.
    """
    clicked, seen, ended = (np.zeros(n_pairs) for _ in range(3))
    by_position = np.zeros((2, sessions.n_positions))
    for pairs, clicks, weight in sessions.blocks():
        n_positions = clicks.shape[1]
        last = n_positions - 1 - clicks[:, ::-1].argmax(axis=1)
        last[~clicks.any(axis=1)] = n_positions
        at = np.arange(n_positions)
        examined = (at <= last[:, None]) & (pairs >= 0)
        weights = np.broadcast_to(weight[:, None], clicks.shape)
        is_click = clicks > 0
        is_last = is_click & (at == last[:, None])
        seen += np.bincount(pairs[examined], weights[examined], n_pairs)
        clicked += np.bincount(pairs[is_click], weights[is_click], n_pairs)
        ended += np.bincount(pairs[is_last], weights[is_last], n_pairs)
        by_position[0] += (is_click * weights).sum(axis=0)
        by_position[1] += (is_last * weights).sum(axis=0)
    return clicked, seen, ended, by_position


@entry
def expect(lists: Codes, of_list: Codes, clicks: Clicks, weight: Floats, leaving_of: Codes, attraction: Floats,
           leaving: Floats, going_on: float, attracted: Floats, seen: Floats, left: Floats, could_leave: Floats,
           went_on: Floats) -> float:  # fmt: skip
    """One E-step, exact: expected counts given the clicks, added to the last five arguments.

    `leaving[leaving_of[list, k]]` is the probability to leave satisfied after a click at k, `going_on` that of going
    on from any position otherwise. Returns the log-likelihood.
    """
    n_positions = lists.shape[1]
    quiet = np.ones(n_positions + 1)
    total = 0.0
    for j in range(len(of_list)):
        g = of_list[j]
        w = weight[j]
        n = n_positions
        while n > 0 and lists[g, n - 1] < 0:
            n -= 1
        last = -1
        for k in range(n):
            if clicks[j, k]:
                last = k
        likelihood = 1.0
        # Down to the last click everything is known.
        for k in range(last + 1):
            pair = lists[g, k]
            seen[pair] += w
            if clicks[j, k]:
                attracted[pair] += w
                likelihood *= attraction[pair]
                if k < last:
                    could_leave[leaving_of[g, k]] += w
                    likelihood *= 1.0 - leaving[leaving_of[g, k]]
            else:
                likelihood *= 1.0 - attraction[pair]
            if k < last:
                went_on[0] += w
                went_on[1] += w
                likelihood *= going_on
            if likelihood < 1e-200:
                total += w * math.log(likelihood)
                likelihood = 1.0
        # Below it the user had left, or went on and saw nothing to click: quiet[k] = P(no click from k on | k seen).
        quiet[n] = 1.0
        for k in range(n - 1, last, -1):
            below = 1.0 - going_on + going_on * quiet[k + 1]
            quiet[k] = (1.0 - attraction[lists[g, k]]) * below
        examined = w
        if last < 0:
            likelihood *= quiet[0]
        else:
            examined = 0.0
            if last < n - 1:
                place = leaving_of[g, last]
                below = 1.0 - going_on + going_on * quiet[last + 1]
                silence = leaving[place] + (1.0 - leaving[place]) * below
                likelihood *= silence
                satisfied = w * leaving[place] / silence
                left[place] += satisfied
                could_leave[place] += w
                examined = (w - satisfied) * going_on * quiet[last + 1] / below
                went_on[0] += examined
                went_on[1] += w - satisfied
        for k in range(last + 1, n):
            seen[lists[g, k]] += examined
            if k < n - 1:
                went_on[1] += examined
                examined *= going_on * quiet[k + 1] / (1.0 - going_on + going_on * quiet[k + 1])
                went_on[0] += examined
        total += w * math.log(likelihood)
    return total


class ChainModel(ClickModel):
    """A model of users who go down the list."""

    def _rates(self, lists: Codes) -> tuple[Floats, Floats, Floats]:
        """The attraction, and the probability of going on after a click and after a skip, at each position."""
        after_click, after_skip = self._going_on(lists)
        return self.attraction[lists], after_click, after_skip

    def _going_on(self, lists: Codes) -> tuple[Floats, Floats]:
        raise NotImplementedError

    def _marginals(self, lists: Codes) -> Floats:
        return marginals(*self._rates(lists))

    def _conditionals(self, lists: Codes, clicks: Clicks) -> Floats:
        return conditionals(*self._rates(lists), clicks)

    def _draw(self, lists: Codes, rng: np.random.Generator) -> Clicks:
        return draw(*self._rates(lists), rng)


class ChainFit(NamedTuple):
    """A fitted chain: attraction and leaving by pair with that of unknown pairs last, or leaving by position."""

    attraction: Floats
    leaving: Floats
    going_on: float
    history: list[float]


def fit_chain(
    sessions: Sessions,
    n_pairs: int,
    settings: FitSettings,
    *,
    leaving_by_position: bool,
    always_go_on: bool,
    exact: bool,
) -> ChainFit:
    """Fit a chain by counting, as if users were satisfied with their last click, and if `exact` go on from there by EM.

    `going_on` is the probability of examining the next position where the user is not satisfied.
    """
    smoothing = settings.smoothing
    clicked, seen, ended, by_position = counts_to_last_click(sessions, n_pairs)
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
        likelihood = expect(
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

    history = maximise_likelihood(iterate, sessions.n_sessions, settings) if exact else []
    if leaving_by_position:
        leaving[could_leave == 0] = 1 - SMALLEST  # nothing lies below: whoever clicks here leaves
    else:
        leaving = np.append(leaving, leaving_mean)
    return ChainFit(np.append(attraction, attraction_mean), leaving, float(going_on[0]), history)
