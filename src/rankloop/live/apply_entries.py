"""Entries applied to learners: how a learner is brought back, and how the journal is checked."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from rankloop.live.entries import (
    Arm,
    Choice,
    Closing,
    Entry,
    Fate,
    Kind,
    unpack_choice,
    unpack_closing,
    unpack_json,
)
from rankloop.live.learner import Learner
from rankloop.live.learner_kinds import DuelLearner
from rankloop.live.pages import policy_positions

Sessions = list[tuple[int, int]]
"""Numbers of the OPENED entries that began new random numbers, and their seeds."""


def session_at(sessions: Sessions, seq: int) -> tuple[int, int]:
    """The session that an entry belongs to; (0, 0) before the first that began new random numbers."""
    if not sessions:
        return 0, 0
    place = bisect_left(sessions, (seq, 0))
    return sessions[place - 1] if place else (0, 0)


def policy_view(
    choice: Choice, positions: int, clicks: Sequence[int], seen: int | None
) -> tuple[list[int], int | None]:
    """Clicks and how far was seen in terms of the policy's own list, without pinned items and what they pushed out."""
    if not choice.pinned:
        return list(clicks), None if seen is None else min(seen, len(choice.items))
    places = policy_positions(len(choice.items), choice.pinned, positions)
    own = [place for position in clicks if (place := places[position]) is not None]
    looked = places if seen is None else places[:seen]
    return own, sum(place is not None for place in looked)


def apply(
    learner: Learner,
    entry: Entry,
    sessions: Sessions,
    choice_of: Callable[[int], Choice],
    names_of: Callable[[int], Sequence[str]],
    told: Choice | Closing | None = None,
) -> Choice | None:
    """Let one entry happen to a learner, as it happened then; the choice that comes out of it, if it is one.

    `told` is what the entry tells, where the caller has looked already.
    """
    made, kind = None, entry.kind
    if kind == Kind.CHOICE:
        choice = told if isinstance(told, Choice) else unpack_choice(entry.body)
        if choice.arm not in (Arm.POLICY, Arm.SHADOW):
            return None
        session, seed = session_at(sessions, entry.seq)
        if learner.session != session:
            learner.reseed(session, seed)
        items, notes = learner.choose()
        made = Choice(choice.arm, choice.bucket, learner.version, items, notes, choice.deferred, choice.pinned)
    elif kind == Kind.CLOSE:
        closing = told if isinstance(told, Closing) else unpack_closing(entry.body)
        if closing.fate != Fate.LEARNED:
            return None
        choice = choice_of(entry.impression or 0)
        names = names_of(choice.version) if choice.version != learner.version else learner.names
        if isinstance(learner, DuelLearner):
            learner.learn_winner(choice, names, closing.winner)
        else:
            clicks, seen = policy_view(choice, learner.settings.positions, closing.clicks, closing.seen)
            learner.learn(choice, names, clicks, seen)
    elif kind == Kind.LIST:
        listed, rows = unpack_list(entry.body)
        learner.relist(entry.seq, listed, rows)
    elif kind == Kind.REVERT:
        learner.revert(entry.seq)
    elif kind == Kind.LEARNER:
        body = unpack_json(entry.body)
        learner.seed = body["seed"]
        learner.session = session_at(sessions, entry.seq)[0]
    else:
        return None
    learner.applied = entry.seq
    return made


def unpack_list(body: bytes) -> tuple[list[str], list[int]]:
    """The names of a LIST entry, and the rows of the catalogue that they stood for where there is one."""
    values = unpack_json(body)
    return (values["names"], values["rows"]) if isinstance(values, dict) else (values, [])


def choice_in(entry: Entry) -> Choice:
    """The choice of a CHOICE or RECOVERED entry."""
    return unpack_choice(entry.body[8:] if entry.kind == Kind.RECOVERED else entry.body)
