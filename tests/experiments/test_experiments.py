"""Experiments as data: declarations build for stand-ins and for real datasets, and can be simulated."""

from __future__ import annotations

import functools
import itertools
import pickle
import zipfile
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from shared_data import SHARED

from rankloop.click_models.users import USERS
from rankloop.datasets import synthetic_ratings
from rankloop.environments import PreferenceMatrix, hybrid_problems
from rankloop.experiments.catalogue import EXPERIMENTS, find
from rankloop.experiments.chapter3 import with_inversions
from rankloop.experiments.claims import CLAIMS
from rankloop.experiments.data import ISTELLA, LOG_ODDS, MSLR, Data, two_copeland_winners
from rankloop.experiments.declare import SCALES, Amount, Experiment, Scale
from rankloop.experiments.parts import checkpoints_within, even, logarithmic
from rankloop.experiments.ratings import MOVIELENS, YAHOO_MUSIC, RatedDataset, locate
from rankloop.simulation import simulate
from rankloop.simulation.jobs import SimulationJob

FOLDERS = [
    pytest.param(None, id="stand-ins"),
    pytest.param(
        SHARED,
        id="real",
        marks=pytest.mark.skipif(not (SHARED / "preferences").exists(), reason="needs ../shared/data"),
    ),
]

data_of = cache(Data)
"""Reads a folder once: a million ratings take seconds."""

each = pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)


@pytest.mark.parametrize("folder", FOLDERS)
@each
def test_every_player_can_play(experiment: Experiment, folder: Path | None) -> None:
    amount = experiment.amounts["smoke"]
    panels = experiment.panels(data_of(folder), amount)
    assert len({panel.name for panel in panels}) == len(panels)
    for panel in panels:
        assert panel.source.text
        assert (panel.value is not None) == bool(experiment.parameter)
        assert len({player.label for player in panel.players}) == len(panel.players)
        if amount.problems is not None:
            assert len(panel.environment) == amount.problems
        for player in panel.players:
            result = SimulationJob(
                player.policy,
                panel.environment,
                horizon=amount.horizon,
                runs=1,
                checkpoints=panel.checkpoints,
                top=panel.top,
            ).blank
            assert result.steps[-1] == amount.horizon


@each
def test_scales_change_amounts_only(experiment: Experiment) -> None:
    assert set(experiment.amounts) == set(SCALES)
    smoke, laptop, paper = (experiment.amounts[scale] for scale in SCALES)
    for smaller, larger in itertools.pairwise((smoke, laptop, paper)):
        assert smaller.horizon <= larger.horizon
        assert smaller.runs <= larger.runs
        assert (smaller.problems or 0) <= (larger.problems or 0)
    for amount in (smoke, laptop, paper):
        assert all(other.horizon <= amount.horizon for other in amount.others.values())
        assert all((other.problems or 0) <= (amount.problems or 0) for other in amount.others.values())
    few = experiment.panels(data_of(None), smoke)
    many = experiment.panels(data_of(None), paper)
    assert [(p.name, p.value, [player.label for player in p.players]) for p in few] == [
        (p.name, p.value, [player.label for player in p.players]) for p in many
    ]
    if smoke.problems is not None:
        for a, b in zip(few, many, strict=True):
            for one, same in zip(a.environment, b.environment, strict=False):
                assert getattr(one, "initial", None) == getattr(same, "initial", None)
                np.testing.assert_array_equal(_attraction(one), _attraction(same))


@pytest.mark.parametrize("scale", SCALES)
@each
def test_amounts_of_their_own_are_of_somebody(experiment: Experiment, scale: Scale) -> None:
    """Every pattern is the first to fit some player of some experiment with these amounts."""
    alike = [other for other in EXPERIMENTS if other.amounts[scale] is experiment.amounts[scale]]
    others = experiment.amounts[scale].others
    small = experiment.amounts["smoke"]._replace(others=others)
    used = {
        next((pattern for pattern in others if fnmatchcase(f"{panel.name}: {player.label}", pattern)), "")
        for each in (alike if others else [])
        for panel in each.panels(data_of(None), small)
        for player in panel.players
    }
    assert set(others) <= used


