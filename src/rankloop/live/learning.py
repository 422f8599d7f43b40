"""What is learned from an impression when it closes."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence

from rankloop.live.apply_entries import policy_view
from rankloop.live.entries import Arm, Choice, Fate
from rankloop.live.impression import Impression
from rankloop.live.learner import Learner
from rankloop.live.learner_kinds import DuelLearner

logger = logging.getLogger("rankloop.live")


def learn_from(
    learner: Learner,
    impression: Impression,
    choice: Choice,
    names: Sequence[str],
    clicks: tuple[int, ...],
    seen: int | None,
    secret: bytes,
) -> tuple[int, int]:
    """Learn from an impression; why it was not learned from otherwise, and who won a duel.

    Where learning was refused, the learner may have learned in part, and must be brought back from the journal.
    """
    if not impression.shown:
        return Fate.NEVER_SHOWN, -1
    if choice.arm != Arm.POLICY:
        return Fate.NOT_POLICY, -1
    if impression.seq < learner.reverted:
        return Fate.REVERTED, -1
    winner = -1
    try:
        if isinstance(learner, DuelLearner):
            winner = winner_of(impression, choice, clicks, secret)
            if winner < 0:
                return Fate.TIE, -1
            learned = learner.learn_winner(choice, names, winner)
        else:
            own, looked = policy_view(choice, impression.loop.settings.positions, clicks, seen)
            learned = learner.learn(choice, names, own, looked)
    except Exception:
        logger.exception("loop %s: impression %d was not learned from", impression.loop.name, impression.seq)
        return Fate.REFUSED, -1
    return (Fate.LEARNED, winner) if learned else (Fate.OUTDATED, -1)


def winner_of(impression: Impression, choice: Choice, clicks: tuple[int, ...], secret: bytes) -> int:
    """Which ranker the clicks speak for: 0 or 1, or -1 for neither.

    Where credit is a matter of probability, a coin decides that falls the same way whenever it is asked. A ranker
    that a policy compares with itself wins with any click: some policies would ask for the same duel for ever if
    they never heard of it.
    """
    page = impression.page
    if page is None:
        return -1
    if choice.items[0] == choice.items[1]:
        return 0 if clicks else -1
    outcome = page.preference([int(k in clicks) for k in range(len(page))])
    number = impression.seq.to_bytes(8, "little")
    coin = int.from_bytes(hashlib.blake2b(number, key=secret, digest_size=8).digest(), "little") / 2**64
    if coin < outcome.win:
        return 0
    return 1 if coin < outcome.win + outcome.loss else -1
