"""Thompson sampling from Beta posteriors of integer counts, without drawing what cannot matter.

Questions are asked of a posterior Beta(a + 1, b + 1) after a wins and b losses. *Is a draw above 1/2?* has the
probability P(Bin(a + b + 1, 1/2) <= a), which changes by one term with each observation. *Is a draw below the smallest
seen so far, and where?* is answered by rejection from an exponential that lies above the log-concave density, which
nearly always takes one uniform number. *Which of many draws is the largest?* visits only those that come up in a
draw of who might pass a given level. All keep the distribution exactly.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rankloop.kernels.arrays import Floats, Ints, Stream
from rankloop.kernels.compiler import compiled, inlined, rare
from rankloop.kernels.random import beta, uniform

SMALLEST_MASS = 1e-280
NORMALISER_LASTS = 1024
LEVEL, LOG_LEVEL, LOG_REST, HIGHEST, PICKS = range(5)


@rare
def binomial_mass(n: int, k: int) -> float:
    """P(Bin(n, 1/2) = k), from scratch."""
    return math.exp(math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0) - n * math.log(2.0))


@inlined
def record_win(wins: Ints, above: Floats, mass: Floats, i: int, j: int) -> None:
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


@inlined
def _draw_under(rng: Stream, a: float, b: float, limit: float, slope: float) -> float:
    """A draw from under the exponential of `draw_below`, if it is accepted, else the limit."""
    step = math.log(1.0 - uniform(rng)) / slope
    x = limit + step
    if x <= 0.0:
        return limit
    accept = a * math.log(x / limit) + b * math.log((1.0 - x) / (1.0 - limit)) - slope * step
    return x if math.log(1.0 - uniform(rng)) < accept else limit


@compiled
def draw_below(rng: Stream, a: float, b: float, limit: float, density: float) -> float:
    """A draw from Beta(a + 1, b + 1) where it falls below `limit`, else `limit`; `density` is that of the limit.

    Left of its mode the density lies under the exponential that touches it at the limit. That exponential holds a
    mass of density / slope: with the remaining probability the draw is known to be above the limit.
    """
    rising = a * (1.0 - limit) - b * limit
    if rising > 0.0:
        slope = rising / (limit * (1.0 - limit))
        if density < slope:
            return limit if uniform(rng) * slope >= density else _draw_under(rng, a, b, limit, slope)
    return min(limit, beta(rng, a + 1.0, b + 1.0))


@inlined
def draw_pair_below(rng: Stream, a: int, b: int, limit: float, log_up: float, log_down: float, mass: float) -> float:
    """`draw_below` where mass = P(Bin(a + b + 1, 1/2) = a), log_up = log(2 limit), log_down = log(2 (1 - limit))."""
    if mass < SMALLEST_MASS:
        return min(limit, beta(rng, a + 1.0, b + 1.0))
    density = 2.0 * (b + 1) * mass * math.exp(a * log_up + b * log_down)
    return draw_below(rng, a, b, limit, density)


@compiled
def draw_lower_half(rng: Stream, a: int, b: int, chance: float) -> float:
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
    rng: Stream, a: int, b: int, limit: float, log_up: float, log_down: float, mass: float, q: float, chance: float
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
            return limit if q * slope >= density else _draw_under(rng, a, b, limit, slope)
    return min(limit, draw_lower_half(rng, a, b, chance))


class Rates(NamedTuple):
    """Success rates to sample from, in rows of one bandit each, and what finds the largest of the samples quickly.

    `log_normaliser` is the logarithm of what makes x^wins (1 - x)^losses a density. Samples are looked at in the
    mirror, x = 1 - theta, where the largest is the smallest. `search` holds for each bandit a level that the smallest
    sample is rarely above, and `hazard` how likely an arm is to be proposed for a sample below that level: it is with
    probability 1 - exp(-hazard), so that one exponential number leads to the next arm that is.
    """

    wins: Floats
    losses: Floats
    log_normaliser: Floats
    hazard: Floats
    search: Floats


def no_rates(n_bandits: int, n_arms: int) -> Rates:
    """Rates of which nothing has been seen."""
    shape = (n_bandits, n_arms)
    return Rates(
        wins=np.zeros(shape),
        losses=np.zeros(shape),
        log_normaliser=np.zeros(shape),
        hazard=np.full(shape, np.inf),
        search=np.tile([1.0, 0.0, -np.inf, 0.0, 0.0], (n_bandits, 1)),
    )


@rare
def log_normaliser(wins: float, losses: float) -> float:
    """The logarithm of (n + 1) times the number of ways to choose the wins out of n, from scratch."""
    return math.lgamma(wins + losses + 2.0) - math.lgamma(wins + 1.0) - math.lgamma(losses + 1.0)


@inlined
def record_outcome(rates: Rates, bandit: int, arm: int, won: bool) -> None:
    """Count a win or a loss of an arm."""
    counts = rates.wins if won else rates.losses
    counts[bandit, arm] += 1.0
    n = rates.wins[bandit, arm] + rates.losses[bandit, arm]
    if int(n) % NORMALISER_LASTS == 0:  # rounding errors must not add up for ever
        rates.log_normaliser[bandit, arm] = log_normaliser(rates.wins[bandit, arm], rates.losses[bandit, arm])
    else:
        rates.log_normaliser[bandit, arm] += math.log((n + 1.0) / counts[bandit, arm])
    rates.hazard[bandit, arm] = _hazard(rates, bandit, arm)


@inlined
def pick_sampled_best(rng: Stream, rates: Rates, bandit: int) -> int:
    """The arm whose draw from its posterior is the largest of all arms' draws."""
    search = rates.search
    best = -1
    lowest = level = search[bandit, LEVEL]
    until_next = -math.log(1.0 - uniform(rng))
    for i in range(rates.wins.shape[1]):
        until_next -= rates.hazard[bandit, i]
        if until_next < 0.0:
            until_next = -math.log(1.0 - uniform(rng))
            a, b = rates.losses[bandit, i], rates.wins[bandit, i]
            draw = _draw_proposed(rng, a, b, rates.hazard[bandit, i], level, lowest)
            if draw <= lowest:
                lowest = draw
                best = i
    if best < 0:
        best = _pick_above_level(rng, rates, bandit)
    else:
        search[bandit, HIGHEST] = max(search[bandit, HIGHEST], lowest)
    search[bandit, PICKS] += 1.0
    if search[bandit, PICKS] >= rates.wins.shape[1]:
        _set_level(rates, bandit)
    return best


