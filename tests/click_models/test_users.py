"""Simulated users click and leave as their table says."""

from __future__ import annotations

import numpy as np
import pytest

from rankloop.click_models.users import USERS, User
from rankloop.kernels import stream

PROBABILITIES = {
    ("perfect", 5): ([0, 0.2, 0.4, 0.8, 1], [0, 0, 0, 0, 0]),
    ("navigational", 5): ([0.05, 0.3, 0.5, 0.7, 0.95], [0.2, 0.3, 0.5, 0.7, 0.9]),
    ("informational", 5): ([0.4, 0.6, 0.7, 0.8, 0.9], [0.1, 0.2, 0.3, 0.4, 0.5]),
    ("perfect", 2): ([0, 1], [0, 0]),
    ("navigational", 2): ([0.05, 0.95], [0.2, 0.9]),
    ("informational", 2): ([0.4, 0.9], [0.1, 0.5]),
}


@pytest.mark.parametrize("name", USERS)
@pytest.mark.parametrize("n_grades", [2, 5])
def test_click_frequencies_follow_the_table(name: str, n_grades: int) -> None:
    """Clicks at each of 6 positions over 20,000 readings, against the probability of getting there and clicking: 5
    standard errors (false alarms: 1 in 40,000 over all checks)."""
    click, stop = PROBABILITIES[name, n_grades]
    grades = np.arange(6)[::-1] % n_grades
    user, rng, n = User.named(name, n_grades), stream(1), 20_000
    seen = sum(user.clicks(grades, rng) for _ in range(n)) / n
    reading = 1.0
    for k, grade in enumerate(grades):
        expected = reading * click[grade]
        assert abs(seen[k] - expected) <= 5 * np.sqrt(expected * (1 - expected) / n) + 1e-12
        reading *= 1 - click[grade] * stop[grade]


def test_bad_users_and_grades_are_refused() -> None:
    for name, n_grades, message in (
        ("lazy", 5, "user must be perfect, navigational or"),
        ("perfect", 3, "5 or 2 grades"),
    ):
        with pytest.raises(ValueError, match=message):
            User.named(name, n_grades)
    for click, stop, message in (
        ([0, 1], [0], "stop must hold"),
        ([0, 1], [0, 0, 1], "one value for each grade"),
        ([0, 1.5], [0, 0], "click must hold probabilities"),
        ([0, float("nan")], [0, 0], "click must hold probabilities"),
    ):
        with pytest.raises(ValueError, match=message):
            User(click, stop)
    for grades in ([5], [-1], [0.5], [[1]]):
        with pytest.raises(ValueError, match="grades must"):
            User.named("perfect").clicks(grades, stream(0))
    assert User.named("perfect").clicks([], stream(0)).tolist() == []
