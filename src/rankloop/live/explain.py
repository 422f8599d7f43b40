"""Why this list: what was shown to whom, what was known at that moment, what came back and what was learned."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from rankloop.live.apply_entries import choice_in
from rankloop.live.entries import (
    CLICK,
    OTHER,
    SEEN,
    Arm,
    Choice,
    Entry,
    Event,
    Fate,
    Kind,
    unpack_closing,
    unpack_event,
)
from rankloop.live.impression import page_in
from rankloop.live.learner import Learner
from rankloop.live.learner_kinds import DuelLearner, FeatureLearner
from rankloop.live.pages import page_of
from rankloop.live.propensity import propensity
from rankloop.live.replay import Replay
from rankloop.live.stores import Store
from rankloop.live.tokens import Ticket
from rankloop.policies.clicks.cascade_ducb import WEIGHT


@dataclass(frozen=True)
class LiveExplanation:
    """Why an impression showed what it showed; it prints as text.

    Parameters
    ----------
    loop, kind, key, policy
        Whose choice it was.
    at
        When it was handed out.
    arm
        Who decided: the policy, or production for the holdout, outside of the loop's traffic, or while it is off.
    bucket
        The user's bucket, from 0 to 65,535, which is all that is kept of the user: a keyed hash of the name, or a
        random number where no user was named. It decides who is in the holdout.
    items
        What was shown; in a duel, the two rankers.
    production
        Production's list at that moment; in a duel, all rankers.
    reasons
        What was exchanged, sampled or decided, in sentences.
    evidence
        What the policy knew of the items at that moment, one mapping for each.
    propensity
        Probability with which this list was chosen, where the policy can state it.
    events
        What came back, in sentences.
    outcome
        What was learned from it, or why nothing was.
    shown_at, closed_at
        When it was handed out and when it was closed, in seconds since 1970; None while it is open.
    learned
        Whether it was learned from; None while it is open.
    heard
        What came back, one mapping for each event: when, of which type, and the item or how far was seen.
    """

    loop: str
    kind: str
    key: str
    policy: str
    at: str
    arm: str
    items: list[str]
    production: list[str]
    reasons: list[str] = field(default_factory=list)
    evidence: list[dict[str, Any]] = field(default_factory=list)
    propensity: float | None = None
    events: list[str] = field(default_factory=list)
    outcome: str = "open: its window has not passed"
    shown_at: float = 0.0
    closed_at: float | None = None
    learned: bool | None = None
    heard: list[dict[str, Any]] = field(default_factory=list)
    bucket: int = 0

    def to_json(self) -> dict[str, Any]:
        """The explanation as JSON can hold it."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [
            f"{self.loop} ({self.kind}, {self.policy}), key {self.key!r}, {self.at}",
            f"shown       {', '.join(self.items)}",
            f"production  {', '.join(self.production)}",
            f"decided by  {self.arm}",
            f"shown to    a user of bucket {self.bucket:,} (names of users are not kept)",
        ]
        lines += [f"            {reason}" for reason in self.reasons]
        if self.propensity is not None:
            lines.append(f"propensity  {self.propensity:.6g}")
        for number, row in enumerate(self.evidence):
            facts = ", ".join(f"{name} {value}" for name, value in row.items())
            lines.append(f"{'evidence    ' if number == 0 else '            '}{facts}")
        for number, text in enumerate(self.events):
            lines.append(f"{'events      ' if number == 0 else '            '}{text}")
        lines.append(f"outcome     {self.outcome}")
        return "\n".join(lines)


def explain(store: Store, trimmed: int, upto: int, ticket: Ticket) -> LiveExplanation:
    """Explain an impression from the journal: its learner is replayed up to the moment before it."""
    begun = store.entry(ticket.seq)
    later = list(store.of_impressions(ticket.seq, ticket.seq))
    if begun is None:
        begun = next((entry for entry in later if entry.kind == Kind.RECOVERED), None)
    if begun is None and ticket.seq <= trimmed:
        raise ValueError("the impression is older than the journal is kept: nothing is left of it")
    if begun is None:
        raise ValueError("the impression is not in the journal: no event has come since a crash lost it")
    replay = Replay(store, trimmed, min(upto, ticket.seq - 1), only=ticket.learner)
    for _ in replay:
        pass
    replayed = replay.learners[ticket.learner]
    learner, choice = replayed.learner, choice_in(begun)
    settings = learner.settings
    names = replayed.lists.get(choice.version, learner.names)
    lost = begun.kind == Kind.RECOVERED
    items = _shown(learner, choice, names, later)
    closed = next((entry for entry in later if entry.kind == Kind.CLOSE), None)
    return LiveExplanation(
        loop=replay.loops.by_number[learner.loop].name,
        kind=settings.kind,
        key=learner.key,
        policy=settings.policy,
        at=_time(ticket.at),
        arm=Arm.NAMES[choice.arm],
        items=items,
        production=list(names),
        reasons=_reasons(learner, choice, names, lost=lost),
        evidence=[] if learner.policy is None or lost else _evidence(learner, choice),
        propensity=propensity(settings.policy, choice, len(names)),
        events=[_event(entry, items) for entry in later if entry.kind == Kind.EVENT],
        outcome=_outcome(closed, choice, names),
        shown_at=ticket.at / 1000,
        closed_at=None if closed is None else closed.at / 1000,
        learned=None if closed is None else unpack_closing(closed.body).fate == Fate.LEARNED,
        heard=[_heard(entry, items) for entry in later if entry.kind == Kind.EVENT],
        bucket=choice.bucket,
    )


