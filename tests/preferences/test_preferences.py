"""Preference matrices: the estimators, their errors, resuming, and the command."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from command_line import rankloop
from references import interleaving as slow
from shared_data import SHARED

import rankloop as rl
from rankloop.click_models.users import User
from rankloop.datasets import Letor, Rankers, read_letor, synthetic_letor
from rankloop.interleaving import Balanced, Optimised, Probabilistic, TeamDraft
from rankloop.kernels import stream
from rankloop.preferences import MeasuredPreferences, measure, measure_preferences

NAVIGATIONAL = User.named("navigational")
INTERLEAVERS = [Probabilistic(), TeamDraft(), Balanced(), Optimised()]


def small_rankers(n_queries: int = 3, n_documents: int = 12, n_rankers: int = 3) -> Rankers:
    data = synthetic_letor(n_queries, documents=(n_documents, n_documents), seed=4)
    return Rankers.from_features(data, list(range(1, 10 * n_rankers, 10)))


def good_and_bad_rankers() -> Rankers:
    """Two rankers so different that who wins depends on how far down people read."""
    data = synthetic_letor(3, documents=(12, 12), seed=4)
    noise = np.random.default_rng(0).normal(0, 0.7, (data.n_documents, 2))
    return Rankers(data, noise + np.outer(data.labels, [1.0, -1.0]), ["good", "bad"])


def gap_in_errors(one: MeasuredPreferences, other: MeasuredPreferences) -> float:
    upper = np.triu_indices(one.n_arms, 1)
    errors = np.hypot(one.errors, other.errors)[upper]
    return float(np.abs((one.preferences - other.preferences)[upper] / errors).max())


CLICKS_ALL = User([0.9] * 5, [0, 1, 1, 1, 1], name="clicks all until satisfied")


@pytest.mark.parametrize(
    "user", [User.named("perfect"), NAVIGATIONAL, User.named("informational"), CLICKS_ALL], ids=repr
)
def test_entries_are_those_of_plain_simulation(user: User) -> None:
    """10,000 impressions in plain Python against the compiled loop: 5 standard errors (false alarms: 1 in 430,000)."""
    rankers = good_and_bad_rankers()
    measured = measure_preferences(rankers, user, comparisons=100_000)
    data, order = rankers.data, rankers.rankings(0).order
    draw = random.Random(1)
    scores = []
    for t in range(9999):
        begin, end = data.offsets[t % 3], data.offsets[t % 3 + 1]
        lists = order[:, begin:end].tolist()
        labels = data.labels[begin:end].tolist()
        scores.append(slow.one_comparison(*lists, labels, user.click.tolist(), user.stop.tolist(), 10, draw))
    error = np.hypot(np.std(scores) / np.sqrt(len(scores)), measured.errors[0, 1])
    assert abs(np.mean(scores) - measured.preferences[0, 1]) < 5 * error


@pytest.mark.parametrize("name", ["perfect", "navigational", "informational"])
def test_marginal_and_sampled_estimators_agree(name: str) -> None:
    """All 45 pairs within 5 standard errors of each other (false alarms: 1 in 39,000), the marginal errors smaller."""
    rankers = small_rankers(10, 30, 10)
    marginal, sampled = (
        measure_preferences(rankers, User.named(name), comparisons=10_000, estimator=estimator)
        for estimator in ("marginal", "sampled")
    )
    assert gap_in_errors(marginal, sampled) < 5
    assert marginal.errors.sum() < sampled.errors.sum()


@pytest.mark.parametrize("interleaver", INTERLEAVERS, ids=lambda i: i.name)
def test_the_loop_scores_lists_as_live_interleaving_does(interleaver) -> None:
    """The mean score of live lists and of the compiled loop: 5 standard errors (false alarms: 1 in 1.7 million)."""
    rankers = small_rankers(1, n_rankers=2)
    data, order = rankers.data, rankers.rankings(0).order
    measured = measure_preferences(rankers, NAVIGATIONAL, interleaver, comparisons=50_000)
    rng = stream(3)
    scores = []
    for seed in range(2000):
        page = interleaver.interleave(order.tolist(), 10, seed)
        clicks = NAVIGATIONAL.clicks(data.labels[list(page.items)].astype(int), rng)
        scores.append(page.preference(clicks.tolist()).score)
    error = np.hypot(np.std(scores) / np.sqrt(len(scores)), measured.errors[0, 1])
    assert abs(np.mean(scores) - measured.preferences[0, 1]) < 5 * error


@pytest.mark.parametrize("interleaver", INTERLEAVERS, ids=lambda i: i.name)
def test_two_rankers_with_the_same_lists_are_equal(interleaver) -> None:
    """Within 5 standard errors of 1/2 (false alarms: 1 in 1.7 million); exactly where credit is exact."""
    data = synthetic_letor(5, documents=(20, 20))
    column = np.random.default_rng(0).random(100)
    rankers = Rankers(data, np.stack([column, column], axis=1), ["one", "other"])
    measured = measure_preferences(rankers, NAVIGATIONAL, interleaver, comparisons=20_000)
    assert abs(measured.preferences[0, 1] - 0.5) <= 5 * measured.errors[0, 1] + 1e-9
    if interleaver.name != "team-draft":
        assert measured.preferences[0, 1] == pytest.approx(0.5, abs=1e-12)


def test_errors_are_what_repetition_shows() -> None:
    """The spread over 200 seeds is within a fifth of the error stated: four of its standard errors (1 in 15,000)."""
    rankers = small_rankers(6, 15, 2)
    means, _, errors = np.array([measure.measure_pair(_problem(rankers, seed, 3000), 0, 1) for seed in range(200)]).T
    assert 0.8 < means.std(ddof=1) / errors.mean() < 1.2


def _problem(rankers: Rankers, seed: int, comparisons: int, error: float | None = None) -> measure.Measurement:
    data = rankers.data
    return measure.Measurement(
        rankers.rankings(0), data.labels.astype(np.int64), data.offsets, NAVIGATIONAL, Probabilistic(), 10, "marginal",
        seed, comparisons, error,
    )  # fmt: skip


def test_a_wanted_error_is_reached_and_the_limit_kept() -> None:
    rankers = small_rankers(7, 15, 4)
    measured = measure_preferences(rankers, NAVIGATIONAL, error=0.002)
    upper = np.triu_indices(4, 1)
    assert (measured.errors[upper] <= 0.002).all()
    assert (measured.counts[upper] % 7 == 0).all()
    assert measured.counts[upper].min() < measured.counts[upper].max()
    limited = measure_preferences(rankers, NAVIGATIONAL, error=0.0001, comparisons=5000)
    assert (limited.counts[upper] == 4998).all()


@pytest.mark.parametrize("comparisons", [2, 5, 17, 1000])
def test_every_query_is_dealt_before_any_comes_again(comparisons: int) -> None:
    rankers = small_rankers(7, 15, 2)
    measured = measure_preferences(rankers, NAVIGATIONAL, comparisons=comparisons)
    assert measured.counts[0, 1] == comparisons
    assert 0 < measured.errors[0, 1] < 0.5


def test_queries_of_one_document_or_none_relevant_are_ties_or_noise() -> None:
    data = Letor.from_documents([[1, 2], [5, 1], [2, 2]], labels=[4, 0, 0], qids=[1, 2, 2])
    for interleaver in INTERLEAVERS:
        measured = measure_preferences(Rankers.from_features(data), User.named("perfect"), interleaver, comparisons=100)
        assert measured.preferences[0, 1] == pytest.approx(0.5, abs=0.4)
    one = data.select([0])
    for interleaver in (Probabilistic(), Balanced(), Optimised()):
        measured = measure_preferences(Rankers.from_features(one), User.named("perfect"), interleaver, comparisons=100)
        assert measured.preferences[0, 1] == 0.5


def test_neither_workers_nor_an_interruption_change_a_byte(tmp_path: Path, monkeypatch) -> None:
    rankers = small_rankers(4, 15, 6)
    whole = measure_preferences(rankers, NAVIGATIONAL, comparisons=500, workers=1)
    whole.save(tmp_path / "whole.npz")
    measure_preferences(rankers, NAVIGATIONAL, comparisons=500, workers=3).save(tmp_path / "threads.npz")
    kept = tmp_path / "kept"
    done = []

    def interrupted(problem, left, right, advance):
        done.append((left, right))
        if len(done) > 8:
            raise KeyboardInterrupt
        return measure_pair(problem, left, right, advance)

    measure_pair = measure.measure_pair
    with monkeypatch.context() as patch:
        patch.setattr(measure, "measure_pair", interrupted)
        with pytest.raises(KeyboardInterrupt):
            measure_preferences(rankers, NAVIGATIONAL, comparisons=500, workers=1, keep=kept)
    calls = []
    monkeypatch.setattr(measure, "measure_pair", lambda *args: calls.append(args) or measure_pair(*args))
    measure_preferences(rankers, NAVIGATIONAL, comparisons=500, workers=2, keep=kept).save(tmp_path / "resumed.npz")
    assert len(calls) <= 15 - 8
    assert (tmp_path / "resumed.npz").read_bytes() == (tmp_path / "whole.npz").read_bytes()
    assert (tmp_path / "threads.npz").read_bytes() == (tmp_path / "whole.npz").read_bytes()
    other = measure_preferences(rankers, NAVIGATIONAL, comparisons=400, keep=kept)
    assert other.setting["comparisons"] == 400, "another measurement has another file in the same folder"
    assert len(list(kept.glob("*.npz"))) == 2
    for file in kept.glob("*.npz"):
        file.write_bytes(b"damaged")
    with pytest.warns(UserWarning, match="damaged"):
        again = measure_preferences(rankers, NAVIGATIONAL, comparisons=500, keep=kept)
    assert np.array_equal(again.preferences, whole.preferences)
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="cannot keep results in"):
        measure_preferences(rankers, NAVIGATIONAL, comparisons=500, keep=tmp_path / "file")


def test_a_measured_matrix_is_saved_with_its_errors_and_plays_duels(tmp_path: Path) -> None:
    measured = measure_preferences(small_rankers(4, 15, 4), NAVIGATIONAL, comparisons=500)
    measured.save(tmp_path / "matrix.npz")
    again = MeasuredPreferences.read(tmp_path / "matrix.npz")
    for part in ("preferences", "counts", "errors"):
        assert np.array_equal(getattr(again, part), getattr(measured, part)), part
    assert (again.names, again.setting) == (measured.names, measured.setting)
    plain = rl.PreferenceMatrix.read(tmp_path / "matrix.npz")
    assert np.array_equal(plain.preferences, measured.preferences)
    rl.simulate(rl.MergeDTS(4), plain, horizon=100)
    plain.save(tmp_path / "plain.npz")
    with pytest.raises(ValueError, match="not how it was measured"):
        MeasuredPreferences.read(tmp_path / "plain.npz")


def test_bad_settings_are_refused() -> None:
    rankers = small_rankers()
    for options, message in (
        ({"comparisons": 1}, "comparisons must be"),
        ({"comparisons": 10.5}, "comparisons must be"),
        ({"error": 0.0}, "error must lie"),
        ({"error": float("nan")}, "error must lie"),
        ({"length": 0}, "length must be"),
        ({"estimator": "best"}, "estimator must be"),
        ({"ties": "best"}, "ties must be"),
        ({"ties": "redrawn", "interleaver": TeamDraft()}, "ties can be redrawn only .* not with team-draft"),
        ({"ties": "redrawn", "estimator": "sampled"}, "ties can be redrawn only .* and sampled"),
        ({"seed": -1}, "seed must be"),
        ({"workers": 0}, "workers must be"),
    ):
        with pytest.raises(ValueError, match=message):
            measure_preferences(rankers, NAVIGATIONAL, **options)
    with pytest.raises(ValueError, match="grades up to 4"):
        measure_preferences(Rankers.from_features(synthetic_letor(30)), User.named("perfect", 2))
    with pytest.raises(ValueError, match="at least 2 rankers"):
        measure_preferences(Rankers.from_features(rankers.data, [1]), NAVIGATIONAL)


def tied_rankers() -> Rankers:
    """A ranker with no ties, and one that ties most documents."""
    data = synthetic_letor(3, documents=(12, 12), seed=4)
    draw = np.random.default_rng(2)
    return Rankers(data, np.stack([draw.random(36), draw.integers(0, 6, 36) // 5], axis=1), ["few", "many"])


@pytest.mark.parametrize("estimator", ["marginal", "binary"])
def test_redrawn_ties_are_those_of_plain_simulation(estimator: str) -> None:
    """3,000 impressions in plain Python against the compiled loop: 5 standard errors (false alarms: 1 in 870,000)."""
    rankers, user = tied_rankers(), User.named("informational")
    data = rankers.data
    measured = measure_preferences(rankers, user, comparisons=99_999, length=4, estimator=estimator, ties="redrawn")
    draw = random.Random(1)
    scores = []
    for t in range(3000):
        begin, end = data.offsets[t % 3], data.offsets[t % 3 + 1]
        win, tie, loss = slow.one_redrawn_comparison(
            rankers.scores[begin:end].T.tolist(), data.labels[begin:end].tolist(), user.click.tolist(),
            user.stop.tolist(), 4, draw,
        )  # fmt: skip
        favoured = 0.5 if abs(win - loss) < 1e-9 else float(win > loss)
        scores.append(win + tie / 2 if estimator == "marginal" else favoured)
    error = np.hypot(np.std(scores) / np.sqrt(len(scores)), measured.errors[0, 1])
    assert abs(np.mean(scores) - measured.preferences[0, 1]) < 5 * error


def test_redrawn_ties_are_biased_against_the_ranker_that_ties() -> None:
    """Clicks that do not look at the items: 5 errors around 1/2 with random ties (1 in 1.7 million), else far off."""
    data = synthetic_letor(5, documents=(20, 20))
    scores = np.stack([np.random.default_rng(0).random(100), np.zeros(100)], axis=1)
    rankers, blind = Rankers(data, scores, ["no ties", "all tied"]), User([0.5] * 5, [0.5] * 5)
    fair = measure_preferences(rankers, blind, comparisons=20_000)
    assert abs(fair.preferences[0, 1] - 0.5) < 5 * fair.errors[0, 1]
    for estimator in ("marginal", "binary"):
        biased = measure_preferences(rankers, blind, comparisons=20_000, ties="redrawn", estimator=estimator)
        assert biased.preferences[0, 1] > 0.6


def test_without_ties_redrawing_changes_no_expectation() -> None:
    """Another stream of random numbers, the same entries within 5 standard errors (false alarms: 1 in 1.7 million)."""
    rankers = good_and_bad_rankers()
    plain, redrawn = (
        measure_preferences(rankers, NAVIGATIONAL, comparisons=3000, ties=t) for t in ("random", "redrawn")
    )
    assert gap_in_errors(plain, redrawn) < 5
    assert (plain.setting["ties"], redrawn.setting["ties"]) == ("random", "redrawn")


def test_binary_scores_are_whole_or_half() -> None:
    rankers = small_rankers(1, n_rankers=2)
    for interleaver in INTERLEAVERS:
        measured = measure_preferences(rankers, NAVIGATIONAL, interleaver, comparisons=11, estimator="binary")
        assert (22 * measured.preferences[0, 1]) % 1 == pytest.approx(0, abs=1e-9)
    marginal = measure_preferences(rankers, NAVIGATIONAL, comparisons=11)
    assert (22 * marginal.preferences[0, 1]) % 1 != pytest.approx(0, abs=1e-9)


@pytest.mark.skipif(not SHARED.exists(), reason="the shared data is not here")
@pytest.mark.parametrize("name", ["perfect", "navigational", "informational"])
def test_the_thesis_matrices_are_those_of_redrawn_ties_and_binary_outcomes(name: str) -> None:
    """Every sixth feature on other queries: correlated to 0.95 and more, and as strong within a sixth."""
    data = read_letor(SHARED / "letor/mslr_53_queries.txt", cache=False)
    chosen = np.arange(1, 137, 6)
    measured = measure_preferences(
        Rankers.from_features(data, chosen.tolist()),
        User.named(name),
        comparisons=1060,
        ties="redrawn",
        estimator="binary",
    )
    matrix = rl.PreferenceMatrix.read(SHARED / f"preferences/mslr_{name}.csv")
    rows = chosen - 1
    if matrix.n_arms == 135:
        rows = rows - (rows > 109)  # the informational matrix leaves ranker 109 out
    upper = np.triu_indices(len(chosen), 1)
    ours, theirs = measured.preferences[upper], matrix.relabelled(rows).preferences[upper]
    assert np.corrcoef(ours, theirs)[0, 1] > 0.94
    assert 6 / 7 < np.abs(ours - 0.5).mean() / np.abs(theirs - 0.5).mean() < 7 / 6


# The command


def run(*arguments: object):
    return rankloop("preferences", *arguments)


def test_the_command_makes_a_matrix_of_synthetic_data(tmp_path: Path) -> None:
    out = tmp_path / "matrix.npz"
    done = run("synthetic", "--queries", 5, "--features", "1-3,110", "--comparisons", "1e3", "--out", out)
    assert done.exit_code == 0, done.output
    assert "6 pairs, 1,000 comparisons each" in done.stdout
    matrix = MeasuredPreferences.read(out)
    assert matrix.names == ("feature 1", "feature 2", "feature 3", "feature 110")
    assert matrix.setting["user"] == "navigational"
    assert [path.name for path in tmp_path.iterdir()] == ["matrix.npz"]


def test_the_command_goes_on_after_an_interruption(tmp_path: Path, monkeypatch) -> None:
    arguments = ["synthetic", "--queries", 5, "--features", "1-4", "--comparisons", 100, "--workers", 1, "--out"]
    assert run(*arguments, tmp_path / "whole.npz").exit_code == 0
    measure_pair = measure.measure_pair
    done: list[tuple[int, int]] = []

    def interrupted(problem, left, right, advance):
        done.append((left, right))
        if len(done) == 4:
            raise KeyboardInterrupt
        return measure_pair(problem, left, right, advance)

    monkeypatch.setattr(measure, "measure_pair", interrupted)
    stopped = run(*arguments, tmp_path / "cut.npz")
    assert stopped.exit_code == 130
    assert "Finished pairs are kept" in stopped.stderr
    assert (tmp_path / "cut.npz.partial").exists()
    assert run(*arguments, tmp_path / "cut.npz").exit_code == 0
    assert not set(done[:3]) & set(done[4:]), "finished pairs are not measured again"
    assert (tmp_path / "cut.npz").read_bytes() == (tmp_path / "whole.npz").read_bytes()
    assert not (tmp_path / "cut.npz.partial").exists()


def test_the_command_reads_files_scores_and_runs(tmp_path: Path) -> None:
    data = tmp_path / "data.txt"
    data.write_text("1 qid:1 1:1 2:0\n0 qid:1 1:0 2:1\n\n0 qid:2 1:3 # x\n")
    (tmp_path / "s.txt").write_text("1\n2\n3\n")
    (tmp_path / "r.run").write_text("1 Q0 1 1 2.5 t\n8 Q0 1 1 2.5 t\n")
    out = tmp_path / "m.npz"
    done = run(
        data, "--features", "1", "--scores", tmp_path / "s.txt", "--run", tmp_path / "r.run", "--user", "perfect",
        "--interleaver", "team-draft", "--comparisons", 50, "--out", out,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "blank lines and comments skipped: 1" in done.stderr
    assert "lines of unknown queries skipped: 1" in done.stderr
    assert MeasuredPreferences.read(out).names == ("feature 1", "s", "r")
    assert MeasuredPreferences.read(out).setting["click"] == [0, 1], "grades 0 and 1 have users of their own"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.txt"], "no file none.txt"),
        (["synthetic", "--user", "lazy"], "user must be"),
        (["synthetic", "--interleaver", "fast"], "--interleaver must be"),
        (["synthetic", "--interleaver", "team-draft-multileaving"], "--interleaver must be"),
        (["synthetic", "--comparisons", "many"], "--comparisons must be"),
        (["synthetic", "--comparisons", "1.5"], "--comparisons must be"),
        (["synthetic", "--features", "1-x"], "--features must be"),
        (["synthetic", "--features", "500"], "there is no 500"),
        (["synthetic", "--error", "2"], "error must lie"),
        (["synthetic", "--queries", "0"], "--queries must be"),
        (["synthetic", "--out", "matrix.txt"], "must end in .npz"),
        (["synthetic", "--out", "nowhere/matrix.npz"], "there is no folder nowhere"),
        (["synthetic", "--ties", "x", "--features", "1,2"], "ties must be"),
        (["synthetic", "--ties", "redrawn", "--interleaver", "balanced", "--features", "1,2"], "can be redrawn only"),
        (["synthetic", "--estimator", "x", "--features", "1,2"], "estimator must be"),
    ],
)
def test_the_command_refuses_in_one_line(tmp_path: Path, monkeypatch, arguments, message) -> None:
    monkeypatch.chdir(tmp_path)
    refused = run(*arguments)
    assert refused.exit_code == 2
    assert message in refused.stderr
    assert refused.stderr.strip().splitlines()[-1].startswith("rankloop: ")
    assert list(tmp_path.iterdir()) == []
