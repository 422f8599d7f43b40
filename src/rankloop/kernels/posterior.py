"""Thompson sampling from Beta posteriors of integer counts, without drawing what cannot matter.

Two questions are asked of a posterior Beta(a + 1, b + 1) after a wins and b losses. *Is a draw above 1/2?* has the
probability P(Bin(a + b + 1, 1/2) <= a), which changes by one term with each observation. *Is a draw below the smallest
seen so far, and where?* is answered by rejection from an exponential that lies above the log-concave density, which
nearly always takes one uniform number. Both keep the distribution exactly.
"""

from __future__ import annotations

import math
from typing import Any

from rankloop.kernels.compiler import compiled, inlined
from rankloop.kernels.random import beta, uniform

SMALLEST_MASS = 1e-280


@compiled
def binomial_mass(n: int, k: int) -> float:
    """P(Bin(n, 1/2) = k), from scratch."""
    return math.exp(math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0) - n * math.log(2.0))


@inlined
def record_win(wins: Any, above: Any, mass: Any, i: int, j: int) -> None:
    """Count that i beat j, and bring along above = P(theta_ij > 1/2) and mass_ij = P(Bin(n + 1, 1/2) = wins_ij)."""
    a = wins[i, j]
    b = wins[j, i]
    trials = a + b + 1
    above[i, j] = min(1.0, above[i, j] + 0.5 * mass[i, j] * (b + 1) / (a + 1))
    above[j, i] = 1.0 - above[i, j]
    mass[i, j] *= 0.5 * (trials + 1) / (a + 1)
    mass[j, i] *= 0.5 * (trials + 1) / (a + 2)
    wins[i, j] = a + 1
    if mass[i, j] < SMALLEST_MASS or mass[j, i] < SMALLEST_MASS:  # an underflow would stay at 0 for ever
        mass[i, j] = binomial_mass(trials + 1, a + 1)
        mass[j, i] = binomial_mass(trials + 1, b)


@compiled
def draw_below(rng: Any, a: int, b: int, limit: float, density: float) -> float:
    """A draw from Beta(a + 1, b + 1) where it falls below `limit`, else `limit`; `density` is that of the limit.

    Left of its mode the density lies under the exponential that touches it at the limit. That exponential holds a
    mass of density / slope: with the remaining probability the draw is known to be above the limit.
    """
    rising = a * (1.0 - limit) - b * limit
    if rising > 0.0:
        slope = rising / (limit * (1.0 - limit))
        if density < slope:
            if uniform(rng) * slope >= density:
                return limit
            step = math.log(1.0 - uniform(rng)) / slope
            x = limit + step
            if x <= 0.0:
                return limit
            accept = a * math.log(x / limit) + b * math.log((1.0 - x) / (1.0 - limit)) - slope * step
            return x if math.log(1.0 - uniform(rng)) < accept else limit
    return min(limit, beta(rng, a + 1.0, b + 1.0))


@inlined
def draw_pair_below(rng: Any, a: int, b: int, limit: float, log_up: float, log_down: float, mass: float) -> float:
    """`draw_below` where mass = P(Bin(a + b + 1, 1/2) = a), log_up = log(2 limit), log_down = log(2 (1 - limit))."""
    if mass < SMALLEST_MASS:
        return min(limit, beta(rng, a + 1.0, b + 1.0))
    density = 2.0 * (b + 1) * mass * math.exp(a * log_up + b * log_down)
    return draw_below(rng, a, b, limit, density)


@compiled
def draw_lower_half(rng: Any, a: int, b: int, chance: float) -> float:
    """A draw from Beta(a + 1, b + 1), known to be below 1/2, which has the probability `chance`."""
    if chance > 0.2 or a <= b:
        while True:
            x = beta(rng, a + 1.0, b + 1.0)
            if x < 0.5:
                return x
    slope = 2.0 * (a - b)
    while True:  # the exponential of `draw_below`: here it is known that the draw falls under it
        step = math.log(1.0 - uniform(rng)) / slope
        x = 0.5 + step
        if 0.0 < x < 0.5:
            accept = a * math.log(2.0 * x) + b * math.log(2.0 * (1.0 - x)) - slope * step
            if math.log(1.0 - uniform(rng)) < accept:
                return x


@compiled
def draw_below_given_half(
    rng: Any, a: int, b: int, limit: float, log_up: float, log_down: float, mass: float, q: float, chance: float
) -> float:
    """`draw_pair_below` for a limit of at most 1/2, if a uniform number q < chance = P(draw < 1/2) is known.

    It has told already that the draw is below 1/2. Where the exponential holds no more than that probability, q also
    tells whether the draw falls under it.
    """
    if a == 0:  # the distribution function can be inverted
        return limit if q >= (b + 1) * limit else min(limit, -math.expm1(math.log1p(-q) / (b + 1)))
    rising = a * (1.0 - limit) - b * limit
    if rising > 0.0:
        slope = rising / (limit * (1.0 - limit))
        density = 2.0 * (b + 1) * mass * math.exp(a * log_up + b * log_down)
        if density <= slope * chance:
            if q * slope >= density:
                return limit
            step = math.log(1.0 - uniform(rng)) / slope
            x = limit + step
            if x <= 0.0:
                return limit
            accept = a * math.log(x / limit) + b * math.log((1.0 - x) / (1.0 - limit)) - slope * step
            return x if math.log(1.0 - uniform(rng)) < accept else limit
    return min(limit, draw_lower_half(rng, a, b, chance))
