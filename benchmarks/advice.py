"""How near the advisor's "about" comes to what simulations take: predicted, measured, and their ratio.

python benchmarks/advice.py
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import rankloop as rl
from rankloop import theory

SEEDS = range(6)


def report(problem: str, predicted: float, measured: float) -> None:
    print(f"{problem:<66} {predicted:>8,.0f} {measured:>9,.0f} {measured / predicted:>6.2f}", flush=True)


def rankers(n: int, gap: float) -> None:
    """Each ranker beats all after it by the same gap; until one is left."""
    table = 0.5 + gap * (np.triu(np.ones((n, n)), 1) - np.tril(np.ones((n, n)), -1))
    for plan in theory.advise_rankers(1, n_rankers=n, gap=gap).plans:
        taken = []
        for seed in SEEDS:
            policy, random = rl.MergeDTS(n, **plan.parameters, seed=seed), np.random.default_rng(seed)
            duels = 0
            while policy.winner is None:
                duel = policy.duel()
                policy.update(duel, duel.left if random.random() < table[duel.left, duel.right] else duel.right)
                duels += 1
            taken.append(duels)
        report(f"rankers: {n}, gap {gap}, alpha {plan.parameters['alpha']:.3g}", plan.about, np.mean(taken))


def rerank(initial: list[int], attraction: Sequence[float], examination: Sequence[float]) -> None:
    """Users of the position-based model; until all neighbours are decided."""
    wrong = theory.initial_inversions(initial, attraction)
    plan = theory.advise_reranking(
        1,
        n_items=len(initial),
        gap=theory.smallest_difference(attraction),
        attraction=max(attraction),
        examination=min(examination),
        wrong_pairs=wrong,
    ).plans[0]
    taken = []
    for seed in SEEDS:
        policy, random = rl.BubbleRank(initial, **plan.parameters, seed=seed), np.random.default_rng(seed)
        lists = 0
        while policy.state.undecided.any():
            ranking = policy.rank()
            looked = random.random(len(initial)) < np.array(examination) * np.array(attraction)[list(ranking)]
            policy.update(ranking, looked.tolist())
            lists += 1
        taken.append(lists)
    problem = f"rerank: {len(initial)} items, {wrong} wrong pairs, attractions from {max(attraction)}"
    report(problem, plan.about, np.mean(taken))


def drift(n_items: int, n_positions: int, gap: float, horizon: int, changes: int) -> None:
    """The best items change places with others; measured as regret beyond what is usual over that of not noticing."""
    epoch = horizon // (changes + 1)
    attractions = np.full((2, n_items), 0.1)
    attractions[0, :n_positions] += gap
    attractions[1, n_positions : 2 * n_positions] += gap
    users = rl.DriftingCascade(attractions, epoch)
    unnoticed = users.users_at(0).regret(list(range(n_positions, 2 * n_positions)))
    advice = theory.advise_drift(horizon, n_items=n_items, n_positions=n_positions, gap=gap, days=1, changes=changes)
    steps = np.arange(1, 100 * (changes + 1) + 1) * (epoch // 100)
    for plan, cls in zip(advice.plans, (rl.CascadeSWUCB, rl.CascadeDUCB), strict=True):
        policy = cls(n_items, n_positions, **plan.parameters)
        result = rl.simulate(policy, users, horizon=int(steps[-1]), runs=20, seed=1, checkpoints=steps.tolist())
        lost = np.diff(result.regret.mean(0), prepend=0).reshape(changes + 1, 100)[1:].mean(0)
        usual = lost[-20:].mean()
        delay = np.maximum(lost - usual, 0).sum() / (unnoticed - usual / (epoch // 100))
        shape = f"{n_positions} of {n_items}, gap {gap}, {changes} in {horizon:,}"
        report(f"drift: {shape}, {plan.policy}", plan.about, delay)


def main() -> None:
    print(f"{'':<66} predicted measured  ratio")
    for n, gap in ((8, 0.1), (16, 0.1), (16, 0.2), (32, 0.2), (136, 0.1)):
        rankers(n, gap)
    rerank([0, 1], [0.5, 0.3], [0.8, 0.8])
    rerank([1, 0, 2], [0.6, 0.4, 0.2], [0.9, 0.8, 0.7])
    rerank([2, 1, 0], [0.6, 0.4, 0.2], [0.9, 0.8, 0.7])
    rerank([3, 0, 1, 2], [0.8, 0.6, 0.4, 0.2], [0.9, 0.8, 0.7, 0.6])
    for n_items, n_positions, gap, horizon, changes in (
        (10, 3, 0.3, 100_000, 9),
        (10, 3, 0.6, 100_000, 9),
        (10, 3, 0.3, 1_000_000, 9),
        (4, 1, 0.3, 1_000_000, 9),
        (10, 3, 0.1, 1_000_000, 4),
    ):
        drift(n_items, n_positions, gap, horizon, changes)


if __name__ == "__main__":
    main()
