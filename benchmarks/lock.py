"""What the lock of a policy adds to one call, and what giving away the GIL in single steps would: ratios in one run.

python benchmarks/lock.py
"""

from __future__ import annotations

import queue
import threading
import time
from typing import Any

import numpy as np

import rankloop as rl
from rankloop.kernels import choose, entry, learn
from rankloop.policies.clicks import base

CALLS = 200
TURNS = 200


def main() -> None:
    draw = np.random.default_rng(0)
    policies: dict[str, Any] = {
        "CascadeKLUCB, 10 items": rl.CascadeKLUCB(10, 5, seed=1),
        "MergeDTS, 136 rankers": rl.MergeDTS(136, seed=1),
        "CascadeHybrid, 10 of 1,000": rl.CascadeHybrid(draw.random((1000, 10)), draw.random((1000, 5)), 10, seed=1),
    }
    print(f"{'':<30}{'choose, µs':>12}{'with lock':>11}{'update, µs':>12}{'with lock':>11}")
    for name, policy in policies.items():
        policy.warm_up()
        kind = type(policy)
        method = kind.duel if isinstance(policy, rl.DuelingPolicy) else kind.rank
        bare, locked = [], []
        for _ in range(TURNS):
            bare.append(measure(policy, method.__wrapped__, kind.update.__wrapped__))
            locked.append(measure(policy, method, kind.update))
        without, ratio = np.median(bare, axis=0), np.median(np.divide(locked, bare), axis=0)
        print(f"{name:<30}{without[0]:>12.2f}{ratio[0]:>10.3f}x{without[1]:>12.2f}{ratio[1]:>10.3f}x")


def compare_gil() -> None:
    """Lists and updates beside a thread that writes down what was chosen."""
    kept = base.choose_once, base.learn_once
    released = entry(choose_released), entry(learn_released)
    policy = rl.BubbleRank(range(10), horizon=10**6, seed=1)
    times: dict[Any, list[float]] = {kept: [], released: []}
    for _ in range(TURNS // 4):
        for steps in times:
            base.choose_once, base.learn_once = steps
            policy.update(policy.rank(), [0] * 10)
            times[steps].append(beside_a_writer(policy))
    base.choose_once, base.learn_once = kept
    before, ratio = np.median(times[kept]), np.median(np.divide(times[released], times[kept]))
    print(
        f"BubbleRank, 10 items, list and update beside a writer: {before:.1f} µs, {ratio:.2f}x where steps give it away"
    )


def choose_released(state: Any, items: Any, notes: Any) -> None:
    choose(state, items, notes)


def learn_released(state: Any, items: Any, notes: Any, feedback: Any) -> None:
    learn(state, items, notes, feedback)


def beside_a_writer(policy: Any) -> float:
    written: queue.SimpleQueue[Any] = queue.SimpleQueue()
    writer = threading.Thread(target=lambda: [None for _ in iter(written.get, None)])
    writer.start()
    begin = time.perf_counter()
    for _ in range(CALLS):
        ranking = policy.rank()
        written.put(ranking)
        policy.update(ranking, [0] * 10)
        written.put(ranking)
    took = time.perf_counter() - begin
    written.put(None)
    writer.join()
    return took / CALLS * 1e6


def measure(policy: Any, choose: Any, update: Any) -> tuple[float, float]:
    """Microseconds of a choice and of an update."""
    begin = time.thread_time()
    shown = [choose(policy) for _ in range(CALLS)]
    middle = time.thread_time()
    for each in shown:
        update(policy, each, each.left if isinstance(each, rl.Duel) else [0] * len(each))
    end = time.thread_time()
    return (middle - begin) / CALLS * 1e6, (end - middle) / CALLS * 1e6


if __name__ == "__main__":
    main()
    compare_gil()
