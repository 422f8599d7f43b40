"""How fast the click policies are: µs a step with clicks and records, and the ratio to their naive form.

    python benchmarks/lists.py [--policies BubbleRank,TopRank] [--budget 1.0] [--no-projection]

Every policy shows lists of 10 out of 10 items to users of the cascade model on one core; regret, violations and clicks
are recorded in each step. Its naive form, the pseudo-code compiled with no cleverness (regret recorded only), plays the
same problem in the same process. Compilation is not counted. At the end the time of the main experiment of the thesis'
chapter 3 is projected from the time a step of each of its policies in each of its click models.
"""

import argparse
import inspect
import sys
import time
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np

import rankloop as rl
from rankloop.environments.synthetic_queries import built_in

NAIVE = {
    "BubbleRank": "bubble_rank",
    "TopRank": "top_rank",
    "BatchRank": "batch_rank",
    "CascadeKLUCB": "cascade_kl_ucb",
    "CascadeUCB1": "cascade_ucb1",
    "CascadeDUCB": "cascade_ducb",
    "CascadeSWUCB": "cascade_swucb",
    "RankedEXP3": "ranked_exp3",
}
CHAPTER_3 = ("BubbleRank", "TopRank", "BatchRank", "CascadeKLUCB", "FixedRanking")
N_ITEMS = 10
HORIZON = 1_000_000
MAIN_EXPERIMENT = {"queries": 100, "runs": 10, "steps": 5_000_000}
CORES = 2


def make(name, horizon):
    cls = getattr(rl, name)
    known = inspect.signature(cls).parameters
    told = {"horizon": horizon} if "horizon" in known else {}
    return cls(range(N_ITEMS), **told) if "initial" in known else cls(N_ITEMS, N_ITEMS, **told)


def fast(name, problems, budget):
    """Seconds a step, the best of several runs on each problem and then the mean over problems."""
    each = []
    for problem in problems:

        def seconds(horizon, runs, problem=problem):
            result = rl.simulate(
                make(name, HORIZON),
                problem,
                horizon=horizon,
                runs=runs,
                checkpoints=[horizon],
                workers=1,
                top=5,
                progress=False,
            )
            return result.seconds.min()

        once = seconds(HORIZON, 1)
        each.append(min(once, seconds(HORIZON, min(5, max(1, int(budget / once))))) / HORIZON)
    return np.mean(each)


def naive(name, problem, budget):
    """Seconds a step of the naive form, over as many steps as the budget allows, and how many these were."""
    run = import_module(f"naive.{NAIVE[name]}").run
    attraction = np.array(problem.environment.attraction)
    parameters = inspect.signature(getattr(run, "py_func", run)).parameters
    users = (attraction, np.zeros(0)) if "examination" in parameters else (attraction,)
    run(*users, N_ITEMS, 100, 0)
    horizon = 1000
    while True:
        begin = time.perf_counter()
        run(*users, N_ITEMS, horizon, 1)
        elapsed = time.perf_counter() - begin
        if horizon == HORIZON or elapsed > budget / 2:
            return elapsed / horizon, horizon
        horizon = int(min(HORIZON, max(horizon * 2, 0.7 * horizon * budget / elapsed)))


def project(budget):
    """The time of chapter 3's main experiment, from the time a step of each policy in each click model."""
    print(f"\nµs a step in each click model, over {HORIZON:,} steps on 2 queries")
    print(f"{'policy':<14}" + "".join(f"{kind:>8}" for kind in ("CM", "DCM", "PBM")))
    total = 0.0
    for name in CHAPTER_3:
        times = [fast(name, built_in(2, kind), budget) for kind in ("CM", "DCM", "PBM")]
        total += sum(times)
        print(f"{name:<14}" + "".join(f"{each * 1e6:>8.2f}" for each in times), flush=True)
    n_steps = np.prod(list(MAIN_EXPERIMENT.values()))
    print(
        f"\nchapter 3's main experiment, {n_steps * len(CHAPTER_3) * 3:.1e} steps: "
        f"{total * n_steps / CORES / 60:.0f} minutes on {CORES} cores"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--policies", default=",".join(NAIVE))
    parser.add_argument("--budget", type=float, default=1.0, help="seconds for each measurement")
    parser.add_argument("--no-projection", action="store_true", help="leave out the time of chapter 3's experiment")
    options = parser.parse_args()

    [problem] = built_in(1, "CM")
    print(f"{'policy':<14}{'µs/step':>10}{'naive':>10}{'ratio':>8}   steps (naive)")
    for name in options.policies.split(","):
        ours = fast(name, [problem], options.budget)
        theirs, steps = naive(name, problem, options.budget)
        print(
            f"{name:<14}{ours * 1e6:>10.2f}{theirs * 1e6:>10.2f}{theirs / ours:>7.1f}x   {HORIZON:,} ({steps:,})",
            flush=True,
        )
    if not options.no_projection:
        project(options.budget)


if __name__ == "__main__":
    main()
