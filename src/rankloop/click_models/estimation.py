"""Smoothing, and expectation maximisation: what the six fits have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rankloop.checks import check_number
from rankloop.kernels.arrays import Floats

SMALLEST = 1e-12
"""Fitted probabilities keep this distance from 0 and 1, so that nothing observed is ever impossible."""

FitProgress = Callable[[int, float], None]
"""Called after each iteration of EM with its number and the log-likelihood per session so far."""


class FitSettings(NamedTuple):
    """How to fit; `ClickModel.fit` says what each means."""

    smoothing: float
    exact: bool
    tolerance: float
    max_iterations: int
    progress: FitProgress | None

    def check(self) -> None:
        """Refuse what makes no sense."""
        check_number("smoothing", self.smoothing, 0)
        check_number("tolerance", self.tolerance, 0)
        check_number("max_iterations", self.max_iterations, 1)


def smoothed(successes: Floats, trials: Floats, mean: float, smoothing: float) -> Floats:
    """The estimate after `smoothing` more trials with a share `mean` of successes; `mean` itself with no trial."""
    with np.errstate(invalid="ignore", divide="ignore"):
        estimate = (successes + smoothing * mean) / (trials + smoothing)
    estimate[trials + smoothing == 0] = mean
    return np.clip(estimate, SMALLEST, 1 - SMALLEST)


def typical_mean(successes: Floats, trials: Floats, smoothing: float) -> float:
    """The mean that smoothing towards it reproduces: the average of the smoothed estimates over all that were tried.

    With little smoothing it is the plain average over pairs, with much the pooled rate: so a pair never seen before
    is expected to be like those seen rarely rather than like the few that make up most of the log.
    """
    tried = trials > 0
    if not tried.any():
        return 0.5
    s, n = successes[tried], trials[tried]
    return float(np.clip((s / (n + smoothing)).sum() / (n / (n + smoothing)).sum(), SMALLEST, 1 - SMALLEST))


def penalty(values: Floats, mean: float, smoothing: float) -> float:
    """The log-likelihood of the pseudo-observations."""
    if smoothing == 0:
        return 0.0
    return smoothing * float(mean * np.log(values).sum() + (1 - mean) * np.log1p(-values).sum())


def maximise_likelihood(
    iterate: Callable[[], tuple[float, float]], n_sessions: int, settings: FitSettings
) -> list[float]:
    """Repeat an EM iteration until it gains less than the tolerance.

    `iterate` makes one step and returns, of the parameters before it, the objective (log-likelihood of log and
    pseudo-observations, which never falls) and the log-likelihood. The objectives per session are returned.
    """
    history: list[float] = []
    for number in range(1, settings.max_iterations + 1):
        objective, likelihood = iterate()
        history.append(objective / n_sessions)
        if settings.progress is not None:
            settings.progress(number, likelihood / n_sessions)
        if number > 1 and history[-1] - history[-2] < settings.tolerance:
            break
    return history
