"""What the lock of a policy adds to one call: the same calls with it and without, in turn, in one run.

python benchmarks/lock.py
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import rankloop as rl

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
        choose = kind.duel if isinstance(policy, rl.DuelingPolicy) else kind.rank
        bare, locked = [], []
        for _ in range(TURNS):
            bare.append(measure(policy, choose.__wrapped__, kind.update.__wrapped__))
            locked.append(measure(policy, choose, kind.update))
        without, ratio = np.median(bare, axis=0), np.median(np.divide(locked, bare), axis=0)
        print(f"{name:<30}{without[0]:>12.2f}{ratio[0]:>10.3f}x{without[1]:>12.2f}{ratio[1]:>10.3f}x")


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
