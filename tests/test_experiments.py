"""Experiments as data: declarations build for stand-ins and for real datasets, and can be simulated."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path

import numpy as np
import pytest

from rankloop.environments import PreferenceMatrix
from rankloop.experiments.catalogue import EXPERIMENTS, find
from rankloop.experiments.chapter3 import with_inversions
from rankloop.experiments.claims import CLAIMS
from rankloop.experiments.data import ISTELLA, MSLR, Data, two_copeland_winners
from rankloop.experiments.declare import SCALES, Amount, Experiment
from rankloop.experiments.parts import even, logarithmic
from rankloop.simulation import simulate
from rankloop.simulation.simulate import blank

SHARED = Path(__file__).parents[2] / "shared" / "data"
FOLDERS = [
    pytest.param(None, id="stand-ins"),
    pytest.param(
        SHARED,
        id="real",
        marks=pytest.mark.skipif(not (SHARED / "preferences").exists(), reason="needs ../shared/data"),
    ),
]

each = pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)


@pytest.mark.parametrize("folder", FOLDERS)
@each
def test_every_player_can_play(experiment: Experiment, folder: Path | None) -> None:
    amount = experiment.amounts["smoke"]
    panels = experiment.panels(Data(folder), amount)
    assert len({panel.name for panel in panels}) == len(panels)
    for panel in panels:
        assert panel.source.text
        assert (panel.value is not None) == bool(experiment.parameter)
        assert len({player.label for player in panel.players}) == len(panel.players)
        if amount.problems is not None:
            assert len(panel.environment) == amount.problems
        for player in panel.players:
            result = blank(
                player.policy,
                panel.environment,
                horizon=amount.horizon,
                checkpoints=panel.checkpoints,
                top=panel.top,
            )
            assert result.steps[-1] == amount.horizon


@each
def test_scales_change_amounts_only(experiment: Experiment) -> None:
    assert set(experiment.amounts) == set(SCALES)
    smoke, laptop, paper = (experiment.amounts[scale] for scale in SCALES)
    for smaller, larger in itertools.pairwise((smoke, laptop, paper)):
        assert smaller.horizon <= larger.horizon
        assert smaller.runs <= larger.runs
        assert (smaller.problems or 0) <= (larger.problems or 0)
    few = experiment.panels(Data(None), smoke)
    many = experiment.panels(Data(None), paper)
    assert [(p.name, p.value, [player.label for player in p.players]) for p in few] == [
        (p.name, p.value, [player.label for player in p.players]) for p in many
    ]
    if smoke.problems is not None:
        for a, b in zip(few, many, strict=True):
            for one, same in zip(a.environment, b.environment, strict=False):
                assert getattr(one, "initial", None) == getattr(same, "initial", None)
                np.testing.assert_array_equal(_attraction(one), _attraction(same))


def _attraction(problem: object) -> np.ndarray:
    users = getattr(problem, "environment", problem)
    return np.asarray(getattr(users, "attractions", None) if hasattr(users, "attractions") else users.attraction)


@each
def test_units_can_be_sent_to_other_processes(experiment: Experiment) -> None:
    [first, *_] = experiment.panels(Data(None), Amount(1000, 1, 2))
    assert pickle.loads(pickle.dumps([player.policy for player in first.players]))


def test_names() -> None:
    names = [experiment.name for experiment in EXPERIMENTS]
    assert len(set(names)) == len(names)
    assert all(name == name.lower() and " " not in name for name in names)
    assert {claim.experiment for claim in CLAIMS} <= set(names)
    assert [e.name for e in find([])] == names
    assert [e.name for e in find(names[::-1])] == names


@pytest.mark.parametrize(
    ("wrong", "advice"),
    [("rerank-regrets", "did you mean rerank-regret?"), ("x", "there are duels-large-scale, ")],
)
def test_unknown_names(wrong: str, advice: str) -> None:
    with pytest.raises(ValueError, match=f"no experiment '{wrong}': {advice}".replace("?", r"\?")):
        find([wrong])


def test_checkpoints() -> None:
    steps = logarithmic(5 * 10**6)
    assert {100, 1000, 10**5, 500_000, 2_500_000, 5 * 10**6} <= set(steps)
    assert len(steps) < 75
    assert {5000, 10_000, 95_000, 100_000} <= set(even(100_000))
    assert steps == tuple(sorted(steps))
    assert logarithmic(1) == (1,)


def test_bad_folders(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no folder"):
        Data(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="has none of the folders"):
        Data(tmp_path)


def test_real_matrices_are_taken_and_the_others_stand_in(tmp_path: Path) -> None:
    (tmp_path / "preferences").mkdir()
    real = PreferenceMatrix.like_features(12, uninformative=0.0)
    real.save(tmp_path / "preferences" / "mslr_navigational.csv")
    data = Data(tmp_path)
    matrix, source = data.preferences(MSLR, "navigational")
    np.testing.assert_array_equal(matrix.preferences, real.preferences)
    assert source.real
    noisy, source = data.preferences(MSLR, "informational")
    assert not source.real
    assert source.text == "stand-in: mslr_navigational.csv with all log-odds times 0.47"
    odds = np.log(real.preferences / (1 - real.preferences))
    np.testing.assert_allclose(np.log(noisy.preferences / (1 - noisy.preferences)), 0.47 * odds, atol=1e-12)
    other, source = data.preferences(ISTELLA, "navigational")
    assert (other.n_arms, source.real) == (220, False)
    with pytest.raises(ValueError, match="user must be one of"):
        data.preferences(MSLR, "tired")


def test_damaged_data_are_refused(tmp_path: Path) -> None:
    (tmp_path / "preferences").mkdir()
    (tmp_path / "click_models").mkdir()
    (tmp_path / "preferences" / "mslr_perfect.csv").write_text("0.5,0.6\n0.6,0.5\n")
    (tmp_path / "click_models" / "a.json").write_text("[")
    data = Data(tmp_path)
    with pytest.raises(ValueError, match=r"mslr_perfect\.csv"):
        data.preferences(MSLR, "perfect")
    with pytest.raises(ValueError, match="not JSON"):
        data.queries("CM", 3)


def test_folders_of_ratings(tmp_path: Path) -> None:
    (tmp_path / "movielens").mkdir()
    data = Data(tmp_path)
    assert data.movielens == tmp_path / "movielens"
    assert data.yahoo is None
    assert Data(None).movielens is None


@pytest.mark.parametrize("folder", FOLDERS)
def test_without_a_condorcet_winner(folder: Path | None) -> None:
    matrix, _ = Data(folder).non_condorcet()
    assert matrix.n_arms == 32
    assert matrix.condorcet_winner is None
    first, second = matrix.copeland_winners
    assert matrix.copeland_scores[first] == 30 / 31
    assert (matrix.preferences[first, second] > 0.5) != (matrix.preferences[second, first] > 0.5)


def test_two_copeland_winners_need_a_circle() -> None:
    assert two_copeland_winners(PreferenceMatrix.from_utilities(np.linspace(0, 1, 40)), 32) is None


@pytest.mark.skipif(not SHARED.exists(), reason="needs ../shared/data")
def test_fewer_queries_than_wanted() -> None:
    problems, source = Data(SHARED).queries("CM", 100)
    assert source.text.startswith(f"{len(problems)} queries of ")
    assert source.text.endswith(", all there are of the 100 wanted")


def test_initial_lists_have_their_wrong_pairs() -> None:
    for name in ("rerank-initial-cm", "rerank-initial-pbm"):
        [experiment] = find([name])
        for panel in experiment.panels(Data(None), experiment.amounts["smoke"]):
            for problem in panel.environment:
                attraction = problem.environment.attraction[problem.initial]
                assert sum(a < b for a, b in itertools.combinations(attraction, 2)) == panel.value


def test_with_inversions_draws_evenly() -> None:
    """Six orders of four items have three inversions; chi-square at 1 in 1,000, fixed seed."""
    draw = np.random.default_rng(0)
    counts: dict[tuple[int, ...], int] = {}
    for _ in range(3000):
        order = tuple(with_inversions(4, 3, draw))
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 6
    assert sum((count - 500) ** 2 / 500 for count in counts.values()) < 20.5
    with pytest.raises(ValueError, match="no order of 4 items has 7 inversions"):
        with_inversions(4, 7, draw)


def test_drift_fills_the_horizon() -> None:
    [experiment] = find(["drift-regret"])
    [panel] = experiment.panels(Data(None), Amount(1000, 1, 3))
    assert [users.n_steps for users in panel.environment] == [1000] * 3


def test_a_small_experiment_can_be_judged() -> None:
    """One real simulation, so that names of panels, players and records are those that results have."""
    from rankloop.experiments.declare import Outcome

    [experiment] = find(["rerank-violations"])
    amount = Amount(horizon=1000, runs=1, problems=3)
    panels = experiment.panels(Data(None), amount)[:1]
    small = Experiment(experiment.name, 3, experiment.section, "", "", experiment.panels, dict.fromkeys(SCALES, amount))
    results = {
        (panel.name, player.label): simulate(
            player.policy,
            panel.environment,
            horizon=amount.horizon,
            checkpoints=panel.checkpoints,
            top=panel.top,
            progress=False,
        )
        for panel in panels
        for player in panel.players
        if player.label == "BubbleRank"
    }
    [claim] = [claim for claim in CLAIMS if claim.name == "bubble-rank-never-violates"]
    finding = claim.test(Outcome(small, "smoke", panels, results))
    assert finding.verdict == "holds"
    assert finding.text == "CM: violations of BubbleRank: 0 a run, claimed none; partly on stand-ins"
