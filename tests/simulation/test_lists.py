"""Simulating lists: records, collections of queries, and policies in plain Python."""

from __future__ import annotations

import numpy as np
import pytest

import rankloop as rl
from rankloop.environments import ClickProblem

ATTRACTION = [0.1, 0.5, 0.3, 0.2]
USERS = {
    "CM": rl.CascadeModel(ATTRACTION),
    "DCM": rl.DependentClickModel(ATTRACTION, [0.9, 0.7, 0.5, 0.3]),
    "PBM": rl.PositionBasedModel(ATTRACTION, [0.9, 0.7, 0.5, 0.3]),
}


@pytest.mark.parametrize("kind", USERS)
def test_records_of_a_fixed_list_are_known(kind: str) -> None:
    users, shown, steps = USERS[kind], [0, 1, 2, 3], 20_000
    result = rl.simulate(rl.FixedRanking(shown), users, horizon=steps, runs=3, checkpoints=[1, 100, steps], top=2)
    np.testing.assert_allclose(result.regret, np.tile(users.regret(shown, top=2) * result.steps, (3, 1)), rtol=1e-9)
    discount = 1 / np.log2([2, 3])
    expected = (discount @ [0.1, 0.5]) / (discount @ [0.5, 0.3])
    np.testing.assert_allclose(result.ndcg, expected)
    assert (result.violations == 0).all()
    clicks = sum(sum(users.click(shown, seed=s)) for s in range(4000)) / 4000
    assert result.clicks[:, -1].mean() / steps == pytest.approx(clicks, abs=0.05)


def test_violations_count_lists_far_from_the_initial_one() -> None:
    """The reversed list has 6 inverted pairs, which is more than 0 + 4/2; the best list has none."""
    users = rl.CascadeModel([0.5, 0.4, 0.3, 0.2])
    worst = rl.simulate(rl.FixedRanking([3, 2, 1, 0]), users, horizon=50, checkpoints=[50], initial=[0, 1, 2, 3])
    best = rl.simulate(rl.FixedRanking([0, 1, 2, 3]), users, horizon=50, checkpoints=[50], initial=[0, 1, 2, 3])
    assert worst.violations[0, -1] == 50
    assert best.violations[0, -1] == 0
    unsafe = rl.simulate(rl.CascadeUCB1(4, 4), users, horizon=10, checkpoints=[10])
    with pytest.raises(ValueError, match="no record 'violations'"):
        unsafe.record("violations")


def test_a_collection_keeps_its_queries_apart() -> None:
    problems = [
        ClickProblem(name, rl.CascadeModel(attraction, name=name), [0, 1], ["a", "b"])
        for name, attraction in (("good", [0.9, 0.1]), ("bad", [0.1, 0.9]))
    ]
    policy = rl.FixedRanking([0, 1], n_positions=1)
    result = rl.simulate(policy, problems, horizon=100, runs=3, checkpoints=[100])
    assert result.regret.shape == (6, 1)
    assert result.queries == ["good", "bad"] * 3
    assert {query: float(regret[-1]) for query, regret in result.by_query().items()} == {
        "good": pytest.approx(0),
        "bad": pytest.approx(80),
    }
    more = rl.simulate(policy, problems, horizon=100, runs=4, checkpoints=[100], resume=result)
    assert len(more.finished) == 8
    assert all(more.finished[unit] is run for unit, run in result.finished.items())


def test_a_collection_takes_a_policy_for_each_query() -> None:
    problems = [rl.CascadeModel([0.9, 0.1]), rl.CascadeModel([0.1, 0.9, 0.2])]
    result = rl.simulate(lambda users: rl.CascadeUCB1(users.n_items, 1), problems, horizon=1000, checkpoints=[1000])
    assert (result.regret < 0.2 * 1000).all()


def test_results_are_the_same_for_any_number_of_workers() -> None:
    policy = rl.BubbleRank([0, 1, 2, 3], horizon=2000)
    one = rl.simulate(policy, USERS["DCM"], horizon=2000, runs=4, workers=1, seed=3)
    two = rl.simulate(policy, USERS["DCM"], horizon=2000, runs=4, workers=2, seed=3)
    for name in ("regret", "violations", "ndcg", "clicks"):
        np.testing.assert_array_equal(one.record(name), two.record(name))
    assert (rl.simulate(policy, USERS["DCM"], horizon=2000, runs=4, seed=4).clicks != one.clicks).any()


def test_a_policy_in_plain_python_runs_like_its_compiled_twin() -> None:
    class Twin:
        def __init__(self, policy: rl.BubbleRank) -> None:
            self.policy = policy

        def fresh(self, seed: int) -> Twin:
            return Twin(self.policy.fresh(seed))

        def rank(self) -> rl.Ranking:
            return self.policy.rank()

        def update(self, ranking: rl.Ranking, clicks: list[int]) -> None:
            self.policy.update(ranking, clicks)

    policy = rl.BubbleRank([0, 1, 2, 3], horizon=300)
    arguments = {"horizon": 300, "runs": 2, "checkpoints": [10, 300], "initial": [0, 1, 2, 3], "top": 3}
    compiled = rl.simulate(policy, USERS["PBM"], **arguments)
    python = rl.simulate(Twin(policy), USERS["PBM"], **arguments)
    for name in ("regret", "violations", "ndcg", "clicks"):
        np.testing.assert_array_equal(compiled.record(name), python.record(name))


@pytest.mark.parametrize(
    ("policy", "environment", "more", "complaint"),
    [
        (rl.CascadeUCB1(3, 2), USERS["CM"], {}, "ranks 3 items, but the environment has 4"),
        (rl.CascadeUCB1(4, 2), USERS["CM"], {"top": 3}, "more than the 2 positions"),
        (rl.CascadeUCB1(4, 4), rl.PositionBasedModel(ATTRACTION, [0.5, 0.5]), {}, "answers 2"),
        (rl.CascadeUCB1(4, 4), USERS["CM"], {"initial": [0, 1]}, "initial must order the 4 items"),
        (rl.CascadeUCB1(4, 4), [], {}, "collection is empty"),
        (rl.CascadeUCB1(4, 4), rl.PreferenceMatrix.cycle(), {}, "needs the methods duel and update"),
        (rl.MergeDTS(20), USERS["CM"], {}, "needs the methods rank and update"),
        (rl.MergeDTS(20), rl.PreferenceMatrix.cycle(), {"top": 3}, "not for duels"),
        (rl.MergeDTS(20), "cycle", {}, "environment must be"),
    ],
)
def test_what_does_not_fit_is_refused(policy, environment, more, complaint) -> None:
    with pytest.raises(ValueError, match=complaint):
        rl.simulate(policy, environment, horizon=10, **more)
