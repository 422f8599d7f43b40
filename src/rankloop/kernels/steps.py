"""The generic steps that loops are made of; policies and environments register theirs with `step`.

`items` is what is shown (the two arms of a duel, or the list), `notes` the numbers that a policy wants to see again
when the feedback to those items comes (importance weights, say), since it may come late, or to another process.

The compiler takes the step registered for the type of the state; the bodies here never run, but for that of an
optional step.
"""

from __future__ import annotations

from typing import Any

from rankloop.kernels.arrays import Floats, Items, Notes, Stream
from rankloop.kernels.states import optional


def choose(policy: Any, items: Items, notes: Notes, /) -> None:
    """Write what to show next into `items`, and what must be remembered of the choice into `notes`."""
    raise NotImplementedError


def learn(policy: Any, items: Items, notes: Notes, feedback: Any, /) -> None:
    """Learn from the feedback to `items`: whether the left arm won (a bool), or the clicks by position."""
    raise NotImplementedError


@optional
def settled(policy: Any, /) -> bool:
    """Whether all later duels are known to equal the next one, so that a loop may stop calling; False by default."""
    return False


def respond(environment: Any, rng: Stream, items: Items, feedback: Any, /) -> Any:
    """Draw a user's feedback to `items`: return whether the left arm won, or write the clicks into `feedback`."""
    raise NotImplementedError


def regret(environment: Any, items: Items, /) -> float:
    """How much worse `items` are than the best choice, in expectation."""
    raise NotImplementedError


def gains(environment: Any, /) -> Floats:
    """How attractive each item is at this moment."""
    raise NotImplementedError
