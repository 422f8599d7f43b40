"""Duels, and what all dueling bandits share."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankloop.checks import check_whole, is_finite, is_index
from rankloop.kernels.arrays import Floats
from rankloop.policies.base import Policy, choose_once, learn_once

NOTES = 2
"""Number of notes that a dueling policy may make about a duel."""


@dataclass(frozen=True, slots=True)
class Duel:
    """Two arms to compare: for rankers, by interleaving their lists.

    `notes` are numbers that the policy wants back with the outcome, and `policy` says whose duel it is: another policy
    refuses its outcome. A duel may be answered late, or never, or by another process, so it travels as plain JSON. One
    that is made by hand, of a logged comparison say, is nobody's, and any policy learns from it. Duels are equal if
    their arms and notes are.

    >>> duel = Duel(3, 5)
    >>> duel.to_json()
    '{"left": 3, "right": 5}'
    >>> Duel.from_json(duel.to_json()) == duel
    True
    >>> left, right = duel
    """

    left: int
    right: int
    notes: tuple[float, ...] = ()
    policy: str = field(default="", compare=False, repr=False)

    def __iter__(self) -> Iterator[int]:
        yield self.left
        yield self.right

    def to_json(self) -> str:
        """The duel as a JSON object."""
        fields: dict[str, Any] = {"left": self.left, "right": self.right}
        if self.notes:
            fields["notes"] = list(self.notes)
        if self.policy:
            fields["policy"] = self.policy
        return json.dumps(fields)

    @classmethod
    def from_json(cls, text: str | bytes | Mapping[str, Any]) -> Duel:
        """The duel of a JSON text, or of the mapping such a text holds."""
        try:
            fields = text if isinstance(text, Mapping) else json.loads(text)
            left, right, policy = fields["left"], fields["right"], fields.get("policy", "")
            notes = tuple(float(note) for note in fields.get("notes", ()))
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
            raise ValueError(f"not a duel: {text!r} ({error})") from None
        for arm in (left, right):
            if isinstance(arm, bool) or not isinstance(arm, int):
                raise ValueError(f"not a duel: arms must be whole numbers, not {arm!r}")
        if not isinstance(policy, str):
            raise ValueError(f"not a duel: the policy must be a text, not {policy!r}")
        return cls(left, right, notes, policy)


class DuelingPolicy(Policy):
    """Base of the dueling bandits: `duel` chooses a comparison, `update` learns from its outcome.

    Outcomes may come late, in any order, or never. Each call of `update` is one more observation: where a queue may
    deliver the same outcome twice, drop the second one before it gets here.
    """

    n_arms: int

    def duel(self) -> Duel:
        """The two arms to compare next."""
        items = np.zeros(2, np.int64)
        notes = np.zeros(NOTES)
        choose_once(self.state, items, notes)
        return Duel(int(items[0]), int(items[1]), tuple(notes.tolist()) if notes.any() else (), self.identity)

    def update(self, duel: Duel, winner: int) -> None:
        """Learn that `winner` won the duel."""
        if not isinstance(duel, Duel):
            raise ValueError(f"update needs the duel that duel() gave (or a Duel of two arms), not {duel!r}")
        if duel.policy not in ("", self.identity):
            raise ValueError(f"{duel!r} is not a duel of this policy: feedback belongs to the policy that chose it")
        left, right = duel
        for arm in (left, right):
            self._check_arm("duel", arm)
        if not is_index(winner, self.n_arms) or winner not in (left, right):
            raise ValueError(f"winner must be one of the duel's arms, {left} or {right}, not {winner!r}")
        learn_once(self.state, np.array([left, right], np.int64), self._notes(duel), bool(winner == left))

    def _notes(self, duel: Duel) -> Floats:
        notes, given = np.zeros(NOTES), duel.notes
        if not isinstance(given, tuple) or len(given) not in (0, NOTES) or not all(map(is_finite, given)):
            raise ValueError(f"a duel of {type(self).__name__} has {NOTES} notes or none, not {given!r}")
        if given:
            notes[:] = given
        return notes

    def _practise(self) -> None:
        duel = self.duel()
        self.update(duel, duel.left)
        _ = self.best, self.winner

    @property
    def best(self) -> int:
        """The arm that looks best now."""
        raise NotImplementedError

    @property
    def winner(self) -> int | None:
        """The winner, once the policy is certain of it; None before, and always where a policy has no such rule."""
        return None

    def eliminated(self, arm: int) -> bool:
        """Whether the policy has ruled out the arm for good."""
        self._check_arm("arm", arm)
        return False

    def _check_arm(self, name: str, arm: Any) -> None:
        if not is_index(arm, self.n_arms):
            raise ValueError(f"{name} names arm {arm!r}, but arms go from 0 to {self.n_arms - 1}")


def check_n_arms(n_arms: int) -> int:
    """The number of arms, if there is anything to compare."""
    if n_arms == 1:
        raise ValueError("n_arms must be at least 2, not 1: a single arm has no opponent")
    return check_whole("n_arms", n_arms, 2)
