"""What the journal holds: numbered entries, in the order in which things happened.

The journal is the truth. A learner is what one gets by replaying the entries that concern it, so everything that a
learner's state depends on is an entry: the lists that production gave, the choices, what was learned, interventions.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from enum import IntEnum
from functools import cache
from typing import Any, NamedTuple


class Kind(IntEnum):
    """What an entry tells."""

    OPENED = 1
    """A program began to write; `seed` begins new random numbers where the last one did not end cleanly."""
    LOOP = 2
    """A loop was created, or its settings were changed."""
    LEARNER = 3
    """A key was asked for the first time."""
    LIST = 4
    """Production's list for a key, or the rankers of an evaluation, differ from the last ones."""
    CHOICE = 5
    """A list, or a pair of rankers, was handed out: an impression begins."""
    RECOVERED = 6
    """An impression that was handed out just before a crash came back with its first event."""
    PAGE = 7
    """The lists of two rankers were interleaved for a duel."""
    EVENT = 8
    """A user did something with an impression."""
    CLOSE = 9
    """An impression's window ended: what was learned from it."""
    REVERT = 10
    """A learner was set back to production's list."""
    ITEMS = 11
    """Items of a catalogue, with their features."""


class Entry(NamedTuple):
    """One entry. `impression` is the number of the entry that began the impression, where the entry concerns one."""

    seq: int
    at: int
    kind: int
    learner: int
    impression: int | None
    body: bytes


class Arm:
    """Who decided what was shown."""

    POLICY = 0
    HOLDOUT = 1
    OUTSIDE = 2
    """Users beyond the share of traffic that the loop is given."""
    OFF = 3
    """The loop is off or paused."""
    SHADOW = 4
    """Production's list is shown, and what the policy would have shown is recorded."""

    NAMES = ("policy", "holdout", "outside", "off", "shadow")


class Choice(NamedTuple):
    """What was handed out.

    Parameters
    ----------
    arm
        Who decided.
    bucket
        Bucket of the user, from 0 to 65,535.
    version
        Number of the LIST entry that the items are counted in.
    items
        The items, by their place in that list.
    notes
        What the policy wants to see again with the feedback.
    deferred
        Whether the impression begins only once `shown` is called.
    pinned
        Items that stand where production put them: position and name.
    """

    arm: int
    bucket: int
    version: int
    items: tuple[int, ...]
    notes: tuple[float, ...]
    deferred: bool = False
    pinned: tuple[tuple[int, str], ...] = ()


_CHOICE = struct.Struct("<BHqH")
_shorts = cache(lambda n: struct.Struct(f"<{n}H"))
"""How n whole numbers below 65,536 are packed."""
_DEFERRED, _PINNED, _SMALL_NOTES, _NO_NOTES = 8, 16, 32, 64
_ARM = 7
_VERSION = struct.Struct("<q")
_VERSION_AT = 3

MOST_REMEMBERED, LONGEST_REMEMBERED = 2_000, 64
"""Packed notes that are kept at hand."""


def pack_choice(choice: Choice) -> bytes:
    """A choice in a few bytes: it travels in every impression's id.

    >>> choice = Choice(Arm.POLICY, 7, 12, (2, 0, 1), (0.0, 1.0, 0.0))
    >>> unpack_choice(pack_choice(choice)) == choice, len(pack_choice(choice))
    (True, 24)
    """
    arm, bucket, version, items, notes, deferred, pinned = choice
    flag, packed = _small_notes.get(notes) or _pack_notes(notes)
    flags = arm | flag
    if deferred:
        flags |= _DEFERRED
    if pinned:
        flags |= _PINNED
        packed += json.dumps(pinned, ensure_ascii=False).encode()
    n = len(items)
    return _CHOICE.pack(flags, bucket, version, n) + _shorts(n).pack(*items) + packed


_small_notes: dict[tuple[float, ...], tuple[int, bytes]] = {(): (_NO_NOTES, b"")}
"""Notes that were packed in one byte each: most policies' notes are the same few, over and over."""


def _pack_notes(notes: tuple[float, ...]) -> tuple[int, bytes]:
    """How notes are packed, and the bytes."""
    head = struct.pack("<H", len(notes))
    try:
        small = bytes(map(int, notes))
    except (ValueError, OverflowError):
        small = b""
    if tuple(small) != notes:
        return 0, head + struct.pack(f"<{len(notes)}d", *notes)
    if len(_small_notes) < MOST_REMEMBERED and len(notes) <= LONGEST_REMEMBERED:
        _small_notes[notes] = _SMALL_NOTES, head + small
    return _SMALL_NOTES, head + small


def unpack_choice(body: bytes) -> Choice:
    """The choice that `pack_choice` wrote."""
    flags, bucket, version, n = _CHOICE.unpack_from(body)
    at = _CHOICE.size
    items = _shorts(n).unpack_from(body, at)
    at += 2 * n
    notes: tuple[float, ...] = ()
    if not flags & _NO_NOTES:
        (count,) = struct.unpack_from("<H", body, at)
        at += 2
        if flags & _SMALL_NOTES:
            notes = tuple(map(float, body[at : at + count]))
            at += count
        else:
            notes = struct.unpack_from(f"<{count}d", body, at)
            at += 8 * count
    pinned: tuple[tuple[int, str], ...] = ()
    if flags & _PINNED:
        pinned = tuple((position, name) for position, name in json.loads(body[at:]))
    return Choice(flags & _ARM, bucket, version, items, notes, bool(flags & _DEFERRED), pinned)


def version_in(body: bytes) -> int:
    """Number of the list that a packed choice counts its items in."""
    return int(_VERSION.unpack_from(body, _VERSION_AT)[0])


