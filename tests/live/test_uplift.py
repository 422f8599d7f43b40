"""Does the interval of the uplift hold what it promises, looked at every day, and does it find a difference?"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from rankloop.live import uplift
from rankloop.live.uplift import BUCKETS, LEAST_BUCKETS, LEAST_CLICKS, HoldoutCounts, half_width

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
LOOPS = 1_000
DAYS = 20


class Arm:
    """The users of one arm, in all loops at once: they differ in taste and in how often they come, and come back."""

    def __init__(self, draw: np.random.Generator, users: int, rate: float) -> None:
        self.draw = draw
        shape = (LOOPS, users)
        self.taste = draw.beta(4 * rate, 4 * (1 - rate), shape)
        self.visits_per_day = draw.exponential(0.2, shape)
        self.shown: Floats = np.zeros(shape)
        self.clicked: Floats = np.zeros(shape)

    def live_a_day(self) -> None:
        visits = self.draw.poisson(self.visits_per_day)
        came = np.nonzero(visits)
        self.shown += visits
        self.clicked[came] += self.draw.binomial(visits[came], self.taste[came])

    def sums(self) -> tuple[Floats, Floats, Floats, Flags]:
        """Impressions, click rate, squared standard error, and whether there are enough users and clicks."""
        n, c = self.shown.sum(1), self.clicked.sum(1)
        rate = c / np.maximum(n, 1)
        heard = np.maximum(2, (self.shown > 0).sum(1))
        squares = (
            ((self.clicked - rate[:, None] * self.shown) ** 2).sum(1) / np.maximum(n, 1) ** 2 * heard / (heard - 1)
        )
        return n, rate, squares, (heard >= LEAST_BUCKETS) & (np.minimum(c, n - c) >= LEAST_CLICKS)


def limits(loop: Arm, holdout: Arm, times: int) -> tuple[Floats, Floats, Flags]:
    """Difference and half width of all loops, and where there is an interval.

    The loop's arm stands for one that is `times` as large: its click rate then lies nearer to the users' true one.
    """
    n, rate, squares, enough = loop.sums()
    m, other, more, too = holdout.sums()
    truth = (loop.taste * loop.visits_per_day).sum() / loop.visits_per_day.sum()
    rate, squares = truth + (rate - truth) / np.sqrt(times), squares / times
    sizes, errors = times * n + m, np.sqrt(squares + more)
    half = [half_width(max(1, int(t)), float(error), 0.05) for t, error in zip(sizes, errors, strict=True)]
    return rate - other, np.array(half), enough & too


@pytest.mark.parametrize("rate", [0.01, 0.03, 0.3])
def test_at_most_one_loop_of_twenty_is_ever_misled(rate: float) -> None:
    """1,000 A/A loops with a holdout of 5 % and of 50 %, looked at on each of 20 days.

    At a true risk of 5 % either part of this test fails in 1 of 700 cases: beyond 3 standard errors.
    """
    draw = np.random.default_rng(7)
    users = 1_000 if rate < 0.1 else 300
    loop, holdout = Arm(draw, users, rate), Arm(draw, users, rate)
    misled, told = np.zeros((2, LOOPS), bool), np.zeros((2, LOOPS), bool)
    for _ in range(DAYS):
        loop.live_a_day()
        holdout.live_a_day()
        for k, times in enumerate((19, 1)):
            difference, half, enough = limits(loop, holdout, times)
            told[k] |= enough
            misled[k] |= enough & (abs(difference) > half)
    assert told.mean(1).min() > 0.7, "most loops must have had an interval"
    assert misled.mean(1).max() <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / LOOPS), misled.mean(1)


def test_a_real_difference_is_found() -> None:
    """20 % against 10 %, with 500 users in each arm for 20 days, some 2,000 impressions: in nine loops of ten."""
    draw = np.random.default_rng(8)
    better, holdout = Arm(draw, 500, 0.2), Arm(draw, 500, 0.1)
    better.visits_per_day *= DAYS
    holdout.visits_per_day *= DAYS
    better.live_a_day()
    holdout.live_a_day()
    difference, half, enough = limits(better, holdout, times=1)
    assert enough.all()
    assert (difference > half).mean() > 0.9
    assert (difference < -half).mean() == 0


def filled(seed: int, users: int, holdout: float) -> HoldoutCounts:
    draw = np.random.default_rng(seed)
    comparison = HoldoutCounts(holdout)
    for bucket in draw.integers(0, BUCKETS, users):
        for _ in range(1 + int(draw.poisson(1.0))):
            comparison.count(int(bucket), bool(draw.random() < 0.2))
    return comparison


def test_the_interval_is_that_of_the_simulation() -> None:
    """What the simulations above compute for all loops at once is what `HoldoutCounts` tells of one."""
    comparison = filled(1, 2_000, 0.25)
    arms = []
    for part in (slice(comparison.boundary, None), slice(0, comparison.boundary)):
        arm = object.__new__(Arm)
        arm.shown, arm.clicked = (counts[None, part].astype(float) for counts in (comparison.shown, comparison.clicked))
        arm.taste = arm.visits_per_day = np.ones((1, 1))
        arms.append(arm)
    difference, half, enough = limits(arms[0], arms[1], times=1)
    told = comparison.uplift()
    assert enough.all()
    assert told.difference == pytest.approx(difference[0])
    assert told.low == pytest.approx((difference - half)[0])
    assert told.high == pytest.approx((difference + half)[0])
    assert told.impressions == (arms[0].shown.sum(), arms[1].shown.sum())
    assert not told.decided


def test_an_interval_appears_only_after_enough_users_and_clicks() -> None:
    comparison = HoldoutCounts(0.5)
    half = BUCKETS // 2
    assert str(comparison.uplift()) == "no comparison yet"
    for user in range(LEAST_BUCKETS):
        assert comparison.uplift().low is None
        comparison.count(user, user % 5 > 0)
        comparison.count(half + user, user % 5 == 0)
    told = comparison.uplift()
    assert told.low is not None
    assert told.high is not None
    assert told.low < told.high
    assert told.decided, "80 % against 20 %"
    assert str(told).startswith("-60.00% (")


def test_no_interval_without_clicks_in_the_holdout() -> None:
    """The standard error of a rate that is 0 so far is not 0."""
    comparison = HoldoutCounts(0.5)
    for user in range(1_000):
        comparison.count(user, user < LEAST_CLICKS - 1)
        comparison.count(BUCKETS // 2 + user, user % 10 == 0)
    assert comparison.uplift().low is None
    comparison.count(500, True)
    assert comparison.uplift().low is not None


def test_packed_counts_come_back() -> None:
    comparison, other = filled(2, 500, 0.25), HoldoutCounts(0.25)
    other.unpack(comparison.pack())
    assert other.uplift() == comparison.uplift()
    assert (other.shown == comparison.shown).all()
    assert (other.clicked == comparison.clicked).all()
    assert len(comparison.pack()) == 2 * 4 * uplift.BUCKETS
