"""The linear programme of optimised interleaving: the fair distribution over allowed lists that tells most.

One variable for each allowed list, its probability. One equation for each position (a click there leaves nobody ahead
in expectation) and one for the sum of the probabilities. A best solution needs no more lists than there are equations.
"""

from __future__ import annotations

import math

import numpy as np

from rankloop.kernels import allocating, compiled, entry
from rankloop.kernels.arrays import Floats, Ints, Ints32, Items

TIE = 1e-12
SLACK = 1e-10  # probabilities add up to one, so the optimum is missed by no more than this
SMALLEST_PIVOT = 1e-9
STALLED = 30
MOST_PIVOTS = 5000


@compiled
def lead_of_item(rank: Ints32, sizes: Ints, item: int) -> float:
    """What a click on the item earns the first ranker more than the second: the difference of 1 / rank."""
    lead = 0.0
    if rank[0, item] < sizes[0]:
        lead += 1.0 / (rank[0, item] + 1.0)
    if rank[1, item] < sizes[1]:
        lead -= 1.0 / (rank[1, item] + 1.0)
    return lead


@compiled
def move(order: Ints32, rank: Ints32, sizes: Ints, i: int, j: int, item: int) -> tuple[int, int]:
    """Both tops once an item is shown beside the first i of one list and the first j of the other."""
    new_i, new_j = i, j
    while new_i < sizes[0] and (order[0, new_i] == item or rank[1, order[0, new_i]] < j):
        new_i += 1
    while new_j < sizes[1] and (order[1, new_j] == item or rank[0, order[1, new_j]] < i):
        new_j += 1
    return new_i, new_j


@compiled
def count_items(order: Ints32, rank: Ints32, sizes: Ints, most: int) -> int:
    """How many items both lists have between them, counted up to `most`."""
    n = sizes[0]
    for j in range(sizes[1]):
        if n >= most:
            break
        n += int(rank[0, order[1, j]] >= sizes[0])
    return min(n, most)


@allocating
def list_candidates(order: Ints32, rank: Ints32, sizes: Ints, items: Items) -> int:
    """Write every allowed list into a row of `items`, each once; return how many there are."""
    most, depth = items.shape
    tops = np.zeros((most, 2), np.int64)
    n = 1
    for k in range(depth):
        for row in range(n):
            i, j = tops[row]
            one = order[0, i] if i < sizes[0] else order[1, j]
            other = order[1, j] if j < sizes[1] else one
            if other != one:
                for before in range(k):
                    items[n, before] = items[row, before]
                items[n, k] = other
                tops[n, 0], tops[n, 1] = move(order, rank, sizes, i, j, other)
                n += 1
            items[row, k] = one
            tops[row, 0], tops[row, 1] = move(order, rank, sizes, i, j, one)
    return n


@compiled
def sensitivity(leads: Floats, depth: int) -> float:
    """Bits that one click tells about who wins, if position k is clicked in proportion to 1 / k."""
    first = second = total = 0.0
    for k in range(depth):
        click = 1.0 / (k + 1.0)
        total += click
        if leads[k] > TIE:
            first += click
        elif leads[k] < -TIE:
            second += click
    decided = first + second
    bits = 0.0
    for won in (first, second):
        if won > 0.0:
            bits -= won / total * math.log2(won / decided)
    return bits


@compiled
def _invert(matrix: Floats, inverse: Floats) -> bool:
    """Gauss-Jordan with row pivots; `matrix` is used up. False if it is singular."""
    m = len(matrix)
    for r in range(m):
        for c in range(m):
            inverse[r, c] = 1.0 if r == c else 0.0
    for c in range(m):
        best = c
        for r in range(c + 1, m):
            if abs(matrix[r, c]) > abs(matrix[best, c]):
                best = r
        if abs(matrix[best, c]) < TIE:
            return False
        for at in range(m):
            matrix[c, at], matrix[best, at] = matrix[best, at], matrix[c, at]
            inverse[c, at], inverse[best, at] = inverse[best, at], inverse[c, at]
        scale = 1.0 / matrix[c, c]
        for at in range(m):
            matrix[c, at] *= scale
            inverse[c, at] *= scale
        for r in range(m):
            factor = matrix[r, c]
            if r != c and factor != 0.0:
                for at in range(m):
                    matrix[r, at] -= factor * matrix[c, at]
                    inverse[r, at] -= factor * inverse[c, at]
    return True


