"""Users who go down the list, as CM, DCM, SDBN and DBN have it.

All four are one chain. An examined item is clicked with its attraction. After a click the user goes on to the next
position with one probability, after a skip with another; nothing below the end of the scan is clicked.
"""

from __future__ import annotations

import math

import numpy as np

from rankloop.click_models.sessions import Codes, Sessions
from rankloop.kernels import Clicks, Floats, entry


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
