"""The command line: what it does, what it refuses, and how it goes on."""

from __future__ import annotations

import csv
import os
import sys
import time
from pathlib import Path

import numpy as np
import processes
import pytest
from command_line import rankloop, refused

import rankloop as rl
from rankloop.cli.arguments import click_policies, default_policies, dueling_policies, make_policies
from rankloop.cli.errors import Refused
from rankloop.cli.own_problem import file_name

MATRIX = "0.5,0.9,0.8\n0.1,0.5,0.7\n0.2,0.3,0.5\n"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def table(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((folder / "results.csv").read_text().splitlines()))


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    path = tmp_path / "three.csv"
    path.write_text(MATRIX)
    return path


def test_duel_writes_results_table_and_plot(matrix: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    chosen = "MergeDTS,MergeRUCB,MergeDTS(alpha=1.01,batch_size=4,c=None,epsilon=0.01)"
    result = rankloop("duel", matrix, "--policies", chosen, "--horizon", "1e3", "--runs", "3", "--out", out)
    assert result.exit_code == 0, result.output
    long_name = "MergeDTS-alpha=1.01-batch_size=4-c=None-epsilon=0.01.npz"
    report = {"index.html", "report.md", "pictures/duel-regret.png", "results.parquet"}
    files = {name for name in contents(out) if not name.startswith("runs/")}
    assert files == {"MergeDTS.npz", "MergeRUCB.npz", long_name, "results.csv", "setting.json", *report}
    assert contents(out)["pictures/duel-regret.png"].startswith(b"\x89PNG")
    rows = table(out)
    assert len(rows) == 3
    assert all(int(row["runs"]) == 3 for row in rows)
    assert "three: 3 rankers, 1,000 duels per run" in result.stdout
    assert str(out / "pictures" / "duel-regret.png") in result.stdout
    assert "Best ranker: ranker 0, which beats every other." in result.stdout
    assert "MergeRUCB believes in ranker 0 at the end of 3 of 3 runs." in result.stdout
    saved = rl.Result.load(out / "MergeDTS.npz")
    direct = rl.simulate(rl.MergeDTS(3), rl.PreferenceMatrix.read(matrix), horizon=1000, runs=3)
    assert np.array_equal(saved.regret, direct.regret)
    assert "[1/1] duel: done" in result.stderr


@pytest.mark.parametrize(("name", "n_arms"), [("cycle", 20), ("cycle2", 20), ("features:7", 7), ("features", 136)])
def test_duel_knows_built_in_problems(name: str, n_arms: int, tmp_path: Path) -> None:
    result = rankloop("duel", name, "--policies", "MergeRUCB", "--horizon", 10, "--runs", 1, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert f"{n_arms} rankers" in result.stdout


def test_duel_says_where_the_theorem_on_merging_does_not_hold(matrix: Path, tmp_path: Path) -> None:
    ties = tmp_path / "ties.csv"
    ties.write_text("0.5,0.9,0.8\n0.1,0.5,0.5\n0.2,0.5,0.5\n")
    for problem, policy, said in ((ties, "MergeRUCB", True), (matrix, "MergeRUCB", False), (ties, "RUCB", False)):
        out = tmp_path / f"{problem.stem}-{policy}"
        result = rankloop("duel", problem, "--policies", policy, "--horizon", 10, "--runs", 1, "--out", out)
        assert result.exit_code == 0, result.output
        assert ("no bound of MergeRUCB holds here, since assumption 2.2 is not met" in result.stdout) == said


def test_duel_adds_runs_and_policies_to_what_is_there(matrix: Path, tmp_path: Path) -> None:
    def duel(policies: str, runs: int) -> None:
        result = rankloop(
            "duel", matrix, "--policies", policies, "--horizon", "500", "--runs", runs, "--out", tmp_path / "out"
        )
        assert result.exit_code == 0, result.output

    duel("MergeDTS", 2)
    first = rl.Result.load(tmp_path / "out" / "MergeDTS.npz")
    duel("MergeDTS", 4)
    second = rl.Result.load(tmp_path / "out" / "MergeDTS.npz")
    assert np.array_equal(second.regret[:2], first.regret)
    assert np.array_equal(second.seconds[:2], first.seconds), "finished runs are not run again"
    duel("MergeRUCB", 1)
    rows = table(tmp_path / "out")
    assert {row["policy"]: int(row["runs"]) for row in rows} == {"MergeDTS": 4, "MergeRUCB": 1}


def test_another_setting_is_refused_and_nothing_touched(matrix: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    base = {"--horizon": "500", "--runs": "2", "--seed": "1", "--policies": "MergeDTS", "--out": str(out)}

    def arguments(problem: object = matrix, **changes: str) -> list[object]:
        options = {**base, **{f"--{key}": value for key, value in changes.items()}}
        return ["duel", problem, *(part for option in options.items() for part in option)]

    assert rankloop(*arguments()).exit_code == 0
    before = contents(out)
    assert "horizon was 500 and is now 600" in refused(*arguments(horizon="600"))
    assert "seed was 1 and is now 2" in refused(*arguments(seed="2"))
    assert "problem was three and is now another, cycle" in refused(*arguments("cycle"))
    assert "checkpoints" in refused(*arguments(checkpoints="5"))
    assert "horizon" in refused(*arguments(horizon="600", policies="MergeRUCB"))
    assert contents(out) == before


def test_damaged_runs_are_told_of_and_done_again(matrix: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = ("duel", matrix, "--policies", "MergeDTS", "--horizon", "500", "--runs", "2", "--out", out)
    assert rankloop(*command).exit_code == 0
    before = rl.Result.load(out / "MergeDTS.npz")
    [path] = out.glob("runs/*.npz")
    path.write_bytes(path.read_bytes()[:-20])
    again = rankloop(*command)
    assert again.exit_code == 0
    assert "damaged" in again.stderr
    assert np.array_equal(rl.Result.load(out / "MergeDTS.npz").regret, before.regret)


def test_results_of_earlier_versions_are_refused_and_not_touched(matrix: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "MergeDTS.npz").write_bytes(b"old")  # what an interrupted command of an earlier version left
    before = contents(out)
    command = ("duel", matrix, "--policies", "MergeDTS", "--horizon", "50", "--runs", "1", "--out", out)
    assert "results of an earlier version of rankloop" in refused(*command)
    assert contents(out) == before


def test_another_setting_gets_a_default_folder_of_its_own(
    matrix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for horizon in (50, 60, 50):
        done = rankloop("duel", matrix, "--policies", "MergeRUCB", "--horizon", horizon, "--runs", "1")
        assert done.exit_code == 0, done.output
    folders = sorted(path.name for path in tmp_path.iterdir() if path.is_dir())
    assert folders == ["rankloop-results", "rankloop-results-2"]
    assert rl.Result.load(tmp_path / folders[1] / "MergeRUCB.npz").setting["horizon"] == 60


@pytest.mark.parametrize(
    "header", ["bm25,title match,pagerank\n", ",bm25,title match,pagerank\n", '"bm25","title match","pagerank"\n']
)
def test_rankers_may_have_names(header: str, tmp_path: Path) -> None:
    path = tmp_path / "named.csv"
    rows = MATRIX.splitlines(keepends=True)
    names = ("bm25", "title match", "pagerank")
    path.write_text(header + "".join(f"{name},{row}" for name, row in zip(names, rows, strict=True)))
    result = rankloop("duel", path, "--policies", "MergeRUCB", "--horizon", 500, "--runs", 2, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "Best ranker: bm25, which beats every other." in result.stdout
    matrix = rl.PreferenceMatrix.read(path)
    assert matrix.names == names
    for suffix in ("csv", "npz"):
        matrix.save(tmp_path / f"again.{suffix}")
        assert rl.PreferenceMatrix.read(tmp_path / f"again.{suffix}").names == names


def test_files_of_others_in_the_folder_are_left_alone(matrix: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "matrix.npz").write_bytes(b"mine")
    (out / "notes.txt").write_text("mine")
    result = rankloop("duel", matrix, "--policies", "MergeDTS", "--horizon", "50", "--runs", "1", "--out", out)
    assert result.exit_code == 0, result.output
    assert (out / "matrix.npz").read_bytes() == b"mine"


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "is empty"),
        ("0.5,0.6\n0.4\n", "line 2: 1 numbers"),
        ("0.5,0.6,0.7\n0.4,0.5,0.6\n", "must be square, not of shape (2, 3)"),
        ("0.5,0.6\n0.6,0.5\n", "p[0, 1] must be 1 - p[1, 0]"),
        ("0.5,nan\n0.4,0.5\n", "p[0, 1] = nan"),
        ("0.5,1.5\n-0.5,0.5\n", "p[0, 1] = 1.5"),
        ("0.5\n", "at least 2 arms, not 1"),
        ("a,b\nc,d\n", "'d' is not a number"),
        ("a,b,c,d\n0.5,0.6\n0.4,0.5\n", "there must be 2 names, one for each arm, not 4"),
    ],
)
def test_bad_matrices(content: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(content)
    line = refused("duel", path, "--out", tmp_path / "out")
    assert complaint in line
    assert "bad.csv" in line
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["duel", "missing.csv"], "no file missing.csv"),
        (["duel", "cylce"], "no matrix 'cylce': did you mean cycle?"),
        (["duel", "feature:136"], "did you mean features:136?"),
        (["duel", "zzz"], "give a file, or cycle, cycle2 or features:136"),
        (["duel", "features:1"], "2 to 5000"),
        (["duel", "features:many"], "2 to 5000"),
        (["duel", "."], ". is a folder"),
        (["duel"], "MATRIX"),
        (["duel", "cycle", "--horizon", "0"], "--horizon must be a whole number of at least 1, not 0"),
        (["duel", "cycle", "--horizon", "1.5"], "--horizon must be a whole number of at least 1, not 1.5"),
        (["duel", "cycle", "--horizon", "lots"], "--horizon must be a whole number such as 1000 or 1e6, not 'lots'"),
        (["duel", "cycle", "--horizon", "nan"], "not 'nan'"),
        (["duel", "cycle", "--horizon", "1e40"], "horizon must be less than 2^63"),
        (["duel", "cycle", "--runs", "0"], "--runs must be"),
        (["duel", "cycle", "--workers", "0"], "--workers must be"),
        (["duel", "cycle", "--seed", "-1"], "--seed must be"),
        (["duel", "cycle", "--checkpoints", "0"], "--checkpoints must be"),
        (["duel", "cycle", "--horizn", "5"], "--horizon"),
        (["duel", "cycle", "--policies", "MergeDts"], "no policy 'MergeDts': did you mean MergeDTS?"),
        (["duel", "cycle", "--policies", "merge-rucb"], "did you mean MergeRUCB?"),
        (["duel", "cycle", "--policies", "DuelingPolicy"], "no policy 'DuelingPolicy'"),
        (["duel", "cycle", "--policies", "MergeDTS,"], None),
        (["duel", "cycle", "--policies", ""], "no policies in ''"),
        (["duel", "cycle", "--policies", "MergeDTS("], "cannot read the policies 'MergeDTS('"),
        (["duel", "cycle", "--policies", "MergeDTS(alpah=1)"], "no parameter 'alpah': did you mean alpha?"),
        (["duel", "cycle", "--policies", "MergeDTS(alpha=-1)"], "alpha must be a positive number, not -1"),
        (["duel", "cycle", "--policies", "MergeDTS(alpha=f())"], "alpha must be a plain value"),
        (["duel", "cycle", "--policies", "MergeDTS(0.3)"], "parameters need their names"),
        (["duel", "cycle", "--policies", "MergeDTS(n_arms=3)"], "n_arms follows from the matrix"),
        (["duel", "cycle", "--policies", "MergeDTS(seed=3)"], "give --seed"),
        (["duel", "cycle", "--policies", "MergeDTS(alpha=1,alpha=2)"], "alpha is given twice"),
        (["duel", "cycle", "--policies", "__import__('os')"], "parameters need their names"),
        (["duell", "cycle"], "no command 'duell': did you mean duel?"),
        (["clicks", "fitt"], "no command 'fitt': did you mean fit?"),
        (["zzz"], "no command 'zzz': there are advise, bounds, clicks, demo, diversify, drift, duel"),
        (["demo", "--horizon", "0"], "--horizon must be"),
        (["demo", "--runs", "x"], "--runs must be"),
    ],
)
def test_bad_arguments(arguments: list[str], complaint: str | None, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    if complaint is None:  # a comma too many harms nobody
        assert rankloop(*arguments, "--horizon", "10", "--runs", "1").exit_code == 0
        return
    assert complaint in refused(*arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_nearly_right_file_name_is_suggested(matrix: Path) -> None:
    assert "did you mean three.csv?" in refused("duel", matrix.with_name("tree.csv"))


def test_places_that_cannot_be_written(matrix: Path, tmp_path: Path) -> None:
    for command in (["duel", matrix, "--horizon", "10"], ["demo", "--visits", "10"]):
        assert "is a file" in refused(*command, "--out", matrix)
        assert "is a file, not a folder" in refused(*command, "--out", matrix / "below" / "it")
    if os.getuid() != 0:
        locked = tmp_path / "locked"
        locked.mkdir(mode=0o500)
        assert "not writable" in refused("duel", matrix, "--out", locked / "out")
    assert matrix.read_text() == MATRIX


def test_policies_are_parsed() -> None:
    made = make_policies("MergeDTS, MergeRUCB(batch_size=4) ,MergeDTS(c=None, epsilon=0.5, alpha=1.0),MergeDTS", 10)
    assert [repr(policy) for policy in made] == [
        repr(rl.MergeDTS(10)),
        repr(rl.MergeRUCB(10, batch_size=4)),
        repr(rl.MergeDTS(10, c=None, epsilon=0.5, alpha=1.0)),
    ]
    assert len(make_policies("all", 10)) == len(dueling_policies())
    assert set(default_policies()) <= set(dueling_policies())
    with pytest.raises(Refused):
        make_policies("None", 10)


def test_file_names_are_safe_and_distinct() -> None:
    assert file_name("MergeDTS") == "MergeDTS.npz"
    assert "/" not in file_name("X(path='../../etc')")
    long = [file_name(f"X(name='{'a' * 300}{end}')") for end in "bc"]
    assert long[0] != long[1]
    assert max(map(len, long)) < 120


def test_policies_are_listed_with_their_parameters() -> None:
    result = rankloop("policies")
    assert result.exit_code == 0
    for name in (*dueling_policies(), *click_policies()):
        assert name in result.stdout
    assert "batch_size=16" in result.stdout
    assert "Finds the best of hundreds of rankers" in result.stdout
    assert "DuelingPolicy" not in result.stdout


COMMANDS = ("duel", "rerank", "drift", "diversify", "policies", "experiments", "reproduce", "bounds", "advise", "demo")


def test_help_and_version() -> None:
    assert rankloop("--version").stdout == f"rankloop {rl.__version__}\n"
    for command in ((), *((name,) for name in COMMANDS)):
        result = rankloop(*command, "--help")
        assert result.exit_code == 0
        assert "Usage" in result.stdout
    nothing = rankloop()
    assert "duel" in nothing.stdout
    assert nothing.stderr == ""


def test_the_module_is_the_command_too() -> None:
    done = processes.run([sys.executable, "-m", "rankloop", "duell"], check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "rankloop: no command 'duell': did you mean duel?\n"


def test_the_shell_completes_commands() -> None:
    asked = processes.environment(_RANKLOOP_COMPLETE="complete_bash", COMP_WORDS="rankloop du", COMP_CWORD="1")
    assert processes.run([sys.executable, "-m", "rankloop"], env=asked).stdout.split() == ["duel"]


SAVES_SOON = "from rankloop.cli import main; from rankloop.runs import store; store.SAVE_EVERY = 0.1; main()"
"""The command, which else computes for five seconds before there is anything to look at."""


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGINT")
def test_ctrl_c_keeps_runs_and_the_same_command_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "out"
    tie = tmp_path / "tie.csv"
    tie.write_text("0.5,0.5\n0.5,0.5\n")  # never settles, so that runs take their time
    rankloop("duel", tie, "--policies", "MergeDTS", "--horizon", "10", "--runs", "1", "--out", tmp_path / "warm")
    command = ["duel", str(tie), "--policies", "MergeDTS,MergeRUCB", "--out", str(out), "--workers", "1", "--runs"]
    with processes.started([sys.executable, "-c", SAVES_SOON, *command, "9999"]) as process:
        while not list(out.glob("runs/*.npz")):
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        stdout, stderr = processes.interrupt(process)
    assert process.returncode == 130, stderr
    assert "Traceback" not in stderr
    assert "(interrupted)" in stdout
    assert "The same command goes on." in stdout
    [path] = out.glob("Merge*.npz")
    kept = rl.Result.load(path)
    n_kept = len(kept.finished)
    assert 1 <= n_kept < 9999
    done = processes.run([sys.executable, "-m", "rankloop", *command, str(n_kept + 1)])
    assert "Table:" in done.stdout
    after = rl.Result.load(path)
    assert len(after.finished) == n_kept + 1
    assert np.array_equal(after.seconds[:n_kept], kept.seconds)
    assert not after.interrupted
