"""The statistics of claims.

Error rates are counted over 2,000 simulations of fixed seeds and may be above their level by three standard errors of
that count.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from rankloop.experiments.statistics import (
    LEVEL,
    Estimate,
    Evidence,
    Published,
    Sample,
    binomial_tail,
    counting,
    holm,
    hypergeometric_tail,
    jackknife,
    matching,
    rarer,
    together,
    verdicts,
    within,
)
from rankloop.simulation.difference import student_bound, student_tail


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 7, 30, 99])
@pytest.mark.parametrize("t", [-5.0, -0.3, 0.0, 0.7, 2.4, 12.0])
def test_student_tail(t: float, freedom: int) -> None:
    assert student_tail(t, freedom) == pytest.approx(stats.t.sf(t, freedom), abs=1e-12)


@pytest.mark.parametrize("freedom", [1, 4, 99])
def test_student_bound(freedom: int) -> None:
    assert student_bound(0.005, freedom) == pytest.approx(stats.t.isf(0.005, freedom), rel=1e-9)


@pytest.mark.parametrize(("times", "trials"), [(0, 5), (1, 5), (5, 5), (3, 100), (40, 3000)])
def test_binomial_tail(times: int, trials: int) -> None:
    assert binomial_tail(times, trials, 0.1) == pytest.approx(stats.binom.sf(times - 1, trials, 0.1), rel=1e-9)


@pytest.mark.parametrize("table", [(1, 100, 0, 60), (10, 100, 5, 1000), (0, 9, 0, 9), (99, 100, 300, 300)])
def test_hypergeometric_tail(table: tuple[int, int, int, int]) -> None:
    first, of_first, second, of_second = table
    exact = stats.fisher_exact([[first, of_first - first], [second, of_second - second]], alternative="greater")[1]
    assert hypergeometric_tail(*table) == pytest.approx(exact, rel=1e-9)


def test_jackknife_of_a_difference() -> None:
    """Within a block it is the paired error, between blocks Welch's, and of fixed queries that of strata."""
    draw = np.random.default_rng(0)
    a, b = draw.normal(size=(2, 9))
    c = draw.normal(0, 3, 5)

    def difference(m: np.ndarray) -> float:
        return float(m[0] - m[1])

    paired = jackknife(difference, [Sample(a[None], "one"), Sample(b[None], "one")])
    assert paired == (pytest.approx((a - b).mean()), pytest.approx(stats.sem(a - b)), 8)
    apart = jackknife(difference, [Sample(a[None], "one"), Sample(c[None], "other")])
    welch = stats.ttest_ind(a, c, equal_var=False)
    assert apart.effect / apart.error == pytest.approx(welch.statistic)
    assert apart.freedom == math.floor(welch.df)
    queries = draw.normal([[0.0], [100.0], [1000.0]], 1, (3, 4))
    fixed = jackknife(lambda m: float(m[0]), [Sample(queries, "one")])
    assert fixed.effect == pytest.approx(queries.mean())
    assert fixed.error == pytest.approx(np.sqrt((queries.var(axis=1, ddof=1) / 4).sum()) / 3)


def test_holm() -> None:
    assert holm([0.004, 0.004, 0.2]) == [False, False, False]
    assert holm([0.003, 0.004, 0.2]) == [True, True, False]
    assert holm([]) == []


@pytest.mark.parametrize(
    ("said", "every", "most"),
    [
        ("hhh", "holds", "holds"),
        ("hhf", "fails", "holds"),
        ("hff", "fails", "fails"),
        ("hhu", "undecided", "holds"),
        ("huu", "undecided", "undecided"),
        ("hf", "fails", "fails"),
        ("", "undecided", "undecided"),
    ],
)
def test_how_verdicts_make_one(said: str, every: str, most: str) -> None:
    words = [{"h": "holds", "f": "fails", "u": "undecided"}[letter] for letter in said]
    assert together(words, "all") == every
    assert together(words, "most") == most


SIMULATIONS = 2000
MOST = LEVEL * SIMULATIONS + 3 * math.sqrt(LEVEL * (1 - LEVEL) * SIMULATIONS)


def _rates(make: Callable[[np.random.Generator], list[Evidence]], rule: str = "all") -> dict[str, int]:
    draw = np.random.default_rng(1)
    counts = {"holds": 0, "fails": 0, "undecided": 0}
    for _ in range(SIMULATIONS):
        counts[together(verdicts(make(draw), rule), rule)] += 1
    return counts


def _above(samples: list[Sample], bound: float = 0.0) -> Evidence:
    return within("", lambda m: float(m[0] - sum(m[1:])), samples, more_than=bound, panels=[])


@pytest.mark.parametrize("n", [3, 10])
@pytest.mark.parametrize("same", [True, False])
def test_level_of_differences(n: int, same: bool) -> None:
    """Where the effect is exactly at the bound, the verdict is wrong either way in at most one of a hundred."""

    def make(draw: np.random.Generator) -> list[Evidence]:
        a, b = draw.normal(5, 1, (2, 1, n))
        return [_above([Sample(a, "a"), Sample(b, "a" if same else "b")])]

    rates = _rates(make)
    assert 0 < rates["holds"] < MOST
    assert 0 < rates["fails"] < MOST


