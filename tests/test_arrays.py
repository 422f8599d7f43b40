"""Arrays that are given: what is taken, what is refused, and how."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from rankloop.arrays import SLACK, check_features, check_probabilities, check_topics


@pytest.mark.parametrize(
    ("given", "ndim", "complaint"),
    [
        ("a lot", 1, "p must be a sequence of numbers in [0, 1], not 'a lot'"),
        ([10**400], 1, "p must be a sequence of numbers in [0, 1], not"),
        ([], 1, "p must be a sequence of at least 1 number, not of shape (0,)"),
        ([[0.5]], 1, "p must be a sequence of at least 1 number, not of shape (1, 1)"),
        ([0.5], 2, "p must be a table of at least 1 number, not of shape (1,)"),
        ([0.5, 1.5], 1, "p[1] = 1.5 is not a probability: it must lie in [0, 1]"),
        ([0.5, math.nan], 1, "p[1] = nan is not a probability"),
        ([[0.5, 0.5], [-0.5, 0.5]], 2, "p[1, 0] = -0.5 is not a probability"),
    ],
)
def test_what_are_no_probabilities(given: Any, ndim: int, complaint: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011  # the whole message is compared
        check_probabilities("p", given, ndim)
    assert complaint in str(error.value)


@pytest.mark.parametrize(
    ("given", "width", "complaint"),
    [
        ("a lot", None, "z must be a table of numbers, one row for each item, not 'a lot'"),
        ([[1, 2], [3]], None, "z must be a table of numbers, one row for each item, not [[1, 2], [3]]"),
        ([1, 2], None, "z must be a table of numbers, one row for each item, not of shape (2,)"),
        ([[], []], None, "z must be a table of numbers, one row for each item, not of shape (2, 0)"),
        ([[1, 2]], 3, "z must have 3 columns, not 2"),
        ([[1, 2], [math.inf, 4]], 2, "z[1, 0] = inf must be finite"),
    ],
)
def test_what_are_no_features(given: Any, width: int | None, complaint: str) -> None:
    for check in (check_features, check_topics):
        with pytest.raises(ValueError) as error:  # noqa: PT011  # the whole message is compared
            check("z", given, width)
        assert complaint in str(error.value)


def test_coverage_of_topics_has_bounds_which_rounding_may_miss() -> None:
    assert check_topics("x", [[-SLACK / 2, 1 + SLACK / 2]]).tolist() == [[0.0, 1.0]]
    assert check_topics("x", [[-1.0, 1.0]], least=-1.0).tolist() == [[-1.0, 1.0]]
    with pytest.raises(ValueError, match=r"x\[0, 1\] = -0.1 is no coverage of a topic: it must lie in \[0, 1\]"):
        check_topics("x", [[0.5, -0.1]])
    with pytest.raises(ValueError, match=r"x\[0, 0\] = 1 is no coverage"):
        check_topics("x", [[1 + 3 * SLACK]])


def test_what_is_taken_cannot_change() -> None:
    """An array that somebody may still write to is copied; one that nobody can is shared."""
    given = np.full((2, 2), 0.5)
    for check in (check_features, check_topics, lambda name, values: check_probabilities(name, values, ndim=2)):
        taken = check("z", given)
        given[:] = 0.25
        assert (taken == 0.5).all()
        assert not taken.flags.writeable
        given[:] = 0.5
    for check in (check_features, check_topics):
        taken = check("z", given)
        assert check("z", taken) is taken
        assert check("z", taken[:1]) is not taken
