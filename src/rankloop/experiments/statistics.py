"""The statistics of claims: tests of single comparisons, and the rule by which several of them make one verdict.

Each comparison has a verdict of its own. It *holds* where an effect so far on the claimed side of the bound has a
probability of at most `LEVEL` by chance. It *fails* where the effect is as far on the other side, with a probability of
at most `LEVEL` that any comparison of the claim wrongly does (Holm's correction). Otherwise it is *undecided*.

The claim follows from them by its rule:

- `all`, for sentences that speak of all cases: it holds where every comparison holds, fails where one fails, and is
  undecided otherwise. It wrongly holds, or wrongly fails, with a probability of at most `LEVEL`.
- `most`, for sentences that say "in most setups" or give examples: it holds where more than half of the comparisons
  hold, fails where at least half of them fail, and is undecided otherwise. Here what holds is corrected as well.

Comparisons on real data decide where there are any; those on stand-ins are then judged beside them and decide nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import numpy as np

from rankloop.arrays import Floats
from rankloop.experiments.declare import Compared, Rule, Verdict
from rankloop.simulation.difference import student_bound, student_tail

LEVEL = 0.01

LEAST = 3
"""Runs or queries below which nothing is decided."""


class Sample(NamedTuple):
    """What was measured: a row for each query that is fixed, or one row where there is none; a column for each run.

    Its mean is that over queries of the mean over runs, and its error comes from the runs of each query alone.
    """

    values: Floats
    block: Hashable
    """Samples of one block belong together, run by run; those of different blocks are independent of each other."""

    @property
    def mean(self) -> float:
        """The mean over all rows and columns."""
        return float(self.values.mean())


class Evidence(NamedTuple):
    """One comparison: its effect, and how probable one so far above, or below, its bound would be by chance."""

    text: str
    effect: float
    error: float
    chance_above: float
    """Probability of an effect at least as high if the truth were at the bound: small if the comparison holds."""
    chance_below: float
    panels: tuple[str, ...] = ()
    claimed: str = ""
    """What the thesis says the effect is."""
    waits: str = ""
    """What would decide the comparison, where it is undecided."""


def holm(chances: Sequence[float], level: float = LEVEL) -> list[bool]:
    """Which of several findings stand, with a probability of at most `level` that one stands by chance.

    >>> holm([0.001, 0.02, 0.004])
    [True, False, True]
    """
    stands = [False] * len(chances)
    for left, k in enumerate(sorted(range(len(chances)), key=lambda k: chances[k])):
        if chances[k] > level / (len(chances) - left):
            break
        stands[k] = True
    return stands


def verdicts(found: Sequence[Evidence], rule: Rule = "all") -> list[Verdict]:
    """The verdict of each of a claim's comparisons."""
    against = holm([one.chance_below for one in found])
    above = [one.chance_above for one in found]
    stands = holm(above) if rule == "most" else [chance <= LEVEL for chance in above]
    return [
        "fails" if fails else "holds" if holds else "undecided" for fails, holds in zip(against, stands, strict=True)
    ]


def together(said: Sequence[Verdict], rule: Rule = "all") -> Verdict:
    """What the verdicts of comparisons make of the claim.

    >>> together(["holds", "holds", "undecided"]), together(["holds", "holds", "undecided"], "most")
    ('undecided', 'holds')
    """
    if rule == "most":
        if 2 * said.count("holds") > len(said):
            return "holds"
        return "fails" if said and 2 * said.count("fails") >= len(said) else "undecided"
    if "fails" in said:
        return "fails"
    return "holds" if said and all(one == "holds" for one in said) else "undecided"


def decisive(found: Sequence[Compared], said: Verdict) -> Compared:
    """The comparison that tells most about a claim's verdict: the first that has it, by strength."""
    return next((one for one in found if one.verdict == said), found[0])


def binomial_tail(successes: int, trials: int, probability: float) -> float:
    """The probability of at least so many successes.

    >>> round(binomial_tail(1, 44, 0.1), 4)
    0.9903
    """
    if not 0 < probability < 1:
        return float(successes <= (trials if probability >= 1 else 0))
    odds = (math.log(probability), math.log1p(-probability))
    return min(
        1.0,
        sum(
            math.exp(_log_choose(trials, k) + k * odds[0] + (trials - k) * odds[1])
            for k in range(successes, trials + 1)
        ),
    )


