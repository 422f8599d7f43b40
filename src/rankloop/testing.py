"""Checks that every policy passes, for this package's own policies and for anybody else's.

Each takes a function that makes the policy from a seed and raises AssertionError where the policy does not behave:

    from rankloop import testing

    def test_my_policy():
        testing.check_dueling_policy(lambda seed: MyPolicy(n_arms=5, seed=seed))
        testing.check_click_policy(lambda seed: MyOtherPolicy(n_items=7, n_positions=3, seed=seed))
"""

from __future__ import annotations

import copy
import pickle
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rankloop.environments import PreferenceMatrix
from rankloop.files import load
from rankloop.policies import ClickPolicy, Duel, DuelingPolicy, Policy, Ranking
from rankloop.policies.base import learn_once
from rankloop.simulation import simulate

MakeDueling = Callable[[int], DuelingPolicy]
MakeClick = Callable[[int], ClickPolicy]
MakePolicy = Callable[[int], Any]

N_THREADS = 8


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
    loaded = _saved_and_loaded(policy)
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
        _assert_refused(policy, before, given, winner)
    for arm in (n, -1, None, "x", 0.5, True, 10**400, [0]):
        _assert_raises(lambda arm=arm: policy.eliminated(arm), f"eliminated({arm!r})")  # type: ignore[misc]
    assert_same_state(policy.snapshot(), before)


def check_duels_have_an_owner(make: MakeDueling) -> None:
    """Another policy's duel is refused, as JSON too; one that a user made of a logged comparison is nobody's."""
    policy, other = make(6), make(6)
    _duels(policy, 20)
    foreign = other.duel()
    before = policy.snapshot()
    for duel in (foreign, Duel.from_json(foreign.to_json())):
        _assert_refused(policy, before, duel, duel.left)
    own = Duel.from_json(policy.duel().to_json())
    policy.update(own, own.left)
    policy.update(Duel(0, 1), winner=1)
    loaded = _saved_and_loaded(policy)
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
        assert len(ranking) == len(set(ranking)) == policy.n_shown, f"{ranking} is no list of different items"
        assert 0 <= min(ranking) <= max(ranking) < policy.n_items, f"{ranking} has items that do not exist"
    assert len(set(policy.best)) == policy.n_positions, f"{policy.best} is no list of different items"


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
    loaded = _saved_and_loaded(policy)
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
        _assert_refused(policy, before, given, clicks)
    wrong_seen: list[Any] = [-1, n + 1, 10**30, 0.5, True, float("nan"), "x", [n]]
    for seen in wrong_seen:
        _assert_refused(policy, before, ranking, none, seen=seen)
    _assert_refused(policy, before, ranking, [*none[:-1], 1], seen=n - 1)


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
        _assert_refused(policy, policy.snapshot(), ranking, [0] * n, seen=n - 1)
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


def check_threads(make: MakePolicy) -> None:
    """Threads may share a policy: each call waits for the one before, and what is shown stays valid."""
    policy = make(7)
    play_once(policy)
    shown, feedback = _shown(policy)
    calls: list[Callable[[], Any]] = [
        lambda: _shown(policy),
        lambda: policy.update(shown, feedback),
        lambda: policy.best,
        policy.snapshot,
        lambda: pickle.dumps(policy),
    ]
    with policy._lock:
        waiting = [threading.Thread(target=call) for call in calls]
        for thread in waiting:
            thread.start()
        for thread in waiting:
            thread.join(0.01)
        ended = [k for k, thread in enumerate(waiting) if not thread.is_alive()]
    for thread in waiting:
        thread.join()
    assert not ended, f"calls {ended} of choose, update, best, snapshot and pickle did not wait for the lock"
    start = threading.Barrier(N_THREADS)

    def work() -> None:
        start.wait()
        for _ in range(15):
            play_once(policy)

    with ThreadPoolExecutor(N_THREADS) as pool:
        for done in [pool.submit(work) for _ in range(N_THREADS)]:
            done.result()
    play_once(policy)


def check_copies(make: MakePolicy) -> None:
    """A deep copy or a pickle goes on as the policy does, and leaves it alone; a fresh one has seen nothing."""
    policy = make(8)
    for _ in range(20):
        play_once(policy)
    before = policy.snapshot()
    copies = [copy.deepcopy(policy), pickle.loads(pickle.dumps(policy))]
    for each in copies:
        play_once(each)
    assert_same_state(policy.snapshot(), before)
    play_once(policy)
    for each in copies:
        assert_same_state(each.snapshot(), policy.snapshot())
    for each in copies:
        each.update(*_shown(policy))
    assert_same_state(policy.fresh(8).snapshot(), make(8).snapshot())


def check_warms_up(make: MakePolicy) -> None:
    """To compile before traffic comes changes nothing."""
    policy = make(9)
    for used in (False, True):
        if used:
            play_once(policy)
        before = policy.snapshot()
        policy.warm_up()
        assert_same_state(policy.snapshot(), before)


