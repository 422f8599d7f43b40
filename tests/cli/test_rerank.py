"""`rankloop rerank` and `rankloop drift`: what they do, what they refuse, and how they go on."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from command_line import rankloop, refused

import rankloop as rl
from rankloop.cli.arguments import click_policies, make_click_policies
from rankloop.environments.synthetic_queries import built_in, drifting
from rankloop.policies import Policy

POSITIONS = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.1]


def table(folder: Path) -> dict[str, dict[str, str]]:
    return {row["policy"]: row for row in csv.DictReader((folder / "results.csv").read_text().splitlines())}


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """Two queries whose best item production shows last."""
    path = tmp_path / "models.json"
    queries = []
    for name, best in (("shoes", 0.7), ("hats", 0.5)):
        attraction = [0.2] * 9 + [best]
        queries.append(
            {
                "query": name,
                "CM": {"attraction": attraction},
                "DCM": {"attraction": attraction, "abandonment": POSITIONS},
                "PBM": {"attraction": attraction, "examination": POSITIONS},
            }
        )
    path.write_text(json.dumps(queries))
    return path


def test_rerank_writes_table_and_plots_and_goes_on(models: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = ("rerank", models, "--policies", "BubbleRank,FixedRanking", "--horizon", "2e3", "--out", out)
    result = rankloop(*command, "--runs", 2)
    assert result.exit_code == 0, result.output
    files = {"BubbleRank.npz", "FixedRanking.npz", "index.html", "report.md", "results.csv", "results.parquet"}
    assert {path.name for path in out.iterdir()} == {*files, "pictures", "runs", "setting.json"}
    pictures = {path.name: path.read_bytes() for path in (out / "pictures").iterdir()}
    assert set(pictures) == {"rerank-regret.png", "rerank-violations.png", "rerank-ndcg.png"}
    assert all(picture.startswith(b"\x89PNG") for picture in pictures.values())
    title = "2 queries of models.json, DCM: 10 of 10 items shown, 2,000 lists per run, the top 5 counted"
    assert title in result.stdout
    rows = table(out)
    assert {float(row["violations"]) for row in rows.values()} == {0.0}
    assert {float(row["early_violations"]) for row in rows.values()} == {0.0}
    assert float(rows["FixedRanking"]["ndcg"]) < 0.9
    first = rl.Result.load(out / "BubbleRank.npz")
    assert first.queries == ["shoes", "hats"] * 2
    assert 100 in first.steps
    problems = [rl.DependentClickModel([0.2] * 9 + [best], POSITIONS) for best in (0.7, 0.5)]
    policy = rl.BubbleRank(range(10), horizon=2000)
    direct = rl.simulate(policy, problems, horizon=2000, runs=2, checkpoints=[100, 2000], top=5)
    assert np.array_equal(first.regret[:, -1], direct.regret[:, -1])
    assert rankloop(*command, "--runs", 3).exit_code == 0
    more = rl.Result.load(out / "BubbleRank.npz")
    assert len(more.finished) == 6
    assert np.array_equal(more.seconds[:4], first.seconds), "finished runs are not run again"
    assert "top was 5 and is now 3" in refused(*command, "--top", 3)
    assert "problem was 2 queries and is now another, 2 queries" in refused(*command, "--click-model", "CM")
    assert "problem was 2 queries and is now another, shoes" in refused(*command, "--queries", 1)


def test_rerank_has_built_in_queries(tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = rankloop(
        "rerank", "--policies", "FixedRanking", "--queries", 3, "--horizon", 50, "--runs", 1, "--positions", 4,
        "--click-model", "pbm", "--out", out,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "3 built-in queries, PBM: 4 of 10 items shown, 50 lists per run, the top 4 counted" in result.stdout
    assert table(out)["FixedRanking(n_positions=4)"]["early_violations"] == "", "the horizon is under 100"


@pytest.mark.parametrize("kind", ["CM", "DCM", "PBM"])
def test_built_in_queries_are_good_but_not_perfect(kind: str) -> None:
    problems = built_in(5, kind)
    assert [problem.query for problem in problems] == [f"q{q}" for q in range(5)]
    worse = [problem.environment.regret(problem.initial, top=5) for problem in problems]
    worst = [problem.environment.regret(problem.initial[::-1], top=5) for problem in problems]
    assert 0 < np.mean(worse) < np.mean(worst) / 2
    for users in drifting(problems, 1000, 0):
        assert users.epoch_length.tolist() == [100] * 10
    first, second = drifting(problems[:1] * 2, 1000, 0)
    assert (first.attractions != second.attractions).any(), "each query has its own seed"


def test_drift_draws_epochs_and_tells_their_regret(models: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = ("drift", models, "--policies", "FixedRanking", "--horizon", "995", "--runs", 1, "--out", out)
    result = rankloop(*command)
    assert result.exit_code == 0, result.output
    assert "2 queries of models.json, CM, drifting: 3 of 10 items shown, 995 lists per run" in result.stdout
    assert "in epoch 9" in result.stdout
    [row] = table(out).values()
    assert float(row["first_epoch_regret"]) == pytest.approx(float(row["late_epoch_regret"]))
    users = rl.CascadeModel([0.2] * 9 + [0.7]), rl.CascadeModel([0.2] * 9 + [0.5])
    expected = 100 * np.mean([each.regret([0, 1, 2]) for each in users])
    assert float(row["first_epoch_regret"]) == pytest.approx(expected)
    assert (out / "pictures" / "drift-regret.png").exists()
    assert "problem was 2 queries" in refused("rerank", *command[1:], "--top", 3)


def test_policies_are_told_the_horizon_or_what_replaces_it(monkeypatch: pytest.MonkeyPatch) -> None:
    own = {name: cls for name, cls in Policy.known.items() if cls.__module__.startswith("rankloop.")}
    monkeypatch.setattr(Policy, "known", own)  # other tests make policies of their own
    [problem] = built_in(1, "DCM")
    text = (
        "TopRank,TopRank(delta=0.01),CascadeSWUCB,CascadeSWUCB(window=500),BubbleRank,BubbleRank(horizon=None),TopRank"
    )
    made = [make(problem) for make in make_click_policies(text, problem, 10, 1000)]
    assert [repr(policy) for policy in made] == [
        repr(rl.TopRank(10, 10, horizon=1000)),
        repr(rl.TopRank(10, 10, delta=0.01)),
        repr(rl.CascadeSWUCB(10, 10, horizon=1000)),
        repr(rl.CascadeSWUCB(10, 10, window=500)),
        repr(rl.BubbleRank(problem.initial, horizon=1000, n_positions=10)),
        repr(rl.BubbleRank(problem.initial, n_positions=10)),
    ]
    assert len(make_click_policies("all", problem, 3, 1000)) == len(click_policies())


def test_lists_may_be_shorter_than_ten(tmp_path: Path) -> None:
    """As docs/adding-your-own.md makes them, three items long; a query with fewer is left out."""
    path, out = tmp_path / "my-models.json", tmp_path / "out"
    long = [{"query": name, "PBM": {"attraction": [0.1, 0.2, 0.7], "examination": [1, 0.5, 0.2]}} for name in "ab"]
    short = {"query": "c", "PBM": {"attraction": [0.1, 0.2], "examination": [1, 0.5]}}
    path.write_text(json.dumps([*long, short]))
    command = (path, "--click-model", "pbm", "--policies", "FixedRanking", "--horizon", "1,000", "--runs", 1)
    result = rankloop("rerank", *command, "--out", out)
    assert result.exit_code == 0, result.output
    title = "2 queries of my-models.json, PBM: 3 of 3 items shown, 1,000 lists per run, the top 3 counted"
    assert title in result.stdout
    assert f"{path}: 1 query with fewer than 3 items left out" in result.stderr
    path.write_text(json.dumps(long))
    complaint = refused("rerank", *command, "--positions", 4, "--out", out)
    assert complaint == ("--positions must be at most 3, the length of the longest list, not 4")
    complaint = refused("drift", *command, "--out", out)
    assert complaint == f"{path}: queries must have at least 6 items here, and the longest has 3"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["rerank", "missing.json"], "no file missing.json"),
        (["rerank", "."], ". is a folder"),
        (["rerank", "--click-model", "UBM"], "--click-model must be CM, DCM or PBM, not 'UBM'"),
        (["rerank", "--queries", "0"], "--queries must be"),
        (["rerank", "--positions", "11"], "--positions must be at most 10"),
        (["rerank", "--positions", "4", "--top", "5"], "--top must be at most the number of --positions, 4, not 5"),
        (["rerank", "--top", "0"], "--top must be"),
        (["rerank", "--horizon", "0"], "--horizon must be"),
        (["rerank", "--horizon", "1e40"], "horizon must be less than 2^63"),
        (["rerank", "--runs", "x"], "--runs must be"),
        (["rerank", "--policies", "BubbleRnk"], "did you mean BubbleRank?"),
        (["rerank", "--policies", "MergeDTS"], "no policy 'MergeDTS'"),
        (["rerank", "--policies", "BubbleRank(delta=2)"], "delta"),
        (["rerank", "--policies", "BubbleRank(initial=[0])"], "initial is production's order"),
        (["rerank", "--policies", "TopRank(n_items=3)"], "n_items follows from the queries"),
        (["rerank", "--policies", "TopRank(n_positions=3)"], "give --positions"),
        (["drift", "--horizon", "9"], "--horizon must be a whole number of at least 10, not 9"),
        (["drift", "--policies", "CascadeSWUCB(window=0)"], "window must be"),
        (["drift", "--policies", "CascadeSWUCB(windw=5)"], "did you mean window?"),
        (["drift", "--policies", "CascadeSWUCB(window=5,horizon=9)"], "not both"),
    ],
)
def test_bad_arguments(arguments: list[str], complaint: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert complaint in refused(*arguments)
    assert list(tmp_path.iterdir()) == []


def test_bad_files_of_models(models: Path, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "out")
    complaint = refused("rerank", models, "--queries", 3, *out)
    assert complaint == f"--queries must be at most 2, not 3: {models} has 2 queries of 10 items"
    (tmp_path / "bad.json").write_text("[{]")
    complaint = refused("rerank", tmp_path / "bad.json", *out)
    assert complaint.startswith(f"{tmp_path / 'bad.json'} is not JSON")
    assert complaint.count("bad.json") == 1
    without = [{"query": "x", "CM": {"attraction": [0.1] * 10}}]
    (tmp_path / "cm.json").write_text(json.dumps(without))
    assert "query 'x' has the fitted CM, but no DCM" in refused("rerank", tmp_path / "cm.json", *out)
    assert not (tmp_path / "out").exists()
