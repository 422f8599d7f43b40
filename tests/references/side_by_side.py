"""A fast policy and its plain reference in front of the same users."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any


def seen_in_part(draw: random.Random, clicks: Sequence[int]) -> tuple[list[int], int]:
    """The clicks of a user who saw the first positions only, and how many these were: from none to all."""
    seen = draw.randint(0, len(clicks))
    return [*clicks[:seen], *[0] * (len(clicks) - seen)], seen


def assert_same_choices(
    fast: Any, slow: Any, attraction: list[float], steps: int, seed: int = 0, in_part: bool = False
) -> None:
    """Both show the same list in every step; users click what attracts them, more than once, of what they see."""
    draw = random.Random(seed)
    for step in range(steps):
        ranking = fast.rank()
        assert slow.rank() == list(ranking), f"in step {step}"
        clicks = [int(draw.random() < attraction[item]) for item in ranking]
        seen = None
        if in_part:
            clicks, seen = seen_in_part(draw, clicks)
        fast.update(ranking, clicks, seen=seen)
        slow.update(ranking, clicks, seen=seen)


PROBLEMS = [
    ([0.1, 0.5, 0.3, 0.2, 0.4], 2),
    ([0.05, 0.02, 0.3, 0.1, 0.15, 0.0], 6),
    ([0.9, 0.8, 1.0, 1.0], 3),
    ([0.0, 0.0, 0.0], 2),
    ([0.4], 1),
]
