"""The types of arrays that compiled steps work on."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Ints32: TypeAlias = npt.NDArray[np.int32]
Flags: TypeAlias = npt.NDArray[np.bool_]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Words: TypeAlias = npt.NDArray[np.uint64]

Items: TypeAlias = Ints
"""What is shown: the two arms of a duel, or the items of a list from the top."""

Notes: TypeAlias = Floats
"""Numbers that a policy wants to see again with the feedback to what it chose."""

Clicks: TypeAlias = Bytes
"""1 or 0 for each position of a list."""

Stream: TypeAlias = Words
"""The state of a random number generator (`kernels.random`)."""
