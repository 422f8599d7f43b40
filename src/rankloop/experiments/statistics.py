"""The statistics of claims: one-sided tests of comparisons, and how several of them make one verdict.

A claim holds where every comparison it makes comes out its way with an error probability of at most `LEVEL` each; all
of them must, so that is also the probability that a claim wrongly holds. It fails where one comes out the other way,
with an error probability of at most `LEVEL` for all of them together. Otherwise it is undecided.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankloop.experiments.declare import Verdict

Floats = npt.NDArray[np.float64]

LEVEL = 0.01

LEAST = 3
"""Runs or queries below which nothing is decided."""


class Evidence(NamedTuple):
    """One comparison: its effect, and how probable one so far above, or below, its bound would be by chance."""

    text: str
    effect: float
    error: float
    chance_above: float
    """Of an effect at least so high, were it truly at the bound: small where the comparison comes out as claimed."""
    chance_below: float
    panels: tuple[str, ...] = ()


def verdict(found: Sequence[Evidence]) -> tuple[Verdict, Evidence]:
    """What several comparisons, all of them claimed, say together, and the one that decides it."""
    against = min(found, key=lambda one: one.chance_below)
    if against.chance_below <= LEVEL / len(found):
        return "fails", against
    weakest = max(found, key=lambda one: one.chance_above)
    return ("holds" if weakest.chance_above <= LEVEL else "undecided"), weakest


def student_tail(t: float, freedom: int) -> float:
    """The probability that Student's t exceeds a value, by the finite series for whole degrees of freedom.

    >>> round(student_tail(2.821, 9), 4)
    0.01
    """
    angle = math.atan(abs(t) / math.sqrt(freedom))
    sine, cosine = math.sin(angle), math.cos(angle)
    term = cosine if freedom % 2 else 1.0
    total = 0.0 if freedom == 1 else term
    for k in range(3 if freedom % 2 else 2, freedom - 1, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    inside = 2 / math.pi * (angle + sine * total) if freedom % 2 else sine * total
    tail = max(0.0, (1 - inside) / 2)
    return tail if t > 0 else 1 - tail


def binomial_tail(successes: int, trials: int, probability: float) -> float:
    """The probability of at least so many successes.

    >>> round(binomial_tail(1, 44, 0.1), 4)
    0.9903
    """
    return min(
        1.0,
        sum(
            math.comb(trials, k) * probability**k * (1 - probability) ** (trials - k)
            for k in range(successes, trials + 1)
        ),
    )


def jackknife(statistic: Callable[[Floats], float], samples: Sequence[Floats]) -> tuple[float, float]:
    """A statistic of the means of several samples whose rows belong together, and its standard error.

    For differences of means it is the usual error of paired samples; for ratios and logarithms an approximation.

    >>> jackknife(lambda means: means[0] - means[1], [np.array([3.0, 4.0, 5.0]), np.array([1.0, 1.0, 1.0])])
    (3.0, 0.5773502691896257)
    """
    table = np.array(samples, np.float64)
    n = table.shape[1]
    total = table.sum(axis=1)
    without = np.array([statistic((total - table[:, unit]) / (n - 1)) for unit in range(n)])
    spread = float(((without - without.mean()) ** 2).sum())
    return float(statistic(total / n)), math.sqrt((n - 1) / n * spread)


def above(
    text: str,
    statistic: Callable[[Floats], float],
    samples: Sequence[Floats],
    bound: float,
    *,
    panels: Sequence[str],
    ratio: bool = False,
) -> Evidence:
    """That a statistic of the means is above a bound, by Student's t with the jackknife's error.

    `ratio` says that the statistic is the logarithm of one; the bound, and what is shown, are then the ratio itself.
    """
    return _tested(text, statistic, samples, bound, 1, panels, ratio)


def below(
    text: str,
    statistic: Callable[[Floats], float],
    samples: Sequence[Floats],
    bound: float,
    *,
    panels: Sequence[str],
    ratio: bool = False,
) -> Evidence:
    """That a statistic of the means is below a bound."""
    return _tested(text, statistic, samples, bound, -1, panels, ratio)


def _tested(
    text: str,
    statistic: Callable[[Floats], float],
    samples: Sequence[Floats],
    bound: float,
    sign: int,
    panels: Sequence[str],
    ratio: bool,
) -> Evidence:
    effect, error = jackknife(statistic, samples)
    over = sign * (effect - (math.log(bound) if ratio else bound))
    chance_above, chance_below = chances(over, error, len(samples[0]) - 1)
    if ratio:
        effect = math.exp(effect)
        error *= effect
    side = "above" if sign > 0 else "below"
    shown = f"{text}: {in_words(effect, error)}, claimed {side} {number(bound)}"
    return Evidence(shown, effect, error, chance_above, chance_below, tuple(panels))


def chances(over: float, error: float, freedom: int) -> tuple[float, float]:
    """How probable an effect at least so far over its bound is by chance, and one at least so far under it."""
    if not (math.isfinite(over) and math.isfinite(error)):
        return 1.0, 1.0
    if error <= 1e-9 * abs(over):
        return (0.0, 1.0) if over > 0 else (1.0, 0.0) if over < 0 else (1.0, 1.0)
    return student_tail(over / error, freedom), student_tail(-over / error, freedom)


def rarer(text: str, happened: Floats, bound: float, *, panels: Sequence[str]) -> Evidence:
    """That something happens in a smaller share of runs than the bound, by the exact binomial test."""
    trials, times = len(happened), int(happened.sum())
    share = times / trials
    return Evidence(
        f"{text}: {times} of {trials} runs, claimed below {bound:.0%}",
        share,
        math.sqrt(share * (1 - share) / trials),
        1 - binomial_tail(times + 1, trials, bound),
        binomial_tail(times, trials, bound),
        tuple(panels),
    )


def in_words(effect: float, error: float) -> str:
    """An effect and its standard error.

    >>> in_words(1.40321, 0.0211), in_words(12345.6, 78.9)
    ('1.4 ± 0.0211', '12,346 ± 78.9')
    """
    return f"{number(effect)} ± {number(error)}"


def number(value: float) -> str:
    """Three digits, or all before the point."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e15 else f"{value:.3g}"
