"""The generic steps that loops are made of; policies and environments register theirs with `step`.

`items` is what is shown (the two arms of a duel, or the list), `notes` the numbers that a policy wants to see again
when the feedback to those items comes (importance weights, say), since it may come late, or to another process.

The bodies here never run: the compiler takes the step registered for the type of the state.
"""

from __future__ import annotations

from typing import Any


def choose(policy: Any, items: Any, notes: Any) -> None:
    """Write what to show next into `items`, and what must be remembered of the choice into `notes`."""
    raise NotImplementedError


def learn(policy: Any, items: Any, notes: Any, feedback: Any) -> None:
    """Learn from the feedback to `items`: whether the left arm won, or the clicks by position."""
    raise NotImplementedError


def settled(policy: Any) -> bool:
    """Whether all later choices are known to equal the next one, so that a loop may stop calling."""
    raise NotImplementedError


def respond(environment: Any, rng: Any, items: Any, feedback: Any) -> Any:
    """Draw a user's feedback to `items`."""
    raise NotImplementedError


def regret(environment: Any, items: Any) -> float:
    """How much worse `items` are than the best choice, in expectation."""
    raise NotImplementedError


def gains(environment: Any) -> Any:
    """How attractive each item is at this moment."""
    raise NotImplementedError
