"""What the simulated part of the demo says of its results, in words."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from rankloop.experiments.comparisons import log_ratio
from rankloop.experiments.statistics import Sample, jackknife, three_digits
from rankloop.simulation import Result
from rankloop.simulation.difference import student_bound

CHANCE = 0.01
"""The probability that the interval of a comparison misses the truth."""

Results = Mapping[str, Result]
"""The results of one part by the names of their policies."""


def settled(results: Results) -> str:
    """What each policy still paid in the last tenth of its steps, and when SelfSparring will have paid more in all."""
    found = [f"{name} in {int(each.found.sum())} of {len(each.found)}" for name, each in results.items()]
    paid = [f"{name} {_growth(each):,.0f}" for name, each in results.items()]
    lines = [
        f"Runs that found the best ranker: {', '.join(found)}. Regret of the last tenth of the comparisons: "
        f"{', '.join(paid)}."
    ]
    first, last = results["MergeDTS"], results["SelfSparring"]
    ahead = float(first.mean()[-1] - last.mean()[-1])
    if ahead > 0 and _growth(last) > _growth(first):
        steps = int(first.steps[-1])
        more = 0.1 * steps * ahead / (_growth(last) - _growth(first))
        lines.append(
            f"So far SelfSparring has paid less than MergeDTS. At the pace of the last tenth, it will have paid more "
            f"after {_rounded(steps + more)} comparisons."
        )
    return " ".join(lines)


def _growth(result: Result) -> float:
    """The mean regret of the last tenth of the steps, or of what comes nearest to that."""
    begin = int(np.searchsorted(result.steps, 0.9 * result.steps[-1], side="right")) - 1
    return float(result.mean()[-1] - (result.mean()[begin] if begin >= 0 else 0.0))


def _rounded(value: float) -> str:
    """A number of steps with two digits that count."""
    return f"{float(f'{value:.1e}'):,.0f}"


def safety(results: Results) -> str:
    """How many unsafe lists each policy showed, and what safety gained over production."""
    shown = [
        f"{name} showed {result.violations[:, -1].sum():,.0f}"
        for name, result in results.items()
        if name != "FixedRanking"
    ]
    n_lists = len(results["BubbleRank"].finished) * int(results["BubbleRank"].steps[-1])
    return (
        f"Unsafe lists among {n_lists:,}: {'; '.join(shown)}. "
        f"{compared(results['BubbleRank'], results['FixedRanking'])}"
    )


def compared(one: Result, other: Result, what: str = "regret", *, after_change: bool = False) -> str:
    """How many times as much one policy has as another, with an interval, or what it would take to tell them apart."""
    samples = [_sample(result, after_change=after_change) for result in (one, other)]
    effect, error, freedom = jackknife(lambda means: log_ratio(means[0], means[1]), samples)
    if not math.isfinite(effect):
        return f"{one.policy} and {other.policy} have no ratio: one of them has no {what}."
    ratio = f"{one.policy} has {three_digits(math.exp(effect))} times the {what} of {other.policy}"
    if not math.isfinite(error):
        return f"{ratio}; an interval needs more runs."
    room = student_bound(CHANCE / 2, freedom) * error
    interval = f"{three_digits(math.exp(effect - room))} to {three_digits(math.exp(effect + room))}"
    told = f"{ratio} ({1 - CHANCE:.0%} interval: {interval})."
    if abs(effect) > room:
        return told
    times = (room / abs(effect)) ** 2 if effect else math.inf
    factor = f"about {_rounded(times)}" if times < 1000 else "more than 1,000"
    kind = "users" if one.setting.get("hybrid") else "runs"
    return f"{told} To find out which of the two has less takes {factor} times as many {kind}."


def _sample(result: Result, *, after_change: bool) -> Sample:
    """The last regret of each run: one row for each query, or one row of all users, who are a sample themselves."""
    values = result.regret[:, -1]
    if after_change:
        values = values - result.regret[:, int(np.searchsorted(result.steps, result.setting["epochs"][0]))]
    n_queries = len(result.setting.get("queries", [""]))
    if result.setting.get("hybrid"):
        return Sample(values.reshape(-1, n_queries).mean(axis=0, keepdims=True), "users")
    return Sample(values.reshape(-1, n_queries).T, result.policy)
