"""Policies are made of what they ask for and what a problem offers."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import rankloop as rl
from rankloop.environments.problems import each_of, offers, users_of
from rankloop.policies.making import Maker

PBM = rl.PositionBasedModel([0.5, 0.2, 0.1, 0.3], [1.0, 0.6, 0.2])
QUERY = rl.ClickProblem("shoes", PBM, [3, 2, 1, 0], list("abcd"))
USER = rl.HybridProblem(
    7,
    rl.HybridCascade([[0.5], [0.1]], [[1.0], [0.0]], [0.4], [0.3], 0.5),
    np.array([[0.4], [0.2]]),
    np.array([[0.9], [0.0]]),
    ["Alien", "Brazil"],
    ["space"],
)


class KnowsPositions:
    """A policy of another package that corrects clicks by how often a position is looked at."""

    def __init__(self, n_items: int, n_positions: int, examination: Any, seed: int = 0) -> None:
        self.n_items, self.n_positions, self.examination = n_items, n_positions, examination
        self.draw = np.random.default_rng(seed)
        self.worth = np.zeros(n_items)

    def rank(self) -> list[int]:
        return np.argsort(-self.worth - 0.1 * self.draw.random(self.n_items))[: self.n_positions].tolist()

    def update(self, ranking: list[int], clicks: list[int]) -> None:
        self.worth[ranking] += np.array(clicks) / self.examination[: len(clicks)]


@pytest.mark.parametrize(
    "problem",
    [PBM, QUERY, rl.DriftingPositionBasedModel([[0.5, 0.2], [0.1, 0.2]], PBM.examination, epoch_length=10)],
    ids=["environment", "problem", "drifting"],
)
def test_a_policy_that_asks_for_examination_gets_it(problem: Any) -> None:
    policy = Maker(KnowsPositions, n_positions=2)(problem)
    np.testing.assert_array_equal(policy.examination, PBM.examination)
    assert (policy.n_items, policy.n_positions) == (problem.n_items, 2)
    result = rl.simulate(Maker(KnowsPositions, n_positions=2), [problem], horizon=30, runs=2, progress=False)
    assert result.regret.shape[0] == 2


def test_runs_of_a_policy_of_another_package_have_random_numbers_of_their_own() -> None:
    policy = Maker(KnowsPositions)(PBM)
    assert policy.fresh(1).rank() == policy.fresh(1).rank()
    assert len({tuple(policy.fresh(seed).rank()) for seed in range(20)}) > 1


def test_an_environment_that_does_not_offer_it_says_what_it_does() -> None:
    wanted = r"KnowsPositions asks for examination, but this problem offers only initial, n_items and n_positions"
    with pytest.raises(ValueError, match=wanted):
        Maker(KnowsPositions)(rl.CascadeModel([0.5, 0.2]))


def test_an_environment_of_another_package_may_offer_more() -> None:
    class Seasonal(rl.CascadeModel):
        season = "winter"
        offers = (*rl.CascadeModel.offers, "season")

    assert Maker(lambda season, n_items: (season, n_items))(Seasonal([0.1, 0.2])) == ("winter", 2)


def test_problems_tell_what_production_and_other_users_say() -> None:
    assert Maker(rl.BubbleRank, horizon=100)(QUERY).initial == [3, 2, 1, 0]
    assert Maker(rl.BubbleRank, horizon=100)(QUERY).n_positions == 3
    policy = Maker(rl.CascadeHybrid, n_positions=1)(USER)
    np.testing.assert_array_equal(policy.parameters["relevance"], USER.relevance)
    np.testing.assert_array_equal(policy.parameters["topics"], USER.topics)
    np.testing.assert_array_equal(Maker(rl.CascadeLinUCB)(USER).parameters["features"], USER.relevance)
    assert offers(rl.PreferenceMatrix.cycle()) == {"n_arms": 20}


def test_parameters_that_are_given_come_first() -> None:
    assert Maker(rl.TopRank, {"horizon": 50}, horizon=100)(QUERY).horizon == 50
    assert Maker(rl.TopRank, {"delta": 0.1}, horizon=100)(QUERY).horizon is None  # delta stands in its place
    assert Maker(rl.BatchRank, horizon=100)(QUERY).horizon == 100
    assert Maker(rl.MergeDTS, {"alpha": 0.9})(rl.PreferenceMatrix.cycle()).parameters["alpha"] == 0.9


def test_a_function_of_one_argument_gets_the_problem() -> None:
    assert Maker(lambda problem: problem.query)(QUERY) == "shoes"
    assert Maker(lambda n_items: n_items)(QUERY) == 4


def test_a_maker_can_be_sent_to_another_process() -> None:
    again = pickle.loads(pickle.dumps(Maker(rl.TopRank, {"delta": 0.1}, n_positions=2)))
    assert again(QUERY).parameters == Maker(rl.TopRank, {"delta": 0.1}, n_positions=2)(QUERY).parameters


@pytest.mark.parametrize("problem", [QUERY, USER, PBM, rl.PreferenceMatrix.cycle()])
def test_one_problem_is_one_problem(problem: Any) -> None:
    assert each_of(problem) == [problem]
    assert each_of([problem, problem]) == each_of((problem, problem)) == [problem, problem]
    assert users_of(problem) is getattr(problem, "environment", problem)
