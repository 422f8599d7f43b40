"""How fast the feature policies are: µs a step with clicks and records, and the ratio to plain NumPy.

    python benchmarks/features.py [--data DIR] [--budget 4.0]

Every policy shows lists of 10 out of 1,000 items, with 10 relevance features and 20 topics, to a simulated user of
chapter 5, on one core; users are made of a made-up catalogue as sparse as MovieLens, or of the ratings in a folder.
Compilation is not counted. Then: how the time grows with items and positions, how long one list of 100,000 items takes
to rank from Python, and the projected time of the sweep over lambda (11 values, 500 users, 2 runs, 50,000 steps,
5 policies).
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from naive import features as naive

import rankloop as rl
from rankloop.datasets import read_ratings, synthetic_ratings
from rankloop.environments import hybrid_problems

CHAPTER_5 = ("CascadeHybrid", "CascadeLinUCB", "CascadeLinUCBFull", "CascadeLSB", "CascadeLSBFull")
OTHERS = ("CascadeHybridTS", "CascadeLinTS", "LSBGreedy", "C2UCB", "C2UCB, diversity 1")
SWEEP_STEPS = 11 * 500 * 2 * 50_000
CORES = 2


def make(name, relevance, topics, n_positions):
    if name == "C2UCB, diversity 1":
        return rl.C2UCB(relevance, n_positions, diversity=1.0)
    cls = getattr(rl, name)
    if name in ("CascadeLinUCB", "CascadeLinTS", "C2UCB"):
        return cls(relevance, n_positions)
    return cls(topics, n_positions) if name in ("CascadeLSB", "LSBGreedy") else cls(relevance, topics, n_positions)


def make_naive(name, relevance, topics, n_positions):
    none, both = np.zeros((len(relevance), 0)), np.hstack([topics, relevance])
    relevance, topics = {
        "CascadeHybrid": (relevance, topics),
        "CascadeLinUCB": (relevance, none),
        "CascadeLinUCBFull": (both, none),
        "CascadeLSB": (none, topics),
        "CascadeLSBFull": (none, both),
    }[name]
    return naive.Naive(relevance, topics, n_positions)


def seconds_a_step(policy, environment, horizon):
    result = rl.simulate(policy, environment, horizon=horizon, checkpoints=[horizon], workers=1, progress=False)
    return result.seconds[0] / horizon


def fast(name, problem, budget, n_positions=10):
    """Seconds a step over the first 5,000 steps, in which a policy explores most: the best of several runs."""
    policy = make(name, problem.relevance, problem.topics, n_positions)
    once = seconds_a_step(policy, problem.environment, 5000)
    repeats = min(5, int(budget / (once * 5000)))
    return min([once, *(seconds_a_step(policy, problem.environment, 5000) for _ in range(repeats))])


def slow(name, problem, budget):
    policy = make_naive(name, problem.relevance, problem.topics, 10)
    naive.run(policy, problem.environment, 5)
    steps, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < budget / 2:
        naive.run(policy, problem.environment, 20, seed=steps)
        steps += 20
    return (time.perf_counter() - begin) / steps


def many_items(n_items):
    """Features of a large catalogue, without users."""
    draw = np.random.default_rng(0)
    relevance = draw.normal(size=(n_items, 10))
    relevance /= np.linalg.norm(relevance, axis=1, keepdims=True)
    topics = np.where(draw.random((n_items, 20)) < 0.1, draw.random((n_items, 1)) * 0.5, 0.0)
    return relevance, topics


def rank_seconds(n_items):
    """The median time of `rank()` in a trained policy."""
    relevance, topics = many_items(n_items)
    policy = rl.CascadeHybrid(relevance, topics, 10, seed=0)
    draw = np.random.default_rng(1)
    took = []
    for _ in range(120):
        begin = time.perf_counter()
        ranking = policy.rank()
        took.append(time.perf_counter() - begin)
        policy.update(ranking, np.arange(10) == draw.integers(11))
    return float(np.median(took[20:])), max(took[1:])


def main():
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--data", help="a folder with ratings; a made-up catalogue if not given")
    arguments.add_argument("--budget", type=float, default=4.0, help="seconds for each policy")
    given = arguments.parse_args()
    ratings = read_ratings(given.data) if given.data else synthetic_ratings()
    [problem] = hybrid_problems(ratings, trade_off=0.5, n_users=1)
    print(f"{ratings.name}: {problem.n_items:,} items, 10 positions, 10 features, {problem.topics.shape[1]} topics")
    print(f"{'policy':20} {'µs a step':>10} {'NumPy':>10} {'ratio':>7}")
    measured = {}
    for name in (*CHAPTER_5, *OTHERS):
        measured[name] = fast(name, problem, given.budget)
        line = f"{name:20} {measured[name] * 1e6:10.1f}"
        if name in CHAPTER_5:
            plain = slow(name, problem, given.budget)
            line += f" {plain * 1e6:10.0f} {plain / measured[name]:6.0f}x"
        print(line, flush=True)
    print("\nCascadeHybrid, µs a step by the number of items and of positions (made-up catalogues):")
    for n_items in (500, 1000, 2000):
        data = synthetic_ratings(1000, n_items).most_active(1000, n_items)
        [sized] = hybrid_problems(data, trade_off=0.5, n_users=1)
        times = (f"K = {k}: {fast('CascadeHybrid', sized, given.budget / 4, k) * 1e6:6.1f}" for k in (5, 10, 20))
        print(f"  L = {n_items:5,}  {'   '.join(times)}", flush=True)
    median, worst = rank_seconds(100_000)
    print(f"\nrank() of 100,000 items from Python: {median * 1e3:.2f} ms (median), {worst * 1e3:.2f} ms (worst of 119)")
    hours = sum(measured[name] for name in CHAPTER_5) * SWEEP_STEPS / CORES / 3600
    print(f"Chapter 5's sweep over lambda: {hours:.1f} hours on {CORES} cores, at the speed of the first 5,000 steps")


if __name__ == "__main__":
    main()
