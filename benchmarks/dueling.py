"""How fast the dueling policies are: µs a step while they still learn, and the ratio to their naive form.

    python benchmarks/dueling.py [--arms 16,136,700] [--policies MergeDTS,DTS] [--budget 2.0]

Every policy plays the first steps on a problem of feature-like rankers on one core. Its naive form, the pseudo-code
compiled with no cleverness, plays the same problem in the same process: for as many steps where that is soon done, for
fewer where it is not (its cost a step hardly changes with time). Compilation is not counted, but a cold start from an
empty cache to the first result is timed for each policy at the end.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np

import rankloop as rl

NAIVE = {
    "MergeDTS": ("naive.merging", "run_merge_dts"),
    "MergeRUCB": ("naive.merging", "run_merge_rucb"),
    "DTS": ("naive.dts", "run"),
    "RMED1": ("naive.rmed1", "run"),
    "SelfSparring": ("naive.self_sparring", "run"),
    "REX3": ("naive.rex3", "run"),
    "RUCB": ("naive.rucb", "run"),
    "Sparring": ("naive.sparring", "run"),
}
HORIZON = 100_000


def fast(name, problem, budget):
    """Seconds a step of the best of several runs."""
    policy = getattr(rl, name)(problem.n_arms)

    def seconds(horizon, runs):
        result = rl.simulate(
            policy, problem, horizon=horizon, runs=runs, checkpoints=[horizon], workers=1, progress=False
        )
        return result.seconds.min() / horizon

    trial = seconds(1000, 1)
    horizon = int(min(HORIZON, max(1000, budget / trial)))
    return seconds(horizon, max(1, min(5, int(budget / (trial * horizon))))), horizon


def naive(name, problem, budget, most):
    """Seconds a step of the naive form, over at most as many steps as the fast one played."""
    module, function = NAIVE[name]
    run = getattr(import_module(module), function)
    preferences = np.array(problem.preferences)
    run(preferences, 2, 0)
    horizon = 4
    while True:
        begin = time.perf_counter()
        run(preferences, horizon, 1)
        elapsed = time.perf_counter() - begin
        if horizon == most or elapsed > budget / 2:
            return elapsed / horizon, horizon
        horizon = int(min(most, max(horizon * 2, 0.7 * horizon * budget / elapsed)))


def cold_start(name):
    """Seconds from a cleared cache to the first result, a new process and its imports included."""
    code = f"import rankloop as rl; rl.simulate(rl.{name}(136), rl.PreferenceMatrix.like_features(136), horizon=1000)"
    with tempfile.TemporaryDirectory() as cache:
        times = []
        for _ in range(2):
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "RANKLOOP_CACHE_DIR": cache})
            times.append(time.perf_counter() - begin)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arms", default="16,136,700")
    parser.add_argument("--policies", default=",".join(NAIVE))
    parser.add_argument("--budget", type=float, default=2.0, help="seconds for each measurement")
    options = parser.parse_args()
    arms = [int(k) for k in options.arms.split(",")]
    names = options.policies.split(",")

    print(f"{'policy':<14}{'K':>5}{'µs/step':>10}{'naive':>12}{'ratio':>8}   steps (naive)")
    growth = {}
    for name in names:
        for k in arms:
            problem = rl.PreferenceMatrix.like_features(k)
            ours, steps = fast(name, problem, options.budget)
            theirs, their_steps = naive(name, problem, options.budget, steps)
            growth[name, k] = ours
            print(
                f"{name:<14}{k:>5}{ours * 1e6:>10.2f}{theirs * 1e6:>12.2f}{theirs / ours:>7.0f}x"
                f"   {steps:,} ({their_steps:,})",
                flush=True,
            )
    if len(arms) > 1:
        print(f"\ngrowth of the time a step, from K = {arms[0]} to each")
        for name in names:
            print(f"{name:<14}" + "".join(f"{growth[name, k] / growth[name, arms[0]]:>8.1f}x" for k in arms))
    print("\ncold start: seconds to the first result with an empty cache, and with a full one")
    for name in names:
        cold, warm = cold_start(name)
        print(f"{name:<14}{cold:>8.1f}{warm:>8.1f}", flush=True)


if __name__ == "__main__":
    main()
