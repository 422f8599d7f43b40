"""All loops at a glance: what they count, how they fare, how much traffic there is, and what happened lately."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rankloop.live.live import Live
from rankloop.live.loops import Loop
from rankloop.live.merged_status import merged_status, tally
from rankloop.live.views.keys import merge_counted
from rankloop.live.views.recent_activity import MOST, happenings
from rankloop.live.views.view_cache import Looking, looking_at

MINUTES = 180
"""Minutes of traffic in an answer."""
COUNTS = (
    "keys", "impressions", "clicks", "open", "closed", "learned", "holdout", "duplicates", "late", "fallbacks",
    "recovered",
)  # fmt: skip


def overview_of(live: Live, loops: Collection[str] | None = None) -> dict[str, Any]:
    """What one journal says of some loops, or of all and of itself; to be given to `merge_overviews`.

    Parameters
    ----------
    live
        The open `Live`.
    loops
        Names of the loops that may be seen; all, and the store as a whole, if not given.
    """
    looking = looking_at(live)
    question = ("overview", None if loops is None else tuple(sorted(loops)))
    found: dict[str, Any] = looking.fresh(question, lambda: _overview(looking, loops))
    return found


def _overview(looking: Looking, loops: Collection[str] | None) -> dict[str, Any]:
    live, following = looking.live, looking.following
    looking.advance()
    seen = [name for name in live.loops if loops is None or name in loops]
    now = live._journal.now()
    return {
        "at": now / 1000,
        "minute": now // 60_000,
        "store": _store(live) if loops is None else None,
        "counted": following.counted,
        "loops": {name: _loop(looking, live._loops.named(name), now) for name in seen},
        "happenings": happenings(looking, seen, whole=loops is None),
    }


def _store(live: Live) -> dict[str, Any]:
    """How large the store is."""
    name = live.store.name
    return {
        "name": name if "://" in name else Path(name).name,  # where the file stands is nobody's business here
        "bytes": live.reader.size(),
        "entries": live.last,
    }


def _loop(looking: Looking, loop: Loop, now: int) -> dict[str, Any]:
    live, settings = looking.live, loop.settings
    minute = now // 60_000
    counted = tally(live, loop.name)  # it closes windows that have passed, so what still waits is asked after it
    minutes = looking.following.minutes(loop.number, range(minute - MINUTES + 1, minute + 1))
    waiting = min(loop.queue.first, loop.returned.first)
    return {
        "tally": counted,
        "holdout_share": settings.holdout,
        "rankers": len(settings.rankers),
        "lag": 0.0 if live._read_only else max(0.0, now - waiting) / 1000,
        "fell_back": looking.fell_back.get(loop.name),
        "impressions": [each[0] for each in minutes],
        "clicks": [each[1] for each in minutes],
    }


def merge_overviews(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The overview of loops whose keys are spread over several journals."""
    stores = [part["store"] for part in parts if part["store"] is not None]
    minute = max(part["minute"] for part in parts)
    names = dict.fromkeys(name for part in parts for name in part["loops"])
    found = [happening for part in parts for happening in part["happenings"]]
    return {
        "at": max(part["at"] for part in parts),
        "store": _merged_store(stores) if stores else None,
        "counted": merge_counted([part["counted"] for part in parts]),
        "loops": [_merged_loop(name, parts, minute) for name in names],
        "happenings": _without_repeats(sorted(found, key=lambda each: -each["at"]))[:MOST],
    }


def _merged_store(stores: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """All journals of one store: each says the size of the whole."""
    return {**stores[0], "entries": sum(store["entries"] for store in stores)}


def _without_repeats(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The settings of a loop stand in every journal, and are told once."""
    told, kept = set(), []
    for each in found:
        about = (each["loop"], each["kind"], each["text"], round(each["at"] / 60))
        if each["key"] is None and about in told and each["kind"] != "fallbacks":
            continue
        told.add(about)
        kept.append(each)
    return kept


def _merged_loop(name: str, parts: Sequence[dict[str, Any]], minute: int) -> dict[str, Any]:
    each = [(part["loops"][name], minute - part["minute"]) for part in parts if name in part["loops"]]
    status = merged_status([loop["tally"] for loop, _ in each])
    uplift, first = status.get("uplift"), each[0][0]
    impressions, clicks = (
        [sum(column) for column in zip(*(_shifted(loop[word], late) for loop, late in each), strict=True)]
        for word in ("impressions", "clicks")
    )
    race = None
    if status["kind"] == "evaluate":
        survivors = len(status["survivors"])
        race = {"rankers": first["rankers"], "survivors": survivors, "best": status["best"], "winner": status["winner"]}
    return {
        **{word: status[word] for word in ("loop", "kind", "policy", "mode", "traffic")},
        "holdout_share": first["holdout_share"],
        **{word: status[word] for word in COUNTS},
        "lag": max(loop["lag"] for loop, _ in each),
        "fell_back": max((loop["fell_back"] for loop, _ in each if loop["fell_back"] is not None), default=None),
        "uplift": None if uplift is None else {**asdict(uplift), "decided": uplift.decided},
        "race": race,
        "per_hour": sum(impressions[-60:]),
        "series": {"from": (minute - MINUTES + 1) * 60.0, "step": 60, "impressions": impressions, "clicks": clicks},
    }


def _shifted(counts: list[int], late: int) -> list[int]:
    """Counts of a journal that was asked some minutes before the last one."""
    return [*counts[late:], *[0] * late] if late else counts