def _shown(learner: Learner, choice: Choice, names: tuple[str, ...], later: list[Entry]) -> list[str]:
    settings = learner.settings
    if isinstance(learner, DuelLearner):
        pages = [page_in(entry, settings.interleaver) for entry in later if entry.kind == Kind.PAGE]
        return list(map(str, pages[-1].items)) if pages else [names[ranker] for ranker in choice.items]
    items = range(len(names)) if choice.arm == Arm.SHADOW else choice.items
    return page_of(names, items, choice.pinned, settings.positions)


def _reasons(learner: Learner, choice: Choice, names: tuple[str, ...], *, lost: bool) -> list[str]:
    reasons = []
    if lost:
        reasons.append("the program ended before this was written; its id brought it back")
    if choice.arm == Arm.SHADOW:
        would = ", ".join(names[item] for item in choice.items)
        reasons.append(f"production's list was shown; the policy would have shown {would}")
    elif choice.arm != Arm.POLICY:
        reasons.append("production's list was shown as it is")
        return reasons
    policy = learner.settings.policy
    if isinstance(learner, DuelLearner):
        left, right = (names[ranker] for ranker in choice.items)
        reasons.append(f"{policy} compares {left} with {right}")
    elif policy == "BubbleRank":
        for k, note in enumerate(choice.notes[:-1]):
            if note:
                upper, lower = names[choice.items[k]], names[choice.items[k + 1]]
                reasons.append(f"{upper} and {lower} stand in random order: which is better is not known yet")
        if choice.notes and choice.notes[-1]:
            rival = names[int(choice.notes[-1]) - 1]
            reasons.append(f"the last place was drawn between {names[choice.items[-1]]} and {rival}")
    if choice.pinned:
        reasons.append(f"pinned: {', '.join(f'{name} at {position}' for position, name in choice.pinned)}")
    return reasons


def _evidence(learner: Learner, choice: Choice) -> list[dict[str, Any]]:
    """What the policy knew, in numbers."""
    policy, names = learner.policy, learner.names
    state = policy.state
    if isinstance(learner, DuelLearner):
        left, right = choice.items
        return [
            {"ranker": names[ranker], "eliminated": bool(policy.eliminated(ranker)), "best": policy.best == ranker}
            for ranker in dict.fromkeys((left, right))
        ]
    if isinstance(learner, FeatureLearner):
        return [{"explanation": str(policy.explain([int(row) for row in choice.notes]))}] if choice.notes else []
    if learner.settings.policy == "BubbleRank":
        receipt = policy.receipt()
        return [
            {
                "pair": f"{names[pair.upper]} over {names[pair.lower]}",
                "lead": pair.lead,
                "of": pair.observations,
                "needs more than": round(pair.threshold, 2),
                "decided": pair.decided,
            }
            for pair in receipt.pairs
        ]
    known = looks_at_items(policy)
    if known:
        rounded = [(round(clicks, 3), round(looks, 3)) for clicks, looks in known]
        return [{"item": names[i], "clicks": rounded[i][0], "looks": rounded[i][1]} for i in choice.items]
    if hasattr(state, "wins"):
        lead = state.wins - state.wins.T
        return [{"item": names[i], "ahead of": int((lead[i] > 0).sum())} for i in choice.items]
    return []


def looks_at_items(policy: Any) -> list[tuple[float, float]]:
    """Clicks on each item, and looks at it, as far as a policy counts and remembers them; old ones count for less."""
    state = policy.state
    if not hasattr(state, "clicked") or not hasattr(state, "seen"):
        return []
    unit = float(state.discount[WEIGHT]) if hasattr(state, "discount") else 1.0
    known = zip(state.clicked.tolist(), state.seen.tolist(), strict=True)
    return [(clicks / unit, looks / unit) for clicks, looks in known]


def _event(entry: Entry, items: list[str]) -> str:
    event: Event = unpack_event(entry.body)
    when = _time(entry.at)
    if event.action == CLICK:
        return f"{when}: click on {items[event.value] if event.value < len(items) else event.value}"
    if event.action == SEEN:
        return f"{when}: the first {event.value} positions were seen"
    return f"{when}: {event.type}" + (" (not learned from)" if event.action == OTHER else "")


def _heard(entry: Entry, items: list[str]) -> dict[str, Any]:
    event = unpack_event(entry.body)
    found: dict[str, Any] = {"at": entry.at / 1000, "type": "seen" if event.action == SEEN else event.type}
    if event.action == SEEN:
        return {**found, "positions": event.value}
    if event.action == CLICK:
        item = items[event.value] if event.value < len(items) else None
        return {**found, "position": event.value, "item": item}
    return found


def _outcome(closed: Entry | None, choice: Choice, names: tuple[str, ...]) -> str:
    if closed is None:
        return "open: its window has not passed"
    closing = unpack_closing(closed.body)
    texts = {
        Fate.LEARNED: "learned",
        Fate.NOT_POLICY: "not learned from: the policy had not chosen it",
        Fate.NEVER_SHOWN: "not learned from: it was never shown",
        Fate.REVERTED: "not learned from: the key was set back after it was shown",
        Fate.TIE: "not learned from: neither ranker won",
        Fate.OUTDATED: "not learned from: the list has changed since, and this policy begins anew then",
        Fate.REFUSED: "not learned from: the policy failed",
    }
    text = texts[closing.fate]
    if closing.fate == Fate.LEARNED and closing.winner >= 0:
        text = f"learned that {names[choice.items[closing.winner]]} won"
    elif closing.fate == Fate.LEARNED:
        text = f"learned from {len(closing.clicks)} click{'' if len(closing.clicks) == 1 else 's'}"
    return f"{text} ({_time(closed.at)})"


def _time(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
