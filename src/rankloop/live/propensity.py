"""With what probability a list was chosen, for those who estimate from logs; None where a policy cannot say."""

from __future__ import annotations

from rankloop.live.entries import Arm, Choice


def propensity(policy: str, choice: Choice, n_items: int) -> float | None:
    """The probability of what was shown, given all that the policy knew.

    Production's lists and deterministic policies have 1. BubbleRank exchanges pairs by fair coins; TopRank shuffles
    blocks; REX3 notes the probabilities of its two draws. The others draw from posteriors or break ties at random,
    whose probabilities have no simple form.

    >>> propensity("BubbleRank", Choice(Arm.POLICY, 0, 1, (1, 0, 2), (1.0, 0.0, 0.0)), 3)
    0.5
    """
    if choice.arm != Arm.POLICY or policy == "FixedRanking":
        return 1.0
    notes = choice.notes
    if policy == "BubbleRank":
        if notes and notes[-1]:
            return None  # drawn among hidden items, whose number is not in the list
        return 0.5 ** sum(note != 0 for note in notes)
    if policy == "TopRank":
        probability = 1.0
        for k, end in enumerate(notes[: len(choice.items)]):
            probability /= max(1.0, min(end, n_items) - k)
        return probability
    if policy == "REX3" and len(notes) == 2 and all(0 < note <= 1 for note in notes):
        return notes[0] * notes[1]
    return None