@compiled
def _draw_proposed(rng: Stream, a: float, b: float, hazard: float, level: float, lowest: float) -> float:
    """The draw of an arm proposed below the level if it is the lowest, else 1: the second half of `draw_below`."""
    if math.isinf(hazard):
        return beta(rng, a + 1.0, b + 1.0)
    slope = (a * (1.0 - level) - b * level) / (level * (1.0 - level))
    step = math.log(1.0 - uniform(rng)) / slope
    x = level + step
    if x <= 0.0 or x > lowest:
        return 1.0
    accept = a * math.log(x / level) + b * math.log((1.0 - x) / (1.0 - level)) - slope * step
    return x if math.log(1.0 - uniform(rng)) < accept else 1.0


@compiled
def _pick_above_level(rng: Stream, rates: Rates, bandit: int) -> int:
    """The arm with the smallest draw, given that none is below the level."""
    level = rates.search[bandit, LEVEL]
    best = 0
    lowest = _inside(1.0)
    log_down = math.log(lowest)
    log_up = math.log(1.0 - lowest)
    for i in range(rates.wins.shape[1]):
        a, b = rates.losses[bandit, i], rates.wins[bandit, i]
        density = math.exp(rates.log_normaliser[bandit, i] + a * log_down + b * log_up)
        draw = draw_below(rng, a, b, lowest, density)
        while draw <= level:
            draw = draw_below(rng, a, b, lowest, density)
        if draw < lowest:
            best = i
            lowest = _inside(draw)
            log_down = math.log(lowest)
            log_up = math.log(1.0 - lowest)
    rates.search[bandit, HIGHEST] = max(rates.search[bandit, HIGHEST], lowest)
    return best


@rare
def _set_level(rates: Rates, bandit: int) -> None:
    """Set the level to the largest of the smallest samples since it was last set: as many as there are arms.

    The next is above it about once in as many picks, so that the scan over all arms which then follows costs little.
    """
    search = rates.search
    level = _inside(search[bandit, HIGHEST])
    search[bandit, LEVEL] = level
    search[bandit, LOG_LEVEL] = math.log(level)
    search[bandit, LOG_REST] = math.log(1.0 - level)
    search[bandit, HIGHEST] = search[bandit, PICKS] = 0.0
    for i in range(rates.wins.shape[1]):
        rates.hazard[bandit, i] = _hazard(rates, bandit, i)


@inlined
def _hazard(rates: Rates, bandit: int, arm: int) -> float:
    """-log(1 - q), q being the mass below the level of the exponential in `draw_below`; infinite if it has none."""
    a, b = rates.losses[bandit, arm], rates.wins[bandit, arm]
    search = rates.search
    level = search[bandit, LEVEL]
    rising = a * (1.0 - level) - b * level
    log_density = rates.log_normaliser[bandit, arm] + a * search[bandit, LOG_LEVEL] + b * search[bandit, LOG_REST]
    mass = math.exp(log_density) * level * (1.0 - level) / rising
    return -math.log1p(-mass) if rising > 0.0 and mass < 1.0 else math.inf


@inlined
def _inside(x: float) -> float:
    """A number in (0, 1), which a draw is but for rounding."""
    return min(max(x, 1e-300), 1.0 - 1.2e-16)
