"""What every policy must do, whatever it is for."""

from __future__ import annotations

import pytest

from rankloop import testing
from rankloop.policies import ClickPolicy, DuelingPolicy, Policy


def examples(kind: type[Policy]) -> list:
    return [
        pytest.param(cls, example, id=f"{name}-{k}")
        for name, cls in sorted(Policy.known.items())
        if issubclass(cls, kind) and cls.__module__.startswith("rankloop.policies.")
        for k, example in enumerate(cls.examples)
    ]


@pytest.mark.parametrize("check", testing.DUELING_CHECKS)
@pytest.mark.parametrize(("cls", "example"), examples(DuelingPolicy))
def test_dueling_policy(cls, example, check) -> None:
    check(lambda seed: cls(**example, seed=seed))


@pytest.mark.parametrize("check", testing.CLICK_CHECKS)
@pytest.mark.parametrize(("cls", "example"), examples(ClickPolicy))
def test_click_policy(cls, example, check) -> None:
    check(lambda seed: cls(**example, seed=seed))


def test_every_policy_names_examples() -> None:
    for name, cls in Policy.known.items():
        if name not in ("ClickPolicy", "DuelingPolicy"):
            assert cls.examples, f"{name} has no examples for the generic checks"
