"""What every policy must do, whatever it is for."""

from __future__ import annotations

import pytest

from rankloop import testing
from rankloop.policies import DuelingPolicy, Policy

DUELING = [
    pytest.param(cls, example, id=f"{name}-{k}")
    for name, cls in sorted(Policy.known.items())
    if issubclass(cls, DuelingPolicy) and cls.__module__.startswith("rankloop.policies.")
    for k, example in enumerate(cls.examples)
]


@pytest.mark.parametrize("check", testing.DUELING_CHECKS)
@pytest.mark.parametrize(("cls", "example"), DUELING)
def test_dueling_policy(cls, example, check) -> None:
    check(lambda seed: cls(**example, seed=seed))


def test_every_policy_names_examples() -> None:
    for name, cls in Policy.known.items():
        if name != "DuelingPolicy":
            assert cls.examples, f"{name} has no examples for the generic checks"