@compiled
def _entering(columns: Floats, n: int, values: Floats, searching: bool, prices: Floats, first_found: bool) -> int:
    """The column that gains most at these prices, or the first that gains; -1 if none does."""
    m = len(prices)
    best, most = -1, SLACK
    for column in range(n):
        gain = 0.0 if searching else values[column]
        for r in range(m):
            gain -= prices[r] * columns[column, r]
        if gain > most:
            best, most = column, gain
            if first_found:
                break
    return best


@compiled
def _leaving(direction: Floats, level: Floats, basis: Ints, n: int, searching: bool, first_found: bool) -> int:
    """The row of the basis that is the first to reach zero; -1 if none does."""
    row, least = -1, math.inf
    for r in range(len(basis)):
        step = direction[r]
        if not searching and basis[r] >= n and abs(step) > SMALLEST_PIVOT:
            return r  # an equation's stand-in is at zero and must stay there
        if step <= SMALLEST_PIVOT:
            continue
        ratio = max(level[r], 0.0) / step
        if ratio < least - TIE:
            row, least = r, ratio
        elif ratio <= least + TIE:
            better = basis[r] < basis[row] if first_found else step > direction[row]
            row = r if better else row
    return row


@allocating
def maximise(columns: Floats, n: int, values: Floats, basis: Ints, level: Floats) -> bool:
    """Maximise values @ p over p >= 0 with columns.T @ p = (0, ..., 0, 1), by the revised simplex method.

    Basis and levels of the best p are left in the last arguments; a basis entry of n or more stands in for an equation
    that follows from the others. The basis is inverted anew at each pivot: it is tiny, and errors do not add up.
    Nearly all pivots are degenerate: after a run without progress Bland's rule, which cannot cycle, takes over.
    Returns False if there is no solution.
    """
    m = columns.shape[1]
    matrix = np.empty((m, m))
    inverse = np.empty((m, m))
    prices = np.empty(m)
    direction = np.empty(m)
    for r in range(m):
        basis[r] = n + r
    searching = True
    stalled = 0
    for _ in range(MOST_PIVOTS):
        for c in range(m):
            for r in range(m):
                matrix[r, c] = columns[basis[c], r] if basis[c] < n else int(basis[c] - n == r)
        if not _invert(matrix, inverse):
            return False
        missing = 0.0
        for r in range(m):
            level[r] = inverse[r, m - 1]
            prices[r] = 0.0
            missing += abs(level[r]) if basis[r] >= n else 0.0
        if searching and missing < SLACK:
            searching = False
            stalled = 0
        for c in range(m):
            worth = -1.0 if searching else 0.0
            if basis[c] < n:
                worth = 0.0 if searching else values[basis[c]]
            for r in range(m):
                prices[r] += worth * inverse[c, r]
        column = _entering(columns, n, values, searching, prices, stalled > STALLED)
        if column < 0:
            return not searching
        for r in range(m):
            direction[r] = 0.0
            for at in range(m):
                direction[r] += inverse[r, at] * columns[column, at]
        row = _leaving(direction, level, basis, n, searching, stalled > STALLED)
        if row < 0:
            return False
        stalled = stalled + 1 if level[row] <= TIE else 0
        basis[row] = column
    return False


@allocating
def solve(order: Ints32, rank: Ints32, sizes: Ints, choices: Ints, weights: Floats) -> int:
    """Fill the lists of the best fair distribution and their probabilities; return how many positions it covers.

    These are as many as `choices` has, or fewer: where the lists have no more items, or where no distribution is fair
    at all positions so far down.
    """
    depth = count_items(order, rank, sizes, choices.shape[1])
    while depth > 0:
        items = np.empty((1 << depth, depth), np.int64)
        n = list_candidates(order, rank, sizes, items)
        columns = np.empty((n, depth + 1))
        values = np.empty(n)
        for row in range(n):
            for k in range(depth):
                columns[row, k] = lead_of_item(rank, sizes, items[row, k])
            columns[row, depth] = 1.0
            values[row] = sensitivity(columns[row], depth)
        basis = np.empty(depth + 1, np.int64)
        level = np.empty(depth + 1)
        if maximise(columns, n, values, basis, level):
            total = 0.0
            for r in range(len(weights)):
                weights[r] = 0.0
                if r <= depth and basis[r] < n and level[r] > TIE:
                    weights[r] = level[r]
                    total += level[r]
                    for k in range(depth):
                        choices[r, k] = items[basis[r], k]
            for r in range(len(weights)):
                weights[r] /= total
            return depth
        depth -= 1
    return 0


@entry
def candidates(order: Ints32, rank: Ints32, sizes: Ints, depth: int) -> Ints:
    """All allowed lists of so many positions, for a caller in Python."""
    items = np.empty((1 << depth, depth), np.int64)
    return items[: list_candidates(order, rank, sizes, items)]