def hypergeometric_tail(first: int, of_first: int, second: int, of_second: int) -> float:
    """The probability, by Fisher's exact test, that the first of two shares is at least so high by chance.

    >>> round(hypergeometric_tail(10, 100, 40, 1000), 4)
    0.0114
    """
    drawn, everything = first + second, of_first + of_second
    whole = _log_choose(everything, drawn)
    return min(
        1.0,
        sum(
            math.exp(_log_choose(of_first, k) + _log_choose(of_second, drawn - k) - whole)
            for k in range(max(first, drawn - of_second), min(of_first, drawn) + 1)
        ),
    )


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


class Estimate(NamedTuple):
    """A statistic, its standard error, and the degrees of freedom of that error."""

    effect: float
    error: float
    freedom: int


def jackknife(statistic: Callable[[Floats], float], samples: Sequence[Sample]) -> Estimate:
    """A statistic of the means of several samples, and its standard error.

    Each run is left out in turn, in all samples of its block at once; queries stay. For differences of means the error
    is the usual one, paired within blocks; for ratios and logarithms an approximation. The degrees of freedom are
    Welch's.

    >>> pair = [Sample(np.array([[3.0, 4.0, 5.0]]), "same"), Sample(np.array([[1.0, 1.0, 1.0]]), "same")]
    >>> jackknife(lambda means: means[0] - means[1], pair)
    Estimate(effect=3.0, error=0.5773502691896257, freedom=2)
    """
    means = np.array([sample.mean for sample in samples])
    blocks: dict[Hashable, list[int]] = {}
    for k, sample in enumerate(samples):
        blocks.setdefault(sample.block, []).append(k)
    total, quarrel = 0.0, 0.0
    for members in blocks.values():
        table = np.array([samples[k].values for k in members])  # member, query, run
        _, n_queries, n_runs = table.shape
        if n_runs < 2:
            return Estimate(float(statistic(means)), math.nan, 1)
        away = (table - table.mean(axis=2, keepdims=True)) / ((n_runs - 1) * n_queries)
        for query in range(n_queries):
            found = np.empty(n_runs)
            for run in range(n_runs):
                without = means.copy()
                without[members] -= away[:, query, run]
                found[run] = statistic(without)
            variance = (n_runs - 1) / n_runs * float(((found - found.mean()) ** 2).sum())
            total += variance
            quarrel += variance**2 / (n_runs - 1)
    smallest = min(sample.values.shape[1] for sample in samples) - 1
    freedom = math.floor(total**2 / quarrel + 1e-9) if quarrel > 0 else smallest
    return Estimate(float(statistic(means)), math.sqrt(total), max(1, freedom))


def within(
    text: str,
    statistic: Callable[[Floats], float],
    samples: Sequence[Sample],
    *,
    more_than: float | None = None,
    less_than: float | None = None,
    panels: Sequence[str],
    ratio: bool = False,
) -> Evidence:
    """That a statistic of the means is above one bound and below another, by Student's t with the jackknife's error.

    `ratio` says that the statistic is the logarithm of one; the bounds, and what is shown, are then the ratio itself.
    With two bounds it must be on the right side of both, and is wrong on the wrong side of either.
    """
    effect, error, freedom = jackknife(statistic, samples)
    bounds = [(1, more_than), (-1, less_than)]
    sides = [
        chances(sign * (effect - (math.log(bound) if ratio else bound)), error, freedom)
        for sign, bound in bounds
        if bound is not None
    ]
    if ratio and math.isfinite(effect):
        effect = math.exp(effect)
        error *= effect
    told = [f"{'above' if sign > 0 else 'below'} {three_digits(bound)}" for sign, bound in bounds if bound is not None]
    return Evidence(
        text,
        effect,
        error,
        max(side[0] for side in sides),
        min(1.0, len(sides) * min(side[1] for side in sides)),
        tuple(panels),
        " and ".join(told),
    )


def chances(over: float, error: float, freedom: int) -> tuple[float, float]:
    """How probable an effect at least so far over its bound is by chance, and one at least so far under it."""
    if not (math.isfinite(over) and math.isfinite(error)):
        return 1.0, 1.0
    if error <= 1e-9 * abs(over):
        return (0.0, 1.0) if over > 0 else (1.0, 0.0) if over < 0 else (1.0, 1.0)
    return student_tail(over / error, freedom), student_tail(-over / error, freedom)


