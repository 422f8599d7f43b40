"""Ridge regression of clicks on features, one observation at a time.

With phi the features of an item as it was shown, the model keeps the precision `ridge I + sum phi phi'`, its inverse,
and the weights, inverse times `sum click phi`. The thesis' block form (H, B, M) is this one written in parts.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rankloop.kernels import compiled, inlined, normal, rare
from rankloop.kernels.arrays import Floats, Ints, Stream

SINCE_REFACTORED, FACTORED, N_COUNTERS = range(3)

REFACTOR_AFTER = 512
"""Observations after which the inverse is computed anew: each update leaves a rounding error behind."""

LARGE_STEP = 1e4
"""An observation that shrinks the inverse so many times leaves a large error, and has it computed anew at once."""

SMALLEST_PIVOT = 1e-14
"""Of a diagonal entry: what rounding may leave of it where features depend on each other and the ridge is small."""


class Ridge(NamedTuple):
    """What is known of one user, or of one segment of users."""

    precision: Floats
    covariance: Floats
    evidence: Floats
    weights: Floats
    factor: Floats
    """A lower triangle whose square is the precision, where FACTORED says that it is up to date."""
    counters: Ints


def new_ridge(n_features: int, ridge: float) -> Ridge:
    """A model that has seen nothing."""
    return Ridge(
        precision=np.eye(n_features) * ridge,
        covariance=np.eye(n_features) / ridge,
        evidence=np.zeros(n_features),
        weights=np.zeros(n_features),
        factor=np.eye(n_features) * math.sqrt(ridge),
        counters=np.array([0, 1], np.int64),
    )


@inlined
def observe(model: Ridge, phi: Floats, along: Floats, click: float) -> None:
    """Learn from one item: a rank-one update of the precision and of its inverse; `along` is room for a vector.

    Loops add multiples of rows, element by element: the compiler may take several at a time without changing the
    result, as it may not where a sum runs along them.
    """
    n = len(phi)
    precision, covariance, evidence = model.precision, model.covariance, model.evidence
    for i in range(n):
        along[i] = 0.0
    for j in range(n):
        value = phi[j]
        if value != 0.0:
            for i in range(n):
                along[i] += value * covariance[j, i]
                precision[j, i] += value * phi[i]
            evidence[j] += click * value
    divisor = 1.0
    for i in range(n):
        divisor += phi[i] * along[i]
    for j in range(n):
        scaled = along[j] / divisor
        for i in range(n):
            covariance[j, i] -= scaled * along[i]
    model.counters[FACTORED] = 0
    model.counters[SINCE_REFACTORED] += 1 if divisor < LARGE_STEP else REFACTOR_AFTER


@inlined
def estimate(model: Ridge) -> None:
    """Bring the weights up to date with what was observed."""
    if model.counters[SINCE_REFACTORED] >= REFACTOR_AFTER:
        refactor(model.precision, model.factor, model.covariance, model.counters)
    weights, covariance, evidence = model.weights, model.covariance, model.evidence
    for i in range(len(weights)):
        weights[i] = 0.0
    for j in range(len(weights)):
        for i in range(len(weights)):
            weights[i] += evidence[j] * covariance[j, i]


@rare
def refactor(precision: Floats, factor: Floats, covariance: Floats, counters: Ints) -> None:
    """Compute the inverse of the precision from scratch."""
    decompose(precision, factor)
    n = len(precision)
    # The inverse of the triangle is written above the diagonal of `covariance`, transposed, row by row.
    for i in range(n):
        covariance[i, i] = 1.0 / factor[i, i]
        for j in range(i):
            total = 0.0
            for k in range(j, i):
                total += factor[i, k] * covariance[j, k]
            covariance[j, i] = -total * covariance[i, i]
    for i in range(n):
        for j in range(i, n):
            total = 0.0
            for k in range(j, n):
                total += covariance[i, k] * covariance[j, k]
            covariance[i, j] = total
    for i in range(n):
        for j in range(i):
            covariance[i, j] = covariance[j, i]
    counters[SINCE_REFACTORED] = 0
    counters[FACTORED] = 1


@compiled
def decompose(precision: Floats, factor: Floats) -> None:
    """Cholesky's decomposition: the lower triangle whose square is the precision."""
    for i in range(len(precision)):
        for j in range(i + 1):
            total = precision[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            if i == j:
                factor[i, i] = math.sqrt(max(total, SMALLEST_PIVOT * precision[i, i]))
            else:
                factor[i, j] = total / factor[j, j]


@compiled
def draw_weights(rng: Stream, model: Ridge, spread: float, weights: Floats) -> None:
    """Weights drawn from a normal distribution around the estimate, with `spread`² times the inverse as covariance."""
    if model.counters[FACTORED] == 0:
        decompose(model.precision, model.factor)
        model.counters[FACTORED] = 1
    factor = model.factor
    n = len(weights)
    for i in range(n):
        weights[i] = normal(rng) * spread
    for i in range(n - 1, -1, -1):
        weights[i] /= factor[i, i]
        for k in range(i):
            weights[k] -= factor[i, k] * weights[i]
    for i in range(n):
        weights[i] += model.weights[i]
