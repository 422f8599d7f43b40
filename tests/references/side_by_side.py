"""A fast policy and its plain reference in front of the same users."""

from __future__ import annotations

import random
from typing import Any


def assert_same_choices(fast: Any, slow: Any, attraction: list[float], steps: int, seed: int = 0) -> None:
    """Both show the same list in every step; users click what attracts them, more than once."""
    draw = random.Random(seed)
    for step in range(steps):
        ranking = fast.rank()
        assert slow.rank() == list(ranking), f"in step {step}"
        clicks = [int(draw.random() < attraction[item]) for item in ranking]
        fast.update(ranking, clicks)
        slow.update(ranking, clicks)


PROBLEMS = [
    ([0.1, 0.5, 0.3, 0.2, 0.4], 2),
    ([0.05, 0.02, 0.3, 0.1, 0.15, 0.0], 6),
    ([0.9, 0.8, 1.0, 1.0], 3),
    ([0.0, 0.0, 0.0], 2),
    ([0.4], 1),
]
