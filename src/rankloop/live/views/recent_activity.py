"""What happened lately: decisions of policies, interventions, changed settings, lists of production after a failure."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from rankloop.live.entries import Entry, Kind, unpack_json, unpack_news
from rankloop.live.loops import Loops
from rankloop.live.replay import names_in_store
from rankloop.live.stores import Store, StoreError, StoreLost
from rankloop.live.views.view_cache import Looking

MOST = 50


def happenings(looking: Looking, loops: Collection[str], *, whole: bool) -> list[dict[str, Any]]:
    """The latest happenings of some loops, and of the store if it may be seen as a whole; the newest first."""
    notable, all_loops = looking.following.notable, looking.live._loops
    of_store = list(notable.get(0, ()))
    numbers = [all_loops.named(name).number for name in loops]
    latest = sorted([*of_store, *(entry for number in numbers for entry in notable.get(number, ())[-MOST:])])
    found = [_fallback(each) for each in looking.fallbacks if each["loop"] in loops]
    n_found = 0
    for entry in reversed(latest):
        for happening in _told(all_loops, looking.following.store, entry, of_store):
            if happening["loop"] in loops or (whole and happening["loop"] is None):
                found.append(happening)
                n_found += 1
        if n_found >= MOST:
            break
    return sorted(found, key=lambda each: -each["at"])[:MOST]


def _told(loops: Loops, store: Store, entry: Entry, of_store: list[Entry]) -> Iterator[dict[str, Any]]:
    """What an entry tells."""
    at = entry.at / 1000
    if entry.kind == Kind.OPENED:
        crashed = "seed" in unpack_json(entry.body)
        yield _happening(at, None, "started", "a program began to write" + (", after a crash" if crashed else ""))
    elif entry.kind == Kind.LOOP:
        yield _settings(entry, at, of_store)
    else:
        known = store.learner(entry.learner)
        if known is None or known.loop not in loops.by_number:
            return
        loop = loops.by_number[known.loop]
        if entry.kind == Kind.REVERT:
            yield _happening(at, loop.name, "reverted", "set back to production's list", known.key)
            return
        news = unpack_news(entry.body)
        assert news is not None
        try:
            names = names_in_store(store, known.number, news.version)
        except StoreLost:
            raise
        except StoreError:  # the list has been removed since
            return
        for better, worse in reversed(news.pairs):
            yield _decision(at, loop.name, loop.settings.kind, known.key, names[better], names[worse])


def _decision(at: float, loop: str, kind: str, key: str, better: str, worse: str) -> dict[str, Any]:
    if kind != "evaluate":
        text = f"{better} was proven better than {worse} and took its place"
        return _happening(at, loop, "exchange", text, key, [better, worse])
    if better == worse:
        return _happening(at, loop, "winner", f"{better} has won: all others are eliminated", key, [better])
    return _happening(at, loop, "eliminated", f"{worse} was eliminated by {better}", key, [worse, better])


def _settings(entry: Entry, at: float, of_store: list[Entry]) -> dict[str, Any]:
    """What was changed, compared with the settings before."""
    body = unpack_json(entry.body)
    now, loop = body["settings"], body["name"]
    earlier = [unpack_json(each.body) for each in of_store if each.kind == Kind.LOOP and each.seq < entry.seq]
    before = next((each["settings"] for each in reversed(earlier) if each["number"] == body["number"]), None)
    if before is None:
        text = f"{now['kind']} with {now['policy']}" + (", paused" if now["paused"] else "")
        return _happening(at, loop, "created", text)
    changed = [word for word in now if now[word] != before.get(word)]
    if changed == ["paused"]:
        kind = "paused" if now["paused"] else "resumed"
        text = "production's lists are shown" if now["paused"] else "the policy chooses again"
        return _happening(at, loop, kind, text)
    told = [_rankers(before, now) if word == "rankers" else f"{word} is now {now[word]}" for word in changed]
    return _happening(at, loop, "changed", "; ".join(told) or "nothing is different")


def _rankers(before: dict[str, Any], now: dict[str, Any]) -> str:
    joined = [name for name in now["rankers"] if name not in before["rankers"]]
    left = [name for name in before["rankers"] if name not in now["rankers"]]
    told = [f"{', '.join(names)} {verb}" for names, verb in ((joined, "joined"), (left, "left")) if names]
    return " and ".join(told) or "the rankers stand in another order"


def _fallback(each: dict[str, Any]) -> dict[str, Any]:
    n = each["lists"]
    text = f"{n:,} {'list was' if n == 1 else 'lists were'} production's because something failed"
    text += "" if each["dated"] else ", at a time that is not known"
    return _happening(each["at"], each["loop"], "fallbacks", text)


def _happening(
    at: float, loop: str | None, kind: str, text: str, key: str | None = None, items: list[str] | None = None
) -> dict[str, Any]:
    return {"at": at, "loop": loop, "kind": kind, "key": key, "items": items or [], "text": text}
