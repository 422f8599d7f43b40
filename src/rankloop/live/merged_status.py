"""What several partitions have counted, as if they were one."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from rankloop.live.live import Live
from rankloop.live.loops import COUNTS
from rankloop.live.uplift import HoldoutCounts

SUMMED = (*COUNTS, "open", "unwritten", "warm")


def tally(live: Live, loop: str) -> dict[str, Any] | None:
    """What one partition says of a loop, as plain data that `merged_status` takes; None if it has not heard of it."""
    if loop not in live.loops:
        return None
    status, settings = live.status(loop), live.settings(loop)
    if status.pop("uplift", None) is not None:
        status["compared"] = [settings.holdout, zlib.compress(live.comparison(loop), 1)]
    return status


def merged_status(tallies: Sequence[Mapping[str, Any] | None]) -> dict[str, Any]:
    """The status of a loop, from the tallies of all its partitions.

    Counts are added up. An evaluation's standings are those of the partition that has been asked for duels without a
    key, since each key has its own.

    >>> one = dict.fromkeys(SUMMED, 1) | {"loop": "rankers", "survivors": ["a", "b"], "winner": None, "best": None}
    >>> other = one | {"survivors": ["a"], "winner": "a", "best": "a"}
    >>> status = merged_status([one, other, None])
    >>> status["clicks"], status["winner"]
    (2, 'a')
    """
    known = [each for each in tallies if each is not None]
    status = dict(next((each for each in known if each.get("best") is not None), known[0]))
    for word in SUMMED:
        status[word] = sum(each[word] for each in known)
    compared = [each["compared"] for each in known if "compared" in each]
    if compared:
        del status["compared"]
        whole = HoldoutCounts(compared[0][0])
        for _, packed in compared:
            whole.add(zlib.decompress(packed))
        status["uplift"] = whole.uplift()
    return status
