"""CascadeSWUCB against the pseudo-code, and its ring against sums over the last lists."""

from __future__ import annotations

import math
import random

import pytest
from references import cascading
from references.side_by_side import PROBLEMS, assert_same_choices, seen_in_part

import rankloop as rl


def doubling(t: int) -> int:
    n = 2 ** int(math.log2(t))
    return max(1, math.ceil(2 * math.sqrt(n * math.log(n))))


@pytest.mark.parametrize("window", [1, 2, 50])
@pytest.mark.parametrize(("attraction", "n_positions"), PROBLEMS)
def test_it_matches_the_pseudo_code_step_by_step(attraction: list[float], n_positions: int, window: int) -> None:
    n = len(attraction)
    slow = cascading.CascadeSWUCB(n, n_positions, 5, lambda _t: window)
    assert_same_choices(rl.CascadeSWUCB(n, n_positions, window=window, seed=5), slow, attraction, 1000)


def test_doubling_matches_the_pseudo_code_step_by_step() -> None:
    fast = rl.CascadeSWUCB(5, 2, seed=5)
    assert_same_choices(fast, cascading.CascadeSWUCB(5, 2, 5, doubling), [0.1, 0.5, 0.3, 0.2, 0.4], 2500)
    assert fast.memory == doubling(2048)


@pytest.mark.parametrize("last_click", [False, True])
@pytest.mark.parametrize("window", [1, 7, 300, 10_000, None])
def test_statistics_are_sums_over_the_last_lists(window: int | None, last_click: bool) -> None:
    """Checked at random moments, with late feedback: a list enters the window when it is learned from.

    Half of the lists are seen in part; one of which nothing was seen is not learned from.
    """
    draw = random.Random(1)
    policy = rl.CascadeSWUCB(5, 3, window=window, last_click=last_click, seed=1)
    slow = cascading.CascadeSWUCB(5, 3, 1, doubling if window is None else lambda _t: window)
    slow.last_click = last_click
    waiting = []
    for _ in range(5000):
        waiting.append(policy.rank())
        if len(waiting) < 10:
            continue
        ranking = waiting.pop(draw.randrange(10))
        clicks, seen = [int(draw.random() < 0.3) for _ in range(3)], None
        if draw.random() < 0.5:
            clicks, seen = seen_in_part(draw, clicks)
        policy.update(ranking, clicks, seen=seen)
        slow.update(ranking, clicks, seen)
        if draw.random() < 0.03 or slow.t & (slow.t - 1) == 0:
            X, N = slow.statistics()
            assert policy.state.seen.tolist() == N
            assert policy.state.clicked.tolist() == X


@pytest.mark.parametrize(
    ("arguments", "window"),
    [
        ({"window": 7}, 7),
        ({"horizon": 100_000}, math.ceil(2 * math.sqrt(100_000 * math.log(100_000)))),
        ({"horizon": 100_000, "breakpoints": 10}, math.ceil(2 * math.sqrt(10_000 * math.log(100_000)))),
        ({"horizon": 1}, 1),
        ({}, 1),
    ],
)
def test_the_window_follows_from_what_is_known(arguments, window: int) -> None:
    assert rl.CascadeSWUCB(4, 2, **arguments).memory == window