@pytest.mark.parametrize("experiment", [e for e in EXPERIMENTS if e.chapter == 2], ids=lambda e: e.name)
def test_duels_can_be_compared_at_round_steps(experiment: Experiment) -> None:
    """Whatever the horizons of two players, both record at the steps 1, 2, 3 and 5 times 10^k of the shorter."""
    amount = experiment.amounts["laptop"]
    for panel in experiment.panels(data_of(None), amount):
        assert not isinstance(panel.checkpoints, int)
        for player in panel.players:
            horizon = amount.of(panel.name, player.label).horizon
            steps = checkpoints_within(horizon, panel.checkpoints)
            round_steps = {digit * 10**k for digit in (1, 2, 3, 5) for k in range(9)}
            assert {*(step for step in round_steps if step <= horizon), horizon // 2, horizon} <= set(steps)
            assert max(steps) == horizon
            if player.label == "REX3":
                assert player.policy(panel.environment).parameters["horizon"] == horizon


def _attraction(problem: object) -> np.ndarray:
    users = getattr(problem, "environment", problem)
    return np.asarray(getattr(users, "attractions", None) if hasattr(users, "attractions") else users.attraction)


@each
def test_units_can_be_sent_to_other_processes(experiment: Experiment) -> None:
    [first, *_] = experiment.panels(data_of(None), Amount(1000, 1, 2))
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
    assert {2, 30_000, 3 * 10**6} <= set(steps)
    assert len(steps) < 90
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
    assert source == ("MSLR, navigational user (mslr_navigational.csv; it has 12 of the 136 rankers)", True)
    noisy, source = data.preferences(MSLR, "informational")
    assert not source.real
    assert source.text == "stand-in: mslr_navigational.csv with all log-odds times 1.37"
    odds = np.log(real.preferences / (1 - real.preferences))
    np.testing.assert_allclose(np.log(noisy.preferences / (1 - noisy.preferences)), 1.37 * odds, atol=1e-12)
    other, source = data.preferences(ISTELLA, "navigational")
    assert (other.n_arms, source.real) == (220, False)
    with pytest.raises(ValueError, match="user must be perfect, navigational or informational, not"):
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


def test_where_ratings_are(tmp_path: Path) -> None:
    assert locate(None, MOVIELENS) == locate(tmp_path, MOVIELENS) == locate(tmp_path, YAHOO_MUSIC) == []
    small, large = tmp_path / "ml-100k.zip", tmp_path / "ml-1m.zip"
    small.write_bytes(b"x" * 9)
    large.write_bytes(b"x" * 10)
    assert locate(tmp_path, MOVIELENS) == [large]
    assert Data(tmp_path).folder == tmp_path, "an archive is enough"
    own = tmp_path / "movielens"
    own.mkdir()
    assert locate(tmp_path, MOVIELENS) == [own]
    small.rename(own / small.name)
    assert locate(tmp_path, MOVIELENS) == [own / small.name]
    songs = tmp_path / "yahoo"
    songs.mkdir()
    (songs / "part1.tgz").touch()
    assert locate(tmp_path, YAHOO_MUSIC) == [songs, songs / "part1.tgz"]
    with pytest.raises(ValueError, match=r"ml-100k\.zip is damaged"):
        Data(tmp_path).users(MOVIELENS, trade_off=0.5, n_topics=5, number=2)
    with pytest.raises(ValueError, match=r"part1\.tgz is damaged"):
        Data(tmp_path).users(YAHOO_MUSIC, trade_off=0.5, n_topics=5, number=2)


def test_ratings_as_published_are_taken(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    pairs = [(user, item, draw.integers(4, 6)) for user in range(1, 31) for item in range(1, 16)]
    with zipfile.ZipFile(tmp_path / "ml-tiny.zip", "w") as archive:
        archive.writestr(
            "ml/movies.dat", "".join(f"{i}::M{i} (1999)::{'Drama' if i % 3 else 'War'}\n" for i in range(1, 16))
        )
        archive.writestr("ml/ratings.dat", "".join(f"{u}::{i}::{stars}::9\n" for u, i, stars in pairs))
    (tmp_path / "yahoo").mkdir()
    (tmp_path / "yahoo" / "genre-hierarchy.txt").write_text("".join(f"{g}\t{g}\t1\tG{g}\n" for g in (1, 2, 3)))
    (tmp_path / "yahoo" / "song-attributes.txt").write_text("".join(f"{i}\t1\t1\t{i % 3 + 1}\n" for i in range(1, 16)))
    (tmp_path / "yahoo" / "train_0.txt").write_text("".join(f"{u}\t{i}\t{stars}\n" for u, i, stars in pairs))
    data = Data(tmp_path)
    users, source = data.users(MOVIELENS, trade_off=0.5, n_topics=20, number=20)
    assert (len(users), users[0].n_items, users[0].topic_names) == (15, 15, ["Drama", "War"])
    assert source.real
    assert source.text == (
        "MovieLens (ml-tiny.zip, 450 ratings); 15 users, all there are of the 20 wanted; "
        "2 topics, all there are of the 20 wanted"
    )
    users, source = data.users(YAHOO_MUSIC, trade_off=0.5, n_topics=3, number=4)
    assert (source.text, source.real) == ("Yahoo! Music (yahoo, 450 ratings); 4 users", True)
    (topics,) = find(["diversity-topics-movielens"])
    assert [(panel.name, panel.value) for panel in topics.panels(data, Amount(100, 1, 2))] == [("d = 2", 2)]


@pytest.mark.parametrize(("dataset", "trade_off", "d"), [(MOVIELENS, 0.2, 5), (YAHOO_MUSIC, 0.9, 20)])
def test_users_are_those_of_the_recipe(dataset: RatedDataset, trade_off: float, d: int) -> None:
    made = synthetic_ratings(density=dataset.density, most_genres=dataset.most_topics, seed=dataset.seed)
    users, source = data_of(None).users(dataset, trade_off=trade_off, n_topics=d, number=3)
    assert not source.real
    for one, same in zip(users, hybrid_problems(made, trade_off=trade_off, n_topics=d, n_users=3), strict=True):
        assert (one.user, one.titles, one.topic_names) == (same.user, same.titles, same.topic_names)
        np.testing.assert_allclose(one.topics, same.topics, atol=1e-12)
        np.testing.assert_allclose(one.relevance, same.relevance, atol=1e-9)
        for what in ("topics", "relevance", "beta", "theta", "attraction", "trade_off"):
            of_one, of_same = getattr(one.environment, what), getattr(same.environment, what)
            np.testing.assert_allclose(of_one, of_same, atol=1e-9)


def test_studies_of_a_catalogue_share_what_they_have_in_common() -> None:
    """At lambda = 0.5, d = 20 and K = 10 the same simulation is asked for, so its results are computed once."""
    for dataset in ("movielens", "yahoo"):
        same = []
        job = functools.partial(SimulationJob, runs=1)
        for name, panel in (("lambda", "lambda = 0.5"), ("topics", "d = 20"), ("positions", "K = 10")):
            (experiment,) = find([f"diversity-{name}-{dataset}"])
            amount = experiment.amounts["smoke"]
            [found] = [each for each in experiment.panels(data_of(None), amount) if each.name == panel]
            same.append([
                (job(player.policy, found.environment, horizon=amount.horizon).blank.setting, found.checkpoints)
                for player in found.players
            ])  # fmt: skip
        assert same[0] == same[1] == same[2]


@pytest.mark.parametrize("experiment", [e for e in EXPERIMENTS if e.chapter == 5], ids=lambda e: e.name)
def test_chapter_5_plays(experiment: Experiment) -> None:
    """In the first and the last panel all policies can be simulated."""
    amount = Amount(horizon=200, runs=1, problems=2)
    panels = experiment.panels(data_of(None), amount)
    for panel in (panels[0], panels[-1]):
        for player in panel.players:
            result = simulate(
                player.policy, panel.environment, horizon=amount.horizon, checkpoints=panel.checkpoints, progress=False
            )
            assert result.regret.shape == (2, 200)
            assert np.isfinite(result.regret).all()
            assert (result.regret[:, -1] > 0).all()


@pytest.mark.parametrize("folder", FOLDERS)
def test_without_a_condorcet_winner(folder: Path | None) -> None:
    matrix, _ = Data(folder).non_condorcet()
    assert matrix.n_arms == 32
    assert matrix.condorcet_winner is None
    first, second = matrix.copeland_winners
    assert matrix.copeland_scores[first] == 30 / 31
    assert (matrix.preferences[first, second] > 0.5) != (matrix.preferences[second, first] > 0.5)


@pytest.mark.skipif(not (SHARED / "preferences").exists(), reason="needs ../shared/data")
def test_the_matrices_of_the_thesis_author_are_known_as_such() -> None:
    """By what they hold: a matrix that somebody measured anew may have the same name."""
    data = Data(SHARED)
    sources = [data.preferences(MSLR, user)[1] for user in USERS]
    assert [(source.text, source.real) for source in sources] == [
        ("MSLR, perfect user (the author's own matrix, mslr_perfect.csv)", True),
        ("MSLR, navigational user (the author's own matrix, mslr_navigational.csv)", True),
        (
            "MSLR, informational user (the author's own matrix, mslr_informational.csv; it has 135 of the 136 rankers)",
            True,
        ),
    ]
    assert data.non_condorcet()[1].text.startswith("our choice of 32 rankers of the author's own matrix, mslr_nav")


@pytest.mark.skipif(not (SHARED / "preferences").exists(), reason="needs ../shared/data")
def test_stand_ins_multiply_log_odds_as_the_author_measured() -> None:
    """Slopes through the origin over all pairs; the informational user's matrix lacks the ranker 109."""
    navigational, perfect, informational = (
        PreferenceMatrix.read(SHARED / "preferences" / f"mslr_{user}.csv").preferences
        for user in ("navigational", "perfect", "informational")
    )
    without = np.delete(np.delete(navigational, 109, axis=0), 109, axis=1)
    for user, matrix, base in (("perfect", perfect, navigational), ("informational", informational, without)):
        pairs = np.triu_indices(len(matrix), 1)
        x, y = (np.log(p[pairs] / (1 - p[pairs])) for p in (base, matrix))
        assert x @ y / (x @ x) == pytest.approx(LOG_ODDS[user], abs=0.01)


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
    assert finding.verdict == "undecided"
    assert finding.text == (
        "CM: violations of BubbleRank per run, after 1,000 steps: 0 ± 0, claimed none; on stand-ins"
    )
    assert finding.waits.startswith("the real data; step 1,000,000 of BubbleRank in CM (about ")
