"""The click environments: draws, rewards and regret against enumeration."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from references import click_models as slow
from scipy import stats
from shared_data import SHARED

import rankloop as rl
from rankloop import click_models
from rankloop.datasets import synthetic_click_log
from rankloop.environments import click_problems
from rankloop.environments.click_environment import click_once, regret_once
from rankloop.kernels import stream

YANDEX = SHARED / "click_models" / "yandex_40_queries.json"


def problems(seed: int, n_items: int = 5, n_positions: int = 4):
    rng = np.random.default_rng(seed)
    a, v = rng.uniform(0, 1, n_items), rng.uniform(0, 1, n_positions)
    return [rl.CascadeModel(a), rl.DependentClickModel(a, v), rl.PositionBasedModel(a, v)]


def possible(environment, items):
    a = [environment.attraction[i] for i in items]
    if isinstance(environment, rl.CascadeModel):
        return slow.walks(a, [1.0] * len(a), 1.0)
    if isinstance(environment, rl.DependentClickModel):
        return slow.walks(a, list(environment.abandonment), 1.0)
    return slow.looks(a, lambda k, _: environment.examination[k])


@pytest.mark.parametrize("which", range(3))
def test_compiled_clicks_follow_the_probabilities(which) -> None:
    """40,000 users: a chi-square test over click patterns, false alarms once in 10,000."""
    environment = problems(1)[which]
    items = np.array([3, 0, 4, 1])
    truth = slow.click_distribution(possible(environment, items))
    truth = {clicks: p for clicks, p in truth.items() if p > 0}
    seen = dict.fromkeys(truth, 0)
    rng, clicks = stream(5), np.full(4, 9)
    for _ in range(40_000):
        click_once(environment.state, rng, items, clicks)
        seen[tuple(clicks.tolist())] += 1
    assert stats.chisquare(list(seen.values()), [40_000 * p for p in truth.values()]).pvalue > 1e-4


@pytest.mark.parametrize("seed", range(5))
def test_rewards_match_enumeration(seed) -> None:
    cascade, dependent, positions = problems(seed)
    for items in ([0, 1, 2, 3], [4, 2], [1]):
        truth = slow.click_distribution(possible(cascade, items))
        assert cascade.reward(items) == pytest.approx(1 - truth[(0,) * len(items)])
        satisfied = sum(p for p, _, _, left in possible(dependent, items) if any(left))
        assert dependent.reward(items) == pytest.approx(satisfied)
        clicks = sum(p * sum(c) for c, p in slow.click_distribution(possible(positions, items)).items())
        assert positions.reward(items) == pytest.approx(clicks)


@pytest.mark.parametrize("seed", range(8))
def test_the_optimal_list_beats_all_others(seed) -> None:
    """With abandonment and examination in any order, not only falling."""
    for environment in problems(seed):
        for n in (1, 3, 4):
            best = max(permutations(range(5), n), key=environment.reward)
            assert environment.reward(environment.optimal_list(n)) == pytest.approx(environment.reward(best))
            assert environment.regret(environment.optimal_list(n)) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("top", [None, 1, 2, 4, 9])
def test_compiled_regret_is_that_of_python(top) -> None:
    for environment in problems(3):
        state = environment.state_at(top)
        for items in permutations(range(5), 4):
            counted = items[: top or 4]
            shortfall = max(environment.reward(other) for other in permutations(range(5), len(counted)))
            shortfall -= environment.reward(counted)
            assert environment.regret(items, top=top) == pytest.approx(shortfall, abs=1e-12)
            assert regret_once(state, np.array(items)) == pytest.approx(shortfall, abs=1e-12)
    assert environment.state.top >= 4


def test_falling_positions_want_items_in_order_of_attraction() -> None:
    environment = rl.PositionBasedModel([0.1, 0.9, 0.5, 0.5], [1, 0.8, 0.6, 0.4])
    assert environment.optimal_list() == [1, 2, 3, 0]
    assert rl.CascadeModel([0.1, 0.9, 0.5]).optimal_list(2) == [1, 2]


def test_the_same_seed_gives_the_same_clicks() -> None:
    for environment in problems(2):
        assert environment.click([0, 1, 2], seed=3) == environment.click([0, 1, 2], seed=3)
        rng = stream(1)
        drawn = {tuple(environment.click([0, 1, 2], seed=rng)) for _ in range(100)}
        assert len(drawn) > 1


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: rl.CascadeModel([]), "at least 1"),
        (lambda: rl.CascadeModel([[0.1]]), "shape"),
        (lambda: rl.CascadeModel(["x"]), "sequence of numbers"),
        (lambda: rl.CascadeModel([0.5, float("nan")]), r"attraction\[1\] = nan"),
        (lambda: rl.CascadeModel([0.5, 1.1]), r"attraction\[1\] = 1.1"),
        (lambda: rl.CascadeModel([-0.1]), r"attraction\[0\] = -0.1"),
        (lambda: rl.DependentClickModel([0.5], [2]), r"abandonment\[0\] = 2"),
        (lambda: rl.PositionBasedModel([0.5], [None, 1]), "examination"),
        (lambda: rl.PositionBasedModel([0.5], []), "examination must be"),
        (lambda: rl.CascadeModel([0.5, 0.5]).reward([0, 0]), "twice"),
        (lambda: rl.CascadeModel([0.5, 0.5]).reward([2]), "item 2 does not exist"),
        (lambda: rl.CascadeModel([0.5, 0.5]).reward([-1]), "item -1 does not exist"),
        (lambda: rl.CascadeModel([0.5, 0.5]).reward([0.5]), "item numbers"),
        (lambda: rl.CascadeModel([0.5, 0.5]).reward("01"), "item numbers"),
        (lambda: rl.CascadeModel([0.5, 0.5]).click(7), "item numbers"),
        (lambda: rl.DependentClickModel([0.5, 0.5], [1]).click([0, 1]), "longer than the 1 positions"),
        (lambda: rl.DependentClickModel([0.5, 0.5], [1]).optimal_list(2), "from 1 to 1"),
        (lambda: rl.CascadeModel([0.5]).regret([0], top=0), "top must be"),
        (lambda: rl.CascadeModel([0.5]).optimal_list(0), "n_positions must be"),
    ],
)
def test_bad_input_is_refused(make, complaint) -> None:
    with pytest.raises(ValueError, match=complaint):
        make()


def test_an_environment_does_not_change() -> None:
    attraction = np.array([0.5, 0.2])
    environment = rl.CascadeModel(attraction)
    attraction[0] = 0
    assert environment.reward([0]) == 0.5
    with pytest.raises(ValueError, match="read-only"):
        environment.attraction[0] = 1


@pytest.mark.parametrize("kind", ["CM", "DCM", "PBM"])
def test_fitted_models_become_environments(tmp_path, kind) -> None:
    log = synthetic_click_log(3000, n_queries=4)
    model = click_models.ClickModel.known[kind].fit(log)
    click_models.save(tmp_path / "models.json", [model, click_models.SDBN.fit(log)])
    for problem, twin in zip(click_problems(model), click_problems(tmp_path / "models.json", kind), strict=True):
        assert problem.items == twin.items == model.initial_list(problem.query)
        assert problem.initial == list(range(10))
        lists = [5, 0, 9, 3]
        names = [problem.items[i] for i in lists]
        assert problem.environment.reward(lists) == pytest.approx(model.reward(problem.query, names))
        assert twin.environment.reward(lists) == problem.environment.reward(lists)
    with pytest.raises(ValueError, match="must be CM, DCM or PBM"):
        click_problems(tmp_path / "models.json", "SDBN")
    with pytest.raises(ValueError, match="no query has 99 items"):
        click_problems(model, n_items=99)
    other = {"CM": "DCM", "DCM": "PBM", "PBM": "CM"}[kind]
    with pytest.raises(ValueError, match=f"but no {other}"):
        click_problems(tmp_path / "models.json", other)


@pytest.mark.skipif(not YANDEX.exists(), reason="the shared click models are not here")
def test_the_shared_models_become_environments() -> None:
    for kind in ("CM", "DCM", "PBM"):
        shared = click_problems(YANDEX, kind)
        assert len(shared) == 40
        assert all(problem.environment.n_items == 10 for problem in shared)
        assert all(problem.environment.regret(problem.initial, top=5) >= 0 for problem in shared)
