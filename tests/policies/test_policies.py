"""What every policy must do, whatever it is for."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import rankloop as rl
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


@pytest.mark.parametrize("check", testing.POLICY_CHECKS)
@pytest.mark.parametrize(("cls", "example"), examples(Policy))
def test_policy(cls, example, check) -> None:
    check(lambda seed: cls(**example, seed=seed))


def test_every_policy_names_examples() -> None:
    for name, cls in Policy.known.items():
        own = cls.__module__.startswith("rankloop.")  # other tests make policies of their own
        if own and name not in ("ClickPolicy", "DuelingPolicy", "FeaturePolicy"):
            assert cls.examples, f"{name} has no examples for the generic checks"


def test_every_policy_has_tests_of_its_own() -> None:
    for name, cls in Policy.known.items():
        folder, _, module = cls.__module__.removeprefix("rankloop.policies.").partition(".")
        if cls.__module__.startswith("rankloop.policies.") and module not in ("", "base"):
            file = Path(__file__).with_name(folder) / f"test_{module}.py"
            assert file.exists(), f"{name} has no {file.name}"


def test_steps_that_count_no_references_leave_them_as_they_were() -> None:
    """A count that drifts would free an array in use, or never free it."""
    for policy in (rl.BubbleRank([1, 0, 2, 3], n_positions=3), rl.CascadeSWUCB(4, 3, window=50)):
        arrays = [value for value in policy.state if isinstance(value, np.ndarray)]
        before = [sys.getrefcount(array) for array in arrays]
        for t in range(2000):
            policy.update(policy.rank(), [int(k == t % 3) for k in range(3)])
        assert [sys.getrefcount(array) for array in arrays] == before
