"""Which items to try, and how often, so that the attraction of every item is known equally well: optimal designs.

A design gives weights to the rows of a table x. The leverage of a row, `x_i' M^-1 x_i` with `M = sum_j w_j x_j x_j'`,
times the variance of one observation, over how many there are, is the variance of its estimate. No design has a largest
leverage below the dimension of what the rows span; one that reaches it is called G-optimal, and also has the largest
determinant of M (Kiefer and Wolfowitz).
"""

from __future__ import annotations

import math

import numpy as np

from rankloop.kernels import allocating, compiled, rare
from rankloop.kernels.arrays import Floats, Ints
from rankloop.policies.features.ridge import decompose

EXCESS = 0.01
"""By what part the largest leverage may exceed the least one possible."""

MOST_STEPS = 100_000
"""Far more than it takes; a design that stops here is a valid one still."""

DEPENDENT = 1e-9
"""A row whose distance from the span of others is this part of the longest row is taken to lie in it."""


@allocating
def g_optimal(rows: Floats, weights: Floats) -> tuple[int, float]:
    """Write a nearly G-optimal design into the weights; returns the dimension of the span and the largest leverage.

    Frank-Wolfe steps towards the row of the largest leverage or away from that of the least, whichever is further from
    where it should be: the steps away keep the rows that have weight few. They start from a basis among the rows.
    What was in the rows is lost.
    """
    n, width = rows.shape
    limit = min(n, width)
    table = np.zeros((n, limit))
    pivots = np.zeros(limit, np.int64)
    rank = span(rows, limit, np.zeros((limit, width)), table, pivots)
    _express_in_pivots(table, pivots, rank)
    columns = np.zeros((rank, n))  # loops over rows then run along memory
    inverse = np.zeros((rank, rank))
    leverage = np.zeros(n)
    products = np.zeros(n)
    along = np.zeros(rank)
    for i in range(n):
        weights[i] = 0.0
        for k in range(rank):
            columns[k, i] = table[i, k]
            leverage[i] += rank * table[i, k] * table[i, k]
    for k in range(rank):
        inverse[k, k] = rank
        weights[pivots[k]] = 1.0 / rank
    most = 0
    for _ in range(MOST_STEPS):
        most = 0
        least = pivots[0]
        for i in range(n):
            if leverage[i] > leverage[most]:
                most = i
            if weights[i] > 0.0 and (leverage[i] < leverage[least] or weights[least] == 0.0):
                least = i
        if leverage[most] <= rank * (1.0 + EXCESS):
            break
        j = most if leverage[most] - rank >= rank - leverage[least] else least
        here = leverage[j]
        # The step that gains most, by which weights become (1 - length) weights, and j's that plus the length.
        length = (here - rank) / (rank * (here - 1.0))
        if j == least:
            drop = -weights[j] / (1.0 - weights[j])
            if here <= 1.0 or length <= drop:
                length = drop
        for k in range(rank):
            along[k] = 0.0
            for m in range(rank):
                along[k] += inverse[k, m] * table[j, m]
        share = length / (1.0 - length + length * here)
        for k in range(rank):
            for m in range(rank):
                inverse[k, m] = (inverse[k, m] - share * along[k] * along[m]) / (1.0 - length)
        for i in range(n):
            products[i] = 0.0
        for k in range(rank):
            for i in range(n):
                products[i] += columns[k, i] * along[k]
        for i in range(n):
            leverage[i] = (leverage[i] - share * products[i] * products[i]) / (1.0 - length)
            weights[i] *= 1.0 - length
        weights[j] = 0.0 if j == least and length == drop else weights[j] + length
    return rank, leverage[most]


@rare
def least_squares(rows: Floats, seen: Floats, clicked: Floats, rank: int, theta: Floats) -> None:
    """The shortest theta that fits best: rows i were seen and clicked so often, and span so many dimensions."""
    basis = np.zeros((rank, rows.shape[1]))
    table = np.zeros((len(rows), rank))
    rank = span(rows, rank, basis, table, np.zeros(rank, np.int64))
    precision = np.zeros((rank, rank))
    factor = np.zeros((rank, rank))
    solution = np.zeros(rank)
    for i in range(len(rows)):
        for k in range(rank):
            solution[k] += clicked[i] * table[i, k]
            for m in range(rank):
                precision[k, m] += seen[i] * table[i, k] * table[i, m]
    decompose(precision, factor)
    for k in range(rank):
        for m in range(k):
            solution[k] -= factor[k, m] * solution[m]
        solution[k] /= factor[k, k]
    for k in range(rank - 1, -1, -1):
        solution[k] /= factor[k, k]
        for m in range(k):
            solution[m] -= factor[k, m] * solution[k]
    for c in range(len(theta)):
        theta[c] = 0.0
        for k in range(rank):
            theta[c] += solution[k] * basis[k, c]


@compiled
def span(rows: Floats, limit: int, basis: Floats, table: Floats, pivots: Ints) -> int:
    """An orthonormal basis of at most `limit` vectors, and the rows in its terms; returns how many vectors there are.

    Each vector is what is left of the row that lies furthest from the span of those before, and that row is its pivot.
    What was in the rows is lost.
    """
    n, width = rows.shape
    longest = 0.0
    for rank in range(limit):
        pivot = 0
        furthest = 0.0
        for i in range(n):
            square = 0.0
            for c in range(width):
                square += rows[i, c] * rows[i, c]
            if square > furthest:
                furthest = square
                pivot = i
        longest = max(longest, furthest)
        if furthest <= longest * DEPENDENT * DEPENDENT:
            return rank
        pivots[rank] = pivot
        for c in range(width):
            basis[rank, c] = rows[pivot, c]
        for k in range(rank):  # rounding has left traces of the others
            product = 0.0
            for c in range(width):
                product += basis[rank, c] * basis[k, c]
            for c in range(width):
                basis[rank, c] -= product * basis[k, c]
        length = 0.0
        for c in range(width):
            length += basis[rank, c] * basis[rank, c]
        length = math.sqrt(length)
        for c in range(width):
            basis[rank, c] /= length
        for i in range(n):
            product = 0.0
            for c in range(width):
                product += rows[i, c] * basis[rank, c]
            table[i, rank] = product
            for c in range(width):
                rows[i, c] -= product * basis[rank, c]
    return limit


@rare
def _express_in_pivots(table: Floats, pivots: Ints, rank: int) -> None:
    """Rows as sums of pivots, which become unit vectors: leverages stay as they are, and rounding errors small."""
    lower = np.zeros((rank, rank))
    for j in range(rank):
        for k in range(j + 1):
            lower[j, k] = table[pivots[j], k]
    for i in range(len(table)):
        for k in range(rank - 1, -1, -1):
            for j in range(k + 1, rank):
                table[i, k] -= table[i, j] * lower[j, k]
            table[i, k] /= lower[k, k]
