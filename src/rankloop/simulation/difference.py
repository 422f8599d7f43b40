"""How much two policies differ, run by run, and how certain that is."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from rankloop.arrays import Floats
from rankloop.checks import check_between
from rankloop.simulation.result import Result, readable


class Difference(NamedTuple):
    """The mean difference of two policies, and an interval that contains the true one with the given confidence."""

    policies: tuple[str, str]
    record: str
    step: int
    mean: float
    """What the first policy has more than the second, on average."""
    low: float
    high: float
    pairs: int
    """Number of pairs that the interval rests on."""
    confidence: float

    def __str__(self) -> str:
        interval = f"{self.confidence:.4g} interval from {readable(self.low)} to {readable(self.high)}"
        what = f"{self.record} {readable(self.mean)} ({interval}) at step {self.step:,}, {self.pairs:,} pairs"
        return f"{self.policies[0]} minus {self.policies[1]}: {what}"


def difference(
    first: Result, second: Result, *, record: str = "regret", step: int | None = None, confidence: float = 0.95
) -> Difference:
    """Compare two policies in the same environment, paired by run.

    Runs with the same number have the same names of arms and meet the same queries or users. With several queries and
    several runs of each, the queries are taken as given, and the interval says what other runs on them would give;
    with a single run of each, it says what other queries would give.

    Parameters
    ----------
    first, second
        Results of the same problem and seed.
    record
        Record to compare.
    step
        Checkpoint at which to compare; the last one that both have if not given.
    confidence
        Probability that an interval made like this contains the true difference, by Student's t.

    Examples
    --------
    >>> import rankloop as rl
    >>> policies = [rl.MergeDTS(20), rl.SelfSparring(20)]
    >>> merge, sparring = rl.simulate(policies, rl.PreferenceMatrix.cycle2(), horizon=2000, runs=10)
    >>> found = rl.difference(merge, sparring)
    >>> found.pairs, found.low < found.mean < found.high
    (10, True)
    """
    confidence = check_between("confidence", confidence, 0, 1)
    for key in ("problem", "seed"):
        if first.setting.get(key) != second.setting.get(key):
            raise ValueError(f"results of different problems or seeds cannot be paired: the {key} differs")
    common = np.intersect1d(first.steps, second.steps).tolist()
    if not common or step not in (None, *common):
        raise ValueError(f"there is no checkpoint {'' if step is None else f'{step} '}that both results have")
    at = common[-1] if step is None else step
    differences = _differences(first, second, record, at)
    if len(differences) < 2:
        raise ValueError(f"an interval needs at least 2 pairs of finished runs, not {len(differences)}")
    mean = float(differences.mean())
    error = float(differences.std(ddof=1)) / math.sqrt(len(differences))
    reach = student_bound((1 - confidence) / 2, len(differences) - 1) * error
    names = (first.policy, second.policy)
    return Difference(names, record, at, mean, mean - reach, mean + reach, len(differences), confidence)


def _differences(first: Result, second: Result, record: str, step: int) -> Floats:
    """The differences of pairs: of runs, each averaged over the queries, or else of queries."""
    columns = [int(np.flatnonzero(result.steps == step)[0]) for result in (first, second)]
    values = [
        dict(zip(sorted(result.finished), result.record(record)[:, column].tolist(), strict=True))
        for result, column in zip((first, second), columns, strict=True)
    ]
    both = {unit: values[0][unit] - values[1][unit] for unit in values[0] if unit in values[1]}
    n = len(first.setting.get("queries", [""]))
    whole = [r for r in range(max(both, default=-1) // n + 1) if all(r * n + k in both for k in range(n))]
    if len(whole) < 2:
        return np.array(list(both.values()))
    return np.array([np.mean([both[r * n + k] for k in range(n)]) for r in whole])


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


@functools.lru_cache(maxsize=1024)  # sixty tails each, and most callers ask for the same few
def student_bound(chance: float, freedom: int) -> float:
    """The value that Student's t exceeds with a given probability, at most a half.

    >>> round(student_bound(0.01, 9), 3)
    2.821
    """
    low, high = 0.0, 1.0
    while student_tail(high, freedom) > chance:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if student_tail(middle, freedom) > chance else (low, middle)
    return high
