"""Checks of dueling policies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rankloop.environments import PreferenceMatrix
from rankloop.policies import Duel, DuelingPolicy, Ranking
from rankloop.simulation import simulate
from rankloop.testing.any_policy import POLICY_CHECKS
from rankloop.testing.playing import assert_raises, assert_refused, assert_same_state, saved_and_loaded

MakeDueling = Callable[[int], DuelingPolicy]


def check_dueling_policy(make: MakeDueling) -> None:
    """Run every check of dueling policies."""
    for check in (*DUELING_CHECKS, *POLICY_CHECKS):
        check(make)


def check_same_seed_same_run(make: MakeDueling) -> None:
    """Two policies of one seed make the same choices; those of another seed do not."""
    assert _duels(make(3), 200) == _duels(make(3), 200), "the same seed must give the same duels"
    assert _duels(make(3), 200) != _duels(make(4), 200), "another seed must give other duels"


def check_choices_need_no_feedback(make: MakeDueling) -> None:
    """A policy goes on choosing valid duels when no outcome ever comes."""
    policy = make(0)
    for _ in range(500):
        left, right = policy.duel()
        assert 0 <= left < policy.n_arms, f"arm {left} does not exist"
        assert 0 <= right < policy.n_arms, f"arm {right} does not exist"


def check_learns_from_untidy_feedback(make: MakeDueling) -> None:
    """Outcomes that are late, out of order, lost, repeated, and passed as JSON still lead to the best arm."""
    policy = make(1)
    problem = easy_problem(policy.n_arms)
    draw = np.random.default_rng(0)
    waiting: list[str] = []
    for _ in range(6000):
        waiting.append(policy.duel().to_json())
        if len(waiting) < 30:
            continue
        duel = Duel.from_json(waiting.pop(int(draw.integers(len(waiting)))))
        fate = draw.random()
        for _ in range(0 if fate < 0.1 else 2 if fate < 0.2 else 1):
            left_won = draw.random() < problem.preferences[duel.left, duel.right]
            policy.update(duel, duel.left if left_won else duel.right)
    assert policy.best == problem.condorcet_winner, f"believes in {policy.best}, not {problem.condorcet_winner}"


def check_saves_and_loads(make: MakeDueling) -> None:
    """A loaded policy goes on bit for bit."""
    policy = make(5)
    _duels(policy, 150)
    loaded = saved_and_loaded(policy)
    assert isinstance(loaded, DuelingPolicy)
    assert _duels(loaded, 300) == _duels(policy, 300), "the loaded policy chooses otherwise"
    assert_same_state(loaded.snapshot(), policy.snapshot())


def check_refuses_bad_input(make: MakeDueling) -> None:
    """Outcomes that cannot be are refused with ValueError, and nothing changes."""
    policy = make(6)
    _duels(policy, 20)
    duel = policy.duel()
    before = policy.snapshot()
    outsider = next(arm for arm in range(policy.n_arms) if arm not in duel)
    n = policy.n_arms
    bad: list[tuple[Any, Any]] = [
        (duel, outsider),
        (duel, n),
        (duel, -1),
        (duel, None),
        (duel, 0.5),
        (duel, "0"),
        (duel, [duel.left]),
        (duel, True),
        (duel, 10**400),
        (duel, duel),
        ((duel.left, duel.right), duel.left),
        (None, 1),
        ("x", 0),
        (duel.to_json(), duel.left),
        (Ranking([0, 1], policy=policy.identity), 0),
        (Duel(None, "x"), 0),  # type: ignore[arg-type]
        (Duel([0], [1]), 0),  # type: ignore[arg-type]
        (Duel(0, 1, ("x", None)), 0),  # type: ignore[arg-type]
        (Duel(0, 1, (10**400, 1)), 0),
        (Duel(0, 1, 5), 0),  # type: ignore[arg-type]
        (Duel(0, n), 0),
        (Duel(-1, 0), 0),
        (Duel(0, 1, (float("nan"), 1.0)), 0),
        (Duel(0, 1, (1.0, 2.0, 3.0)), 0),
    ]
    for given, winner in bad:
        assert_refused(policy, before, given, winner)
    for arm in (n, -1, None, "x", 0.5, True, 10**400, [0]):
        assert_raises(lambda arm=arm: policy.eliminated(arm), f"eliminated({arm!r})")  # type: ignore[misc]
    assert_same_state(policy.snapshot(), before)


def check_duels_have_an_owner(make: MakeDueling) -> None:
    """Another policy's duel is refused, as JSON too; one that a user made of a logged comparison is nobody's."""
    policy, other = make(6), make(6)
    _duels(policy, 20)
    foreign = other.duel()
    before = policy.snapshot()
    for duel in (foreign, Duel.from_json(foreign.to_json())):
        assert_refused(policy, before, duel, duel.left)
    own = Duel.from_json(policy.duel().to_json())
    policy.update(own, own.left)
    policy.update(Duel(0, 1), winner=1)
    loaded = saved_and_loaded(policy)
    assert isinstance(loaded, DuelingPolicy)
    loaded.update(own, own.right)


def check_beats_uniform_choice(make: MakeDueling) -> None:
    """On an easy problem a policy has less regret than random duels, by more than five standard errors."""
    policy = make(0)
    problem = easy_problem(policy.n_arms)
    result = simulate(policy, problem, horizon=8000, runs=10, seed=11, checkpoints=[8000], progress=False)
    uniform = 8000 * float(problem.losses.mean())
    bound = result.mean()[-1] + 5 * result.standard_error()[-1]
    assert bound < uniform, f"{result}; uniform choice: {uniform:,.0f}"


DUELING_CHECKS: tuple[Callable[[MakeDueling], None], ...] = (
    check_same_seed_same_run,
    check_choices_need_no_feedback,
    check_learns_from_untidy_feedback,
    check_saves_and_loads,
    check_refuses_bad_input,
    check_duels_have_an_owner,
    check_beats_uniform_choice,
)


def easy_problem(n_arms: int) -> PreferenceMatrix:
    """A problem whose best arm, the last but one, beats all others nine times out of ten."""
    worth = np.linspace(0, 0.5, n_arms)
    worth[n_arms - 2] = 3.0
    return PreferenceMatrix.from_utilities(worth)


def _duels(policy: DuelingPolicy, n: int) -> list[tuple[int, int]]:
    """Play n duels in which the smaller number wins three of four."""
    duels = []
    for t in range(n):
        duel = policy.duel()
        policy.update(duel, max(duel) if t % 4 == 0 else min(duel))
        duels.append((duel.left, duel.right))
    return duels