@pytest.mark.parametrize("runs", [2, 5])
def test_level_with_fixed_queries(runs: int) -> None:
    """Queries differ widely in level and in noise; the error is that of their runs."""

    def make(draw: np.random.Generator) -> list[Evidence]:
        level = np.linspace(1, 100, 20)[:, None]
        a, b = (level + draw.normal(0, 0.1 * level, (20, runs)) for _ in range(2))
        return [_above([Sample(a, "a"), Sample(b, "b")])]

    rates = _rates(make)
    assert 0 < rates["holds"] < MOST
    assert 0 < rates["fails"] < MOST


def test_level_of_ratios() -> None:
    def make(draw: np.random.Generator) -> list[Evidence]:
        a, b = (np.array([mean * draw.normal(1, 0.2, 10)]) for mean in (3, 1))
        samples = [Sample(a, "a"), Sample(b, "b")]
        return [within("", lambda m: math.log(m[0] / m[1]), samples, less_than=3.0, panels=[], ratio=True)]

    rates = _rates(make)
    assert rates["holds"] < MOST
    assert rates["fails"] < MOST


def test_level_of_several_comparisons() -> None:
    """All true but one, which is at its bound: the claim seldom holds; all at their bound: it seldom fails."""

    def each(means: tuple[float, ...]) -> Callable[[np.random.Generator], list[Evidence]]:
        return lambda draw: [_above([Sample(draw.normal(mean, 1, (1, 8)), "a")]) for mean in means]

    assert 0 < _rates(each((9, 9, 9, 0)))["holds"] < MOST
    assert 0 < _rates(each((0, 0, 0, 0)))["fails"] < MOST
    assert 0 < _rates(each((9, 0, 0)), "most")["holds"] < MOST
    assert 0 < _rates(each((-9, 0, 0, 0)), "most")["fails"] < MOST


def test_level_of_two_bounds() -> None:
    def make(draw: np.random.Generator) -> list[Evidence]:
        samples = [Sample(draw.normal(1, 1, (1, 10)), "a")]
        return [within("", lambda m: float(m[0]), samples, more_than=-1, less_than=1, panels=[])]

    rates = _rates(make)
    assert rates["holds"] < MOST
    assert rates["fails"] < MOST


@pytest.mark.parametrize("often", [True, False])
def test_level_of_shares(often: bool) -> None:
    rates = _rates(lambda draw: [rarer("", (draw.random(60) < 0.1).astype(float), 0.1, panels=[], often=often)])
    assert rates["holds"] < MOST
    assert rates["fails"] < MOST


def _matched(draw: np.random.Generator, off: float, margin: float = 1.0) -> list[Evidence]:
    """Ours has an error of about 0.3, the published number one of 0.4."""
    ours = jackknife(lambda m: float(m[0]), [Sample(draw.normal(0, 1, (1, 11)), "a")])
    return [matching("", ours, Published(off + draw.normal(0, 0.4), 0.4), margin, panels=[])]


def test_level_of_matching() -> None:
    """Equal numbers seldom fail; those that are twice as far apart as their errors allow seldom hold."""
    equal = _rates(lambda draw: _matched(draw, 0.0))
    assert 0 < equal["fails"] < MOST
    assert equal["holds"] > 0.4 * SIMULATIONS
    far = 2 * student_bound(LEVEL / 2, 10) * math.hypot(0.3, 0.4)
    assert _rates(lambda draw: _matched(draw, far))["holds"] < MOST
    assert _rates(lambda draw: _matched(draw, 0.0, margin=0.1))["holds"] < MOST


def test_matching_of_what_is_certain() -> None:
    def said(ours: float, published: float, margin: float) -> str:
        return verdicts([matching("", Estimate(ours, 0.0, 9), Published(published), margin, panels=[])])[0]

    assert said(5.0, 5.0, 1.0) == "holds"
    assert said(5.5, 5.0, 1.0) == "holds"
    assert said(7.0, 5.0, 1.0) == "fails"


def test_level_of_counting() -> None:
    """The published count is as random as ours."""

    @functools.cache  # the same counts come again and again
    def count(ours: int, published: int) -> Evidence:
        return counting("", ours, 1000, (published, 100), 0.05, panels=[])

    def make(ours: float) -> Callable[[np.random.Generator], list[Evidence]]:
        return lambda draw: [count(int(draw.binomial(1000, ours)), int(draw.binomial(100, 0.1)))]

    equal = _rates(make(0.1))
    assert equal["fails"] < MOST
    assert equal["holds"] > 0.9 * SIMULATIONS
    assert _rates(make(0.4))["holds"] < MOST


def test_power_of_differences() -> None:
    def make(draw: np.random.Generator) -> list[Evidence]:
        return [_above([Sample(draw.normal(mean, 1, (1, 10)), mean) for mean in (7, 5)])]

    assert _rates(make)["holds"] > 0.8 * SIMULATIONS


def test_no_spread_is_no_excuse() -> None:
    same = [Sample(np.full((1, 5), 2.0), "a")]
    assert verdicts([_above(same, 1.0)]) == ["holds"]
    assert verdicts([_above(same, 3.0)]) == ["fails"]
    assert verdicts([_above(same, 2.0)]) == ["undecided"]
