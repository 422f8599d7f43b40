"""The users that the naive click policies meet: of the cascade model, or of the position-based model."""

import numba
import numpy as np


def as_array(examination):
    """Examination as compiled code takes it: none of it means the cascade model."""
    return np.zeros(0) if examination is None else np.asarray(examination, np.float64)


@numba.njit(nogil=True)
def respond(attraction, examination, shown, clicks):
    """Draw the clicks on a list."""
    clicks[:] = 0
    for k in range(len(shown)):
        if len(examination) > 0:
            clicks[k] = np.random.random() < examination[k] * attraction[shown[k]]
        elif np.random.random() < attraction[shown[k]]:
            clicks[k] = 1
            break


@numba.njit(nogil=True)
def loss(attraction, examination, best, shown):
    """The expected clicks that a list loses to the best one."""
    if len(examination) > 0:
        lost = 0.0
        for k in range(len(shown)):
            lost += examination[k] * (best[k] - attraction[shown[k]])
        return lost
    missed, missed_best = 1.0, 1.0
    for k in range(len(shown)):
        missed *= 1 - attraction[shown[k]]
        missed_best *= 1 - best[k]
    return missed - missed_best
