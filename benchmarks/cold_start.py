"""How long the first result of each policy takes where nothing is compiled yet, in seconds of the processor's time.

    python benchmarks/cold_start.py [--policies BubbleRank,TopRank] [--against ../other-version/src] [--repeat 1]

Each number is of a process of its own, from an empty cache: `import` is importing the package, `simulate` the
first run of 10 steps (duels on Cycle, lists in the cascade model, lists by features in the hybrid one), and `rank` the
first call of `rank` or `duel` and of `update`; import is part of neither. With --against, the sources of another
version are measured in turn with these, and both must give the same results. With --repeat, the least of so many is
taken: neighbours on the machine disturb also the processor's time.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parents[1] / "src"
STEPS = 10
N_ITEMS, N_POSITIONS = 10, 5


def measure(name, part):
    """Seconds to import and to the first result of one policy, and a fingerprint of that result."""
    begin = time.process_time()
    import numpy as np

    import rankloop as rl

    cls, simulate = getattr(rl, name), rl.simulate
    policies = rl.policies
    imported = time.process_time()
    if issubclass(cls, policies.DuelingPolicy):
        policy, environment = cls(20, seed=1), rl.PreferenceMatrix.cycle()
    elif "features" in cls.__module__:
        policy, environment = with_features(cls, rl, np)
    else:
        policy, environment = cls(**lists(cls), seed=1), rl.CascadeModel(np.linspace(0.9, 0.1, N_ITEMS))
    if part == "simulate":
        result = simulate(policy, environment, horizon=STEPS, checkpoints=STEPS, workers=1, progress=False)
        shown = result.regret.tolist()
    elif hasattr(policy, "duel"):
        duel = policy.duel()
        policy.update(duel, duel.left)
        shown = [*duel]
    else:
        ranking = policy.rank()
        policy.update(ranking, [1] + [0] * (len(ranking) - 1))
        shown = [*ranking]
    ended = time.process_time()
    fingerprint = hashlib.blake2b(repr(shown).encode(), digest_size=8)
    for _, array in sorted(policy.snapshot().items()):
        fingerprint.update(array.tobytes())
    return imported - begin, ended - imported, fingerprint.hexdigest()


def lists(cls):
    import inspect

    known = inspect.signature(cls).parameters
    given = {"initial": range(N_ITEMS)} if "initial" in known else {"n_items": N_ITEMS}
    horizon = {"horizon": 1000} if "horizon" in known else {}
    return {**given, "n_positions": N_POSITIONS, **horizon}


def with_features(cls, rl, np):
    import inspect

    draws = np.random.default_rng(1)
    relevance, topics = draws.random((N_ITEMS, 4)) / 4, draws.random((N_ITEMS, 3)) / 4
    users = rl.HybridCascade(relevance, topics, np.full(4, 0.5), np.full(3, 1 / 3), 0.5)
    known = inspect.signature(cls).parameters
    features = {key: value for key, value in {"relevance": relevance, "topics": topics}.items() if key in known}
    features = features or {"features": relevance}
    horizon = {"horizon": 1000} if "horizon" in known else {}
    return cls(**features, n_positions=N_POSITIONS, **horizon, seed=1), users


def in_a_process(name, part, source, byte_code):
    with tempfile.TemporaryDirectory() as cache:
        environment = {
            **os.environ,
            "RANKLOOP_CACHE_DIR": cache,
            "PYTHONPATH": str(source),
            "PYTHONPYCACHEPREFIX": byte_code,  # where no process writes any, each would compile its imports anew
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        command = [sys.executable, __file__, "--measure", name, part]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise SystemExit(ran.stderr)
    return json.loads(ran.stdout)


def names():
    from rankloop import policies

    return [name for name in policies.__all__ if getattr(getattr(policies, name), "examples", ())]


def report(wanted, sources, repeat, byte_code):
    for source in sources:
        in_a_process(wanted[0], "rank", source, byte_code)  # leaves the byte code of the imports
    heads = [f"{part}{suffix}" for part in ("import", "simulate", "rank") for suffix in ("", " before")[: len(sources)]]
    print(f"{'policy':<18}" + "".join(f"{head:>17}" for head in heads))
    worst = [0.0] * len(heads)
    for name in wanted:
        columns = {head: float("inf") for head in heads}
        for part in ("simulate", "rank"):
            results = set()
            for _ in range(repeat):
                for suffix, source in zip(("", " before"), sources, strict=False):
                    imported, first, result = in_a_process(name, part, source, byte_code)
                    columns[f"import{suffix}"] = min(columns[f"import{suffix}"], imported)
                    columns[f"{part}{suffix}"] = min(columns[f"{part}{suffix}"], first)
                    results.add(result)
            if len(results) > 1:
                raise SystemExit(f"the results of {name} differ")
        worst = [max(pair) for pair in zip(worst, columns.values(), strict=True)]
        print(f"{name:<18}" + "".join(f"{value:>17.2f}" for value in columns.values()), flush=True)
    print(f"{'the slowest':<18}" + "".join(f"{value:>17.2f}" for value in worst))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policies", help="Names, separated by commas.")
    parser.add_argument("--against", type=Path, help="Sources of another version.")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measure(*given.measure)))
        return
    wanted = given.policies.split(",") if given.policies else names()
    with tempfile.TemporaryDirectory() as byte_code:
        report(wanted, [HERE, given.against.resolve()] if given.against else [HERE], given.repeat, byte_code)


if __name__ == "__main__":
    main()
