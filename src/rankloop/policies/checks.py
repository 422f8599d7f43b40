"""What policies check beyond numbers, for which there is `rankloop.checks`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankloop.checks import is_index


def check_kept(kept: Any, n: int) -> list[int | None]:
    """What another list keeps of the n items or arms before it: for each its old number, at most once, or None."""
    if not isinstance(kept, Sequence | np.ndarray) or isinstance(kept, str | bytes) or len(kept) == 0:
        raise ValueError(f"kept must have an old number or None for each item of the new list, not {kept!r}")
    for old in kept:
        if old is not None and not is_index(old, n):
            raise ValueError(f"kept holds old numbers, from 0 to {n - 1}, or None for what is new, not {old!r}")
    numbers = [None if old is None else int(old) for old in kept]
    known = [old for old in numbers if old is not None]
    if len(set(known)) < len(known):
        raise ValueError(f"kept must name each old number once, not as in {numbers!r}")
    return numbers