def unpack_items(body: bytes) -> tuple[int, int, tuple[int, ...]]:
    """Who decided, the number of the list, and the items, of a choice without pinned items; of others no items."""
    flags, _, version, n = _CHOICE.unpack_from(body)
    items = () if flags & _PINNED else _shorts(n).unpack_from(body, _CHOICE.size)
    return flags & _ARM, version, items


CLICK, SEEN, SHOWN, OTHER = range(4)
"""What an event says: a click at a position, how many positions were seen, that a deferred list was shown, or else."""

_EVENT = struct.Struct("<BHq")


class Event(NamedTuple):
    """What a user did: `value` is the position that was clicked, or the number of positions that were seen."""

    action: int
    value: int
    at: int
    type: str = "click"
    id: str = ""


def pack_event(event: Event) -> bytes:
    """An event in a few bytes."""
    action, value, at, type_, id_ = event
    head = _EVENT.pack(action, value, at)
    if type_ == "click" and not id_:
        return head
    return head + json.dumps([type_, id_], ensure_ascii=False).encode()


@cache
def plain_click(position: int) -> tuple[Event, bytes]:
    """A click that says nothing but where it was, with its bytes."""
    event = Event(CLICK, position, 0)
    return event, pack_event(event)


def unpack_event(body: bytes) -> Event:
    """The event that `pack_event` wrote."""
    action, value, at = _EVENT.unpack_from(body)
    if len(body) == _EVENT.size:
        return Event(action, value, at)
    type_, id_ = json.loads(body[_EVENT.size :])
    return Event(action, value, at, type_, id_)


class Fate:
    """Why an impression was, or was not, learned from."""

    LEARNED = 0
    NOT_POLICY = 1
    """The policy did not decide what was shown."""
    NEVER_SHOWN = 2
    REVERTED = 3
    """Its learner was set back after the list was shown."""
    TIE = 4
    """Neither ranker won."""
    OUTDATED = 5
    """Its policy cannot use feedback to a list that has changed since."""
    REFUSED = 6
    """Its policy failed to learn from it, and was left as it was before."""

    NAMES = ("learned", "not_policy", "never_shown", "reverted", "ties", "outdated", "refused")


class Closing(NamedTuple):
    """How an impression ended.

    Parameters
    ----------
    fate
        Whether it was learned from, or why not.
    arm
        Who had decided what was shown.
    bucket
        Bucket of the user.
    clicks
        Positions that were clicked.
    seen
        Number of positions that were seen; None: all.
    winner
        In a duel, 0 if the left ranker won and 1 if the right one did; else -1.
    """

    fate: int
    arm: int
    bucket: int
    clicks: tuple[int, ...]
    seen: int | None
    winner: int = -1


class News(NamedTuple):
    """What a policy has decided, found when an impression was closed: for those who look, nothing depends on it.

    Parameters
    ----------
    version
        Number of the LIST entry that the pairs are counted in.
    pairs
        Items that took the place of others, or rankers that eliminated others: the better one first. A ranker with
        itself is the winner: no other is left.
    """

    version: int
    pairs: tuple[tuple[int, int], ...]


_CLOSE = struct.Struct("<BBHhhH")
_NEWS = struct.Struct("<qH")
WITH_NEWS = 8
"""Bit of the byte that says who had decided, in a closing that brought news."""


def pack_closing(closing: Closing, news: News | None = None) -> bytes:
    """A closing in a few bytes, with the news that it brought, if any.

    >>> closing = Closing(Fate.LEARNED, Arm.POLICY, 7, (0, 2), None)
    >>> body = pack_closing(closing, News(12, ((1, 0),)))
    >>> unpack_closing(body) == closing, unpack_news(body), unpack_news(pack_closing(closing))
    (True, News(version=12, pairs=((1, 0),)), None)
    """
    seen = -1 if closing.seen is None else closing.seen
    n = len(closing.clicks)
    arm = closing.arm if news is None else closing.arm | WITH_NEWS
    body = _CLOSE.pack(closing.fate, arm, closing.bucket, seen, closing.winner, n) + _shorts(n).pack(*closing.clicks)
    if news is None:
        return body
    n_pairs = len(news.pairs)
    return (
        body + _NEWS.pack(news.version, n_pairs) + _shorts(2 * n_pairs).pack(*(i for pair in news.pairs for i in pair))
    )


def unpack_closing(body: bytes) -> Closing:
    """The closing that `pack_closing` wrote."""
    fate, arm, bucket, seen, winner, n = _CLOSE.unpack_from(body)
    clicks = _shorts(n).unpack_from(body, _CLOSE.size)
    return Closing(fate, arm & _ARM, bucket, clicks, None if seen < 0 else seen, winner)


def unpack_news(body: bytes) -> News | None:
    """The news that a closing brought."""
    _, arm, _, _, _, n = _CLOSE.unpack_from(body)
    if not arm & WITH_NEWS:
        return None
    at = _CLOSE.size + 2 * n
    version, n_pairs = _NEWS.unpack_from(body, at)
    numbers = _shorts(2 * n_pairs).unpack_from(body, at + _NEWS.size)
    return News(version, tuple(zip(numbers[::2], numbers[1::2], strict=True)))


_to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode


def pack_json(value: Any) -> bytes:
    """What is rare and readable."""
    return _to_json(value).encode()


def unpack_json(body: bytes) -> Any:
    """The value that `pack_json` wrote."""
    return json.loads(body)


def pack_names(names: Sequence[str]) -> bytes:
    """The names of a list."""
    return pack_json(list(names))
