"""Checks of click policies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rankloop.arrays import Bytes, Floats
from rankloop.policies import ClickPolicy, Duel, Ranking
from rankloop.policies.base import learn_once
from rankloop.testing.any_policy import POLICY_CHECKS
from rankloop.testing.playing import assert_refused, assert_same_state, saved_and_loaded

MakeClick = Callable[[int], ClickPolicy]


def check_click_policy(make: MakeClick) -> None:
    """Run every check of click policies."""
    for check in (*CLICK_CHECKS, *POLICY_CHECKS):
        check(make)


def check_same_seed_same_lists(make: MakeClick) -> None:
    """Two policies of one seed show the same lists; where a policy learns, those of another seed do not."""
    assert _lists(make(3), 200) == _lists(make(3), 200), "the same seed must give the same lists"
    if make(3).learns:
        assert _lists(make(3), 200) != _lists(make(4), 200), "another seed must give other lists"


def check_lists_need_no_feedback(make: MakeClick) -> None:
    """A policy goes on showing valid lists when no click ever comes."""
    policy = make(0)
    for _ in range(500):
        ranking = policy.rank()
        assert len(ranking) == len(set(ranking)) == policy.n_shown, f"{ranking} is not a list of different items"
        assert 0 <= min(ranking) <= max(ranking) < policy.n_items, f"{ranking} has items that do not exist"
    assert len(set(policy.best)) == policy.n_positions, f"{policy.best} is not a list of different items"


def check_learns_from_untidy_clicks(make: MakeClick) -> None:
    """Clicks that are late, out of order, lost, repeated, and on lists passed as JSON still lead to the best item."""
    policy = make(1)
    if not policy.learns:
        return
    attraction = easy_attraction(policy.n_items)
    draw = np.random.default_rng(0)
    waiting: list[str] = []
    for _ in range(6000):
        waiting.append(policy.rank().to_json())
        if len(waiting) < 30:
            continue
        ranking = Ranking.from_json(waiting.pop(int(draw.integers(len(waiting)))))
        fate = draw.random()
        for _ in range(0 if fate < 0.1 else 2 if fate < 0.2 else 1):
            policy.update(ranking, cascade_clicks(attraction, ranking, draw))
    assert policy.best[0] == 0, f"believes in {policy.best}, not in item 0 first"


def check_click_policy_saves_and_loads(make: MakeClick) -> None:
    """A loaded policy goes on bit for bit, and takes clicks on lists chosen before it was saved."""
    policy = make(5)
    _lists(policy, 150)
    waiting = policy.rank()
    loaded = saved_and_loaded(policy)
    assert isinstance(loaded, ClickPolicy)
    clicks = [1] + [0] * (policy.n_positions - 1)
    loaded.update(waiting, clicks)
    policy.update(waiting, clicks)
    assert _lists(loaded, 300) == _lists(policy, 300), "the loaded policy chooses otherwise"
    assert loaded.best == policy.best, "the loaded policy believes in another list"
    assert_same_state(loaded.snapshot(), policy.snapshot())


def check_refuses_bad_clicks(make: MakeClick) -> None:
    """Clicks that cannot be, and lists that are not the policy's own, are refused with ValueError; nothing changes."""
    policy, other = make(6), make(6)
    _lists(policy, 20)
    ranking, foreign = policy.rank(), other.rank()
    before = policy.snapshot()
    n = policy.n_positions
    none = [0] * n
    strange: list[Any] = [2, -1, 0.5, float("nan"), None, "x", "0", 10**400, [0], {}]
    bad: list[tuple[Any, Any]] = [(ranking, [*none[:-1], value]) for value in strange]
    feedback: list[Any] = ["x", "0" * n, {}, object(), ranking.to_json(), ["0"] * n]
    bad += [(ranking, value) for value in feedback]
    lists: list[Any] = [1, "x", {}, ranking.to_json(), Duel(0, 1)]
    bad += [(value, none) for value in lists]
    bad += [(ranking, none[:-1]), (ranking, [*none, 0]), (ranking, 0), (ranking, None), (ranking, [none])]
    bad += [(foreign, none), (None, none), (list(ranking), none)]

    def forged(items: Any = ranking.items, notes: Any = ranking.notes) -> Ranking:
        return Ranking(items, notes=notes, policy=ranking.policy)

    wrong_items: list[Any] = [ranking.items[:-1]]
    strange = [policy.n_items, -1, 10**400, 0.5, None, "x", True, [0], {}]
    wrong_items += [(*ranking.items[:-1], item) for item in strange]
    if n > 1:
        wrong_items.append((ranking.items[1], *ranking.items[1:]))
    bad += [(forged(items=items), none) for items in wrong_items]
    bad += [(forged(notes=(*ranking.notes, 0.0)), none), (forged(notes=(*ranking.notes[1:], float("nan"))), none)]
    if ranking.notes:
        strange = [float("nan"), float("inf"), -1.0, 1e18, 10**400, None, "x", [0]]
        bad += [(forged(notes=ranking.notes[1:]), none)]
        bad += [(forged(notes=(value,) * len(ranking.notes)), none) for value in strange]
        bad += [(forged(notes=(*ranking.notes[:-1], value)), none) for value in strange]
    for given, clicks in bad:
        assert_refused(policy, before, given, clicks)
    wrong_seen: list[Any] = [-1, n + 1, 10**30, 0.5, True, float("nan"), "x", [n]]
    for seen in wrong_seen:
        assert_refused(policy, before, ranking, none, seen=seen)
    assert_refused(policy, before, ranking, [*none[:-1], 1], seen=n - 1)