class Published(NamedTuple):
    """A number of the thesis, with its standard error where that is known."""

    value: float
    error: float = 0.0
    text: str = ""
    """The number as the thesis prints it, if that differs."""

    def __str__(self) -> str:
        return self.text or (f"{self.value:g} ± {self.error:g}" if self.error else f"{self.value:g}")


def matching(
    text: str, found: Estimate, published: Published, margin: float, *, panels: Sequence[str], ratio: bool = False
) -> Evidence:
    """That an estimate is a published number, within the errors of both.

    It fails where the two differ by more than their errors explain, and holds where they do not, provided that our own
    error leaves room for at most `margin` on either side; otherwise it is undecided. A difference that is certainly
    below the margin also holds. Where both are truly equal it fails with a probability of at most `LEVEL`; where they
    differ by twice the bounds of that error, it holds with a probability of at most `LEVEL`.

    `ratio`: the estimate is the logarithm of one, the margin a factor, the published error relative.
    """
    value = math.log(published.value) if ratio else published.value
    room = math.log(margin) if ratio else margin
    effect, error, freedom = found
    off = effect - value
    both = math.hypot(error, published.error)
    if error > 0:  # of the published error the degrees of freedom are many, or not known
        freedom = min(10_000, math.floor(freedom * (both / error) ** 4))
    chance = min(1.0, 2 * min(chances(off, both, freedom)))
    if not math.isfinite(off) or not math.isfinite(error):
        chance, holds = 1.0, False
    else:
        bound = student_bound(LEVEL / 2, freedom)
        near = abs(off) + bound * both <= room
        holds = near or (chance > LEVEL and bound * error <= room)
        chance = 1.0 if near else chance
    shown, spread = (math.exp(effect), error * math.exp(effect)) if ratio else (effect, error)
    far = f"{shown / published.value:.3g} times it" if ratio else f"off by {three_digits(shown - published.value)}"
    if not ratio and published.value:
        far += f" ({(shown - published.value) / published.value:+.0%})"
    allowed = f"a factor of {three_digits(margin)}" if ratio else three_digits(margin)
    return Evidence(
        text, shown, spread, 0.0 if holds else 1.0, chance, tuple(panels), f"{published} to within {allowed}; {far}"
    )


def counting(
    text: str, times: int, trials: int, published: tuple[int, int], margin: float, *, panels: Sequence[str]
) -> Evidence:
    """That something happens in as large a share of runs as published, by Fisher's exact test; else as `matching`."""
    share, said = times / trials, published[0] / published[1]
    error = math.sqrt(share * (1 - share) / trials)
    more = hypergeometric_tail(times, trials, *published)
    less = hypergeometric_tail(*published, times, trials)
    chance = min(1.0, 2 * min(more, less))
    # Whether the true share can be further than the margin from what was found, exactly: so few, or so many, by chance.
    low, high = share - margin, share + margin
    sure = (low <= 0 or binomial_tail(times, trials, low) <= LEVEL / 2) and (
        high >= 1 or 1 - binomial_tail(times + 1, trials, high) <= LEVEL / 2
    )
    holds = chance > LEVEL and sure
    claimed = f"{published[0]} of {published[1]} to within {margin:.0%}; off by {share - said:+.1%}"
    return Evidence(
        f"{text}: {times:,} of {trials:,} runs", share, error, 0.0 if holds else 1.0, chance, tuple(panels), claimed
    )


def rarer(text: str, happened: Floats, bound: float, *, panels: Sequence[str], often: bool = False) -> Evidence:
    """That something happens in a smaller share of runs than the bound, or a larger, by the exact binomial test."""
    trials, times = happened.size, int(happened.sum())
    share = times / trials
    side = 1 - binomial_tail(times + 1, trials, bound), binomial_tail(times, trials, bound)
    return Evidence(
        f"{text}: {times:,} of {trials:,} runs",
        share,
        math.sqrt(share * (1 - share) / trials),
        *(side[::-1] if often else side),
        tuple(panels),
        f"{'above' if often else 'below'} {bound:.3g}",
    )


def in_words(effect: float, error: float) -> str:
    """An effect and its standard error.

    >>> in_words(1.40321, 0.0211), in_words(12345.6, 78.9)
    ('1.4 ± 0.0211', '12,346 ± 78.9')
    """
    return f"{three_digits(effect)} ± {three_digits(error)}"


def three_digits(value: float) -> str:
    """Three digits, or all before the point."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e15 else f"{value:.3g}"
