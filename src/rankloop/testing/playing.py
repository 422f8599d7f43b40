"""What the checks share: a policy played, saved and loaded, and what it must refuse."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from rankloop.files import load
from rankloop.policies import ClickPolicy, DuelingPolicy, Policy


def assert_same_state(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Two snapshots are equal to the last bit."""
    assert one.keys() == other.keys(), f"{sorted(one)} are not {sorted(other)}"
    for name in one:
        assert np.array_equal(one[name], other[name]), f"{name} differs"


def play_once(policy: DuelingPolicy | ClickPolicy) -> None:
    """One duel or list, which must be valid, with an answer to it."""
    shown, feedback = show_and_answer(policy)
    policy.update(shown, feedback)


def show_and_answer(policy: Any) -> tuple[Any, Any]:
    """What the policy shows next, which must be valid, and an answer to it: the smallest number wins or is clicked."""
    if isinstance(policy, DuelingPolicy):
        duel = policy.duel()
        assert max(duel) < policy.n_arms, f"{duel} names an arm that does not exist"
        return duel, min(duel)
    ranking = policy.rank()
    assert len(ranking) == len(set(ranking)) == policy.n_shown, f"{ranking} is not a list of different items"
    return ranking, [int(item == min(ranking)) for item in ranking]


def assert_raises(call: Callable[[], Any], name: str) -> None:
    """The call is refused with ValueError."""
    try:
        call()
    except ValueError:
        return
    raise AssertionError(f"{name} was accepted")


def assert_refused(
    policy: DuelingPolicy | ClickPolicy, before: dict[str, Any], shown: Any, feedback: Any, **more: Any
) -> None:
    """The feedback is refused with ValueError, and the policy is as it was before."""
    try:
        policy.update(shown, feedback, **more)
    except ValueError:
        assert_same_state(policy.snapshot(), before)
    else:
        notes = getattr(shown, "notes", ())
        given = ", ".join([repr(shown), repr(feedback), *(f"{name}={value!r}" for name, value in more.items())])
        raise AssertionError(f"update({given}) was accepted, with the notes {notes}")


def saved_and_loaded(policy: Policy) -> Policy:
    """The policy from its own file, which must be of the same kind and have the same parameters."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.npz"
        policy.save(path)
        loaded = load(path)
    assert isinstance(loaded, type(policy)), f"loaded a {type(loaded).__name__}"
    np.testing.assert_equal(loaded.parameters, policy.parameters, "parameters were not kept")
    return loaded
