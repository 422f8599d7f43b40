"""Users for tests of click policies, each with a generator of its own."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

Clicks = Callable[[Sequence[int]], list[int]]


def cascade(attraction: Sequence[float], seed: int) -> Clicks:
    """Clicks the first attractive item."""
    draw = random.Random(seed)

    def clicks(shown: Sequence[int]) -> list[int]:
        result = [0] * len(shown)
        for k, item in enumerate(shown):
            if draw.random() < attraction[item]:
                result[k] = 1
                break
        return result

    return clicks


def position_based(attraction: Sequence[float], examination: Sequence[float], seed: int) -> Clicks:
    """Clicks each position with the product of its examination and its item's attraction."""
    draw = random.Random(seed)
    return lambda shown: [
        int(draw.random() < examine * attraction[item]) for examine, item in zip(examination, shown, strict=True)
    ]
