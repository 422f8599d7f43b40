"""Checks of what every policy does, whatever it is for: threads, copies, files."""

from __future__ import annotations

import copy
import pickle
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from rankloop.files import load
from rankloop.policies import Policy
from rankloop.testing.playing import assert_raises, assert_same_state, play_once, show_and_answer

MakePolicy = Callable[[int], Any]

N_THREADS = 8


def check_threads(make: MakePolicy) -> None:
    """Threads may share a policy: each call waits for the one before, and what is shown stays valid."""
    policy = make(7)
    play_once(policy)
    shown, feedback = show_and_answer(policy)
    calls: list[Callable[[], Any]] = [
        lambda: show_and_answer(policy),
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
        each.update(*show_and_answer(policy))
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
            assert_raises(lambda given=arguments: load(path, **given), f"load with {arguments}")  # type: ignore[misc]
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


def _same_state(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[name], other[name]) for name in one)


POLICY_CHECKS: tuple[Callable[[MakePolicy], None], ...] = (
    check_threads,
    check_copies,
    check_warms_up,
    check_loads_with_random_numbers_of_its_own,
)
