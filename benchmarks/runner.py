"""What the runner of experiments costs beside the work, and what compiling in several processes gains.

    python benchmarks/runner.py [--seconds 2] [--no-compiling]

The runner plays units in one thread and does all else in another: it plans, measures, sends out, collects and writes to
disk. Its share is that thread's part of the processor's time. For comparison the same units are played in a plain loop,
the best of three each, also by the processor's time; neighbours on the machine disturb that more. Compiling is timed by
the clock, in fresh processes with empty caches: pairs of policy and environment one after the other, and with the help
of processes.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

import rankloop as rl
from rankloop.experiments import Amount, Experiment, Panel, Player, Source, run_experiment
from rankloop.simulation.jobs import simulations

ATTRACTION = np.linspace(0.9, 0.1, 10)
POLICIES = {
    "MergeDTS": (rl.MergeDTS(20), rl.PreferenceMatrix.cycle2()),
    "CascadeUCB1": (rl.CascadeUCB1(10, 5), rl.CascadeModel(ATTRACTION)),
}


def cpu(function):
    """The processor's time of all threads, and of this one."""
    begin = time.process_time(), time.thread_time()
    function()
    return time.process_time() - begin[0], time.thread_time() - begin[1]


def overhead(policy, environment, unit_seconds, seconds):
    """The runner's share, its time over that of a plain loop, and the time of a unit."""
    [simulation] = simulations(policy, environment, None, None)
    simulation.warm_up()
    probe = simulation.run(0, 0, np.array([20_000]), 20_000, lambda _steps: None).seconds / 20_000
    horizon = max(64, round(unit_seconds / probe))
    runs = max(4, round(seconds / unit_seconds))
    steps = np.unique(np.geomspace(1, horizon, 60).round().astype(np.int64))
    panels = [Panel("one", environment, Source("made up", False), [Player("one", policy)])]
    experiment = Experiment("one", 2, "", "", "", lambda _d, _a: panels, {"smoke": Amount(horizon, runs)})

    def plain():
        for unit in range(runs):
            simulation.run(unit, 0, steps, horizon, lambda _steps: None)

    def with_runner():
        with tempfile.TemporaryDirectory() as folder:
            assert len(run_experiment(experiment, "smoke", None, folder, workers=1).results) == 1

    with_runner()
    times = [(cpu(plain)[0], *cpu(with_runner)) for _ in range(3)]
    loop, runner, own = (min(each) for each in zip(*times, strict=True))
    return own / runner, runner / loop, loop / runs


COLD = """
import resource, sys, time
import numpy as np
import rankloop as rl
from rankloop.experiments import Amount, Experiment, Panel, Player, Source, run_experiment
attraction = np.linspace(0.9, 0.1, 10)
users = [rl.CascadeModel(attraction), rl.PositionBasedModel(attraction, attraction)]
policies = [rl.CascadeUCB1(10, 5), rl.BubbleRank(range(10)), rl.TopRank(10, 5, horizon=100), rl.CascadeKLUCB(10, 5)]
panels = [Panel(str(i), each, Source("", False), [Player(str(p), p) for p in policies]) for i, each in enumerate(users)]
experiment = Experiment("cold", 2, "", "", "", lambda _d, _a: panels, {"smoke": Amount(100, 1)})
begin = time.perf_counter()
assert len(run_experiment(experiment, "smoke", None, sys.argv[1], workers=int(sys.argv[2])).results) == 8
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(time.perf_counter() - begin, *(each.ru_utime + each.ru_stime for each in used))
"""


def cold(workers):
    """Seconds until 8 pairs are compiled and played, in a fresh process with an empty cache.

    By the clock, and of the processor in that process and in its helpers.
    """
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "RANKLOOP_CACHE_DIR": f"{folder}/cache"}
        command = [sys.executable, "-c", COLD, f"{folder}/out", str(workers)]
        ran = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        return tuple(map(float, ran.stdout.split()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=2.0, help="of work in each comparison")
    parser.add_argument("--no-compiling", action="store_true")
    options = parser.parse_args()
    print(f"{'policy':12} {'a unit':>10} {'share of the runner':>20} {'runner / plain loop':>20}")
    for name, (policy, environment) in POLICIES.items():
        for unit_seconds in (0.001, 0.01, 0.1):
            share, ratio, took = overhead(policy, environment, unit_seconds, options.seconds)
            print(f"{name:12} {took * 1e3:7.2f} ms {share:20.1%} {ratio:20.3f}", flush=True)
    if not options.no_compiling:
        alone, helped = cold(1), cold(2)
        print(f"compiling 8 pairs: {alone[0]:.0f} s in one process, {helped[0]:.0f} s with two helpers")
        print(f"  of the processor: {alone[1]:.0f} s, {helped[1]:.0f} s and {helped[2] / 2:.0f} s in each helper")


if __name__ == "__main__":
    main()
