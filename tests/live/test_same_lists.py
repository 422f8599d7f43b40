"""The same seeds give the same lists, whether a plain loop asks a policy, `rl.simulate` does, or a Live."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from live_delay import MemoryStore, Queries, Rankers, serve, tell

import rankloop as rl
from rankloop.environments.click_environment import click_once
from rankloop.kernels import stream
from rankloop.live.settings import POLICIES, Settings
from rankloop.simulation.lists import ListSimulation

SEED = 5
STEPS = 150
ITEMS = [f"item {i}" for i in range(6)]
RANKERS = [f"ranker {i}" for i in range(6)]
draw = np.random.default_rng(1)
RELEVANCE, TOPICS = draw.dirichlet(np.ones(3), len(ITEMS)), (draw.random((len(ITEMS), 2)) < 0.5).astype(float)


def wanted(t: int, name: str) -> bool:
    """Whether the user of step t wants an item: the better the larger its number."""
    return random.Random(f"{t} {name}").random() < 0.1 + 0.1 * int(name.split()[1])


def live_loop(kind: str, policy: str, **settings: Any) -> rl.Live:
    live = rl.Live(MemoryStore(), clock=lambda: 1e9, background=False)
    live.create("loop", kind=kind, policy=policy, holdout=0.0, seed=SEED, **settings)
    return live


@pytest.mark.parametrize(
    ("kind", "policy"), [(kind, policy) for kind in ("rerank", "follow") for policy in POLICIES[kind]]
)
def test_lists(kind: str, policy: str) -> None:
    live = live_loop(kind, policy, positions=4)
    plain = Settings.checked(kind=kind, policy=policy, positions=4).make_policy(len(ITEMS), seed=SEED)
    for t in range(STEPS):
        ranking = plain.rank()
        shown = live.rank("loop", "laptop", ITEMS)
        assert shown.items == [ITEMS[item] for item in ranking]
        plain.update(ranking, [int(wanted(t, name)) for name in shown])
        tell(live, (shown.id, [name for name in shown if wanted(t, name)]))
    assert live.best("loop", "laptop") == [ITEMS[item] for item in plain.best]


@pytest.mark.parametrize("policy", POLICIES["evaluate"])
def test_duels(policy: str) -> None:
    live = live_loop("evaluate", policy, rankers=RANKERS)
    plain = Settings.checked(kind="evaluate", policy=policy, rankers=RANKERS).make_policy(len(RANKERS), seed=SEED)
    for t in range(STEPS):
        duel = plain.duel()
        asked = live.duel("loop")
        assert asked.rankers == (RANKERS[duel.left], RANKERS[duel.right])
        live.interleave(asked.id, {name: [f"of {name}", f"more of {name}"] for name in asked.rankers}, positions=2)
        winner = duel.left if wanted(t, asked.rankers[0]) else duel.right
        plain.update(duel, winner=winner)
        tell(live, (asked.id, [f"of {RANKERS[winner]}"]))
    assert live.verify().ok
    assert live.best("loop") == [RANKERS[plain.best]]


@pytest.mark.parametrize("policy", POLICIES["diversify"])
def test_lists_from_features(policy: str) -> None:
    told = {"positions": 3, "relevance": 3, "topics": ["news", "sport"]}
    live = live_loop("diversify", policy, **told)
    features = zip(ITEMS, RELEVANCE.tolist(), TOPICS.tolist(), strict=True)
    live.put_items("loop", {name: {"relevance": z, "topics": x} for name, z, x in features})
    settings = Settings.checked(kind="diversify", policy=policy, **told)
    plain = settings.make_policy(0, seed=SEED, features=(RELEVANCE, TOPICS))
    for t in range(STEPS):
        candidates = sorted({(t + k) % len(ITEMS) for k in range(5)})
        ranking = plain.rank(candidates=candidates)
        shown = live.rank("loop", "u1", [ITEMS[item] for item in candidates])
        assert shown.items == [ITEMS[item] for item in ranking]
        plain.update(ranking, [int(wanted(t, name)) for name in shown])
        tell(live, (shown.id, [name for name in shown if wanted(t, name)]))


@pytest.mark.parametrize("policy", ["BubbleRank", "CascadeUCB1"])
def test_regret_is_that_of_a_simulation(policy: str) -> None:
    """A simulated run and a Live with the run's seeds and users lose the same, to the last bit of the sum."""
    users = rl.CascadeModel([0.1, 0.3, 0.2, 0.5, 0.4, 0.6])
    seed = next(seed for seed in range(100) if stream(seed, 0, 0)[0] < 2**63)
    own = Settings.checked(kind="rerank", policy=policy, positions=4).make_policy(len(ITEMS))
    run = ListSimulation(own, users).run(0, seed, np.array([STEPS]), STEPS, lambda _: None)
    live = rl.Live(MemoryStore(), clock=lambda: 1e9, background=False)
    live.create("loop", kind="rerank", policy=policy, positions=4, holdout=0.0, seed=int(stream(seed, 0, 0)[0]))
    rng = stream(seed, 0, 1)
    regret = clicked = 0.0
    for _ in range(STEPS):
        shown = live.rank("loop", "laptop", ITEMS)
        items, clicks = np.array([ITEMS.index(name) for name in shown]), np.zeros(4, np.int64)
        click_once(users.state, rng, items, clicks)
        regret += users.regret(items)
        clicked += clicks.sum()
        tell(live, (shown.id, [shown.items[k] for k in np.flatnonzero(clicks)]))
    assert run.records["clicks"][0] == clicked
    assert run.records["regret"][0] == pytest.approx(regret)


@pytest.mark.parametrize("policy", ["BubbleRank", "TopRank"])
def test_late_and_lost_feedback_costs_little(policy: str) -> None:
    """The benchmark at small scale: one key, 10,000 lists, up to 500 late, a fifth lost. The seeds are fixed."""
    at_once, _ = serve("rerank", policy, Queries(1, 1), 10_000, delay=0, lost=0.0)
    late, _ = serve("rerank", policy, Queries(1, 1), 10_000, delay=500, lost=0.2)
    never, _ = serve("rerank", "FixedRanking", Queries(1, 1), 2_000, delay=0, lost=0.0)
    assert late <= 1.25 * at_once
    assert at_once < 5 * never, "it must learn at all"


def test_the_benchmark_runs_duels() -> None:
    regret, _ = serve("evaluate", "MergeDTS", Rankers(1), 300, delay=100, lost=0.2)
    assert 0 < regret < 300