def check_learns_from_what_was_seen(make: MakeClick) -> None:
    """Positions that were not seen teach nothing; a policy that knows nothing of them refuses lists seen in part.

    What lies in memory behind the clicks on the positions that were seen is once 0 and once 1, and must not matter.
    """
    policy, others = make(7), [make(7), make(7)]
    n = policy.n_positions
    twins = [policy, *others]
    for twin in twins:
        _lists(twin, 20)
    if not policy.takes_seen:
        ranking = policy.rank()
        assert_refused(policy, policy.snapshot(), ranking, [0] * n, seen=n - 1)
        policy.update(ranking, [0] * n, seen=n)
        return
    for t in range(200):
        seen = (t * 7 + t // n) % (n + 1)
        clicks = [int(k < seen and (k + t) % 3 == 0) for k in range(n)]
        before = policy.snapshot()
        ranking = policy.rank()
        after = policy.snapshot()
        policy.update(ranking, clicks, seen=seen)
        if seen == 0:
            assert_same_state(policy.snapshot(), after)
        for behind, other in enumerate(others):
            assert_same_state(other.snapshot(), before)
            same = other.rank()
            assert same.items == ranking.items, "the same feedback must give the same lists"
            memory = np.array([*clicks[:seen], *[behind] * (n - seen)], np.uint8)
            if seen > 0:
                other._learns_from(same)
                learn_once(other.state, np.array(ranking.items), np.array(ranking.notes), memory[:seen])
    whole, in_part = twins[0], twins[1]
    ranking, same = whole.rank(), in_part.rank()
    whole.update(ranking, [1] * n)
    in_part.update(same, [1] * n, seen=n)
    assert_same_state(whole.snapshot(), in_part.snapshot())


def check_beats_random_lists(make: MakeClick) -> None:
    """On an easy problem, once there was time to learn, better items come first than in random lists.

    They must do so by more than five standard errors of 3 runs.
    """
    steps, counted, runs = 5000, 1000, 3
    if not make(0).learns:
        return
    means = []
    for run in range(runs):
        policy = make(run)
        attraction = easy_attraction(policy.n_items)
        draw = np.random.default_rng(100 + run)
        total = 0.0
        for t in range(steps):
            ranking = policy.rank()
            total += attraction[ranking[0]] * (t >= steps - counted)
            policy.update(ranking, cascade_clicks(attraction, ranking, draw))
        means.append(total / counted)
    bound = np.mean(means) - 5 * np.std(means, ddof=1) / np.sqrt(runs)
    uniform = easy_attraction(make(0).n_items).mean()
    assert bound > uniform, f"attraction of the first items in {runs} runs: {means}; of random ones: {uniform:.3f}"


CLICK_CHECKS: tuple[Callable[[MakeClick], None], ...] = (
    check_same_seed_same_lists,
    check_lists_need_no_feedback,
    check_learns_from_untidy_clicks,
    check_click_policy_saves_and_loads,
    check_refuses_bad_clicks,
    check_learns_from_what_was_seen,
    check_beats_random_lists,
)


def easy_attraction(n_items: int) -> Floats:
    """Item 0 attracts nine users out of ten, any other one out of twenty."""
    attraction = np.full(n_items, 0.05)
    attraction[0] = 0.9
    return attraction


def cascade_clicks(attraction: Floats, ranking: Sequence[int], draw: np.random.Generator) -> Bytes:
    """The clicks of a user who takes the first item that attracts."""
    attracted = draw.random(len(ranking)) < attraction[list(ranking)]
    clicks = np.zeros(len(attracted), np.uint8)
    if attracted.any():
        clicks[attracted.argmax()] = 1
    return clicks


def _lists(policy: ClickPolicy, n: int) -> list[Ranking]:
    """Show n lists on which the smallest number and each third position are clicked."""
    lists = []
    for t in range(n):
        ranking = policy.rank()
        policy.update(ranking, [int(item == min(ranking) or (k + t) % 3 == 0) for k, item in enumerate(ranking)])
        lists.append(Ranking(ranking.items, notes=ranking.notes))
    return lists