def check_loads_with_random_numbers_of_its_own(make: MakePolicy) -> None:
    """A file loaded with a seed, or with fresh randomness, has other random numbers and has learned the same."""
    policy = make(10)
    for _ in range(20):
        play_once(policy)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.npz"
        policy.save(path)
        bad: list[dict[str, Any]] = [{"seed": value} for value in (-1, 0.5, "x", True)]
        for arguments in [*bad, {"seed": 1, "fresh_randomness": True}]:
            _assert_raises(lambda given=arguments: load(path, **given), f"load with {arguments}")  # type: ignore[misc]
        loaded = [load(path, seed=seed) for seed in (1, 1, 2, None)]
        loaded += [load(path, fresh_randomness=True), load(path, fresh_randomness=True)]
    states = [each.snapshot() for each in loaded if isinstance(each, Policy)]
    assert_same_state(states[0], states[1])
    assert_same_state(states[3], policy.snapshot())
    for one, other in ((0, 2), (0, 3), (0, 4), (4, 5), (3, 4)):
        assert not _same_state(states[one], states[other]), "random numbers are those of another seed"
    for state in states:
        learned = {name: array for name, array in state.items() if array.dtype != np.uint64}
        assert_same_state(learned, {name: states[3][name] for name in learned})


POLICY_CHECKS: tuple[Callable[[MakePolicy], None], ...] = (
    check_threads,
    check_copies,
    check_warms_up,
    check_loads_with_random_numbers_of_its_own,
)

CLICK_CHECKS: tuple[Callable[[MakeClick], None], ...] = (
    check_same_seed_same_lists,
    check_lists_need_no_feedback,
    check_learns_from_untidy_clicks,
    check_click_policy_saves_and_loads,
    check_refuses_bad_clicks,
    check_learns_from_what_was_seen,
    check_beats_random_lists,
)


def easy_attraction(n_items: int) -> npt.NDArray[np.float64]:
    """Item 0 attracts nine users out of ten, any other one out of twenty."""
    attraction = np.full(n_items, 0.05)
    attraction[0] = 0.9
    return attraction


def cascade_clicks(
    attraction: npt.NDArray[np.float64], ranking: Sequence[int], draw: np.random.Generator
) -> npt.NDArray[np.uint8]:
    """The clicks of a user who takes the first item that attracts."""
    attracted = draw.random(len(ranking)) < attraction[list(ranking)]
    return (attracted & (np.cumsum(attracted) == 1)).astype(np.uint8)


def assert_same_state(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Two snapshots are equal to the last bit."""
    assert one.keys() == other.keys(), f"{sorted(one)} are not {sorted(other)}"
    for name in one:
        assert np.array_equal(one[name], other[name]), f"{name} differs"


def _same_state(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


def play_once(policy: DuelingPolicy | ClickPolicy) -> None:
    """One duel or list, which must be valid, with an answer to it."""
    shown, feedback = _shown(policy)
    policy.update(shown, feedback)


def _shown(policy: Any) -> tuple[Any, Any]:
    if isinstance(policy, DuelingPolicy):
        duel = policy.duel()
        assert max(duel) < policy.n_arms, f"{duel} names an arm that does not exist"
        return duel, min(duel)
    ranking = policy.rank()
    assert len(ranking) == len(set(ranking)) == policy.n_shown, f"{ranking} is no list of different items"
    return ranking, [int(item == min(ranking)) for item in ranking]


def _assert_raises(call: Callable[[], Any], name: str) -> None:
    try:
        call()
    except ValueError:
        return
    raise AssertionError(f"{name} was accepted")


def _assert_refused(
    policy: DuelingPolicy | ClickPolicy, before: dict[str, Any], shown: Any, feedback: Any, **more: Any
) -> None:
    try:
        policy.update(shown, feedback, **more)
    except ValueError:
        assert_same_state(policy.snapshot(), before)
    else:
        notes = getattr(shown, "notes", ())
        given = ", ".join([repr(shown), repr(feedback), *(f"{name}={value!r}" for name, value in more.items())])
        raise AssertionError(f"update({given}) was accepted, with the notes {notes}")


def _saved_and_loaded(policy: Policy) -> Policy:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "policy.npz"
        policy.save(path)
        loaded = load(path)
    assert isinstance(loaded, type(policy)), f"loaded a {type(loaded).__name__}"
    np.testing.assert_equal(loaded.parameters, policy.parameters, "parameters were not kept")
    return loaded


def _duels(policy: DuelingPolicy, n: int) -> list[tuple[int, int]]:
    """Play n duels in which the smaller number wins three of four."""
    duels = []
    for t in range(n):
        duel = policy.duel()
        policy.update(duel, max(duel) if t % 4 == 0 else min(duel))
        duels.append((duel.left, duel.right))
    return duels


def _lists(policy: ClickPolicy, n: int) -> list[Ranking]:
    """Show n lists on which the smallest number and each third position are clicked."""
    lists = []
    for t in range(n):
        ranking = policy.rank()
        policy.update(ranking, [int(item == min(ranking) or (k + t) % 3 == 0) for k, item in enumerate(ranking)])
        lists.append(Ranking(ranking.items, notes=ranking.notes))
    return lists
