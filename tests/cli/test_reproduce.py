"""The commands `rankloop experiments` and `rankloop reproduce`, on a tiny catalogue."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import processes
import pytest
from command_line import rankloop, refused

import rankloop as rl
from rankloop.cli.reproduce import _with_runs
from rankloop.experiments import Amount, Claim, Experiment, Finding, Outcome, Panel, Player, Source, catalogue, claims
from rankloop.runs import Bar, Status, display

pytest.importorskip("pyarrow")

AMOUNTS = {
    "smoke": Amount(300, 2),
    "laptop": Amount(10**5, 10, others={"*: Fixed": Amount(100, 4)}),
    "paper": Amount(10**8, 50),
}
STAND_IN = Source("twenty made-up rankers", False)


def duels(data: Any, amount: Amount) -> Sequence[Panel]:
    return [Panel("cycle", rl.PreferenceMatrix.cycle(), STAND_IN, [Player("MergeRUCB", rl.MergeRUCB(20))])]


def lists(data: Any, amount: Amount) -> Sequence[Panel]:
    users = rl.CascadeModel([0.9, 0.5, 0.1])
    return [Panel("CM", users, Source("real users", True), [Player("Fixed", rl.FixedRanking([2, 1, 0]))])]


def failing(data: Any, amount: Amount) -> Sequence[Panel]:
    def broken(environment: Any) -> Any:
        raise ValueError("this one is out of order")

    return [Panel("cycle2", rl.PreferenceMatrix.cycle2(), STAND_IN, [Player("Broken", broken)])]


def never_above(outcome: Outcome) -> Finding:
    return Finding("holds", 0.25, 0.01, f"{len(outcome.results)} results")


EXPERIMENTS = (
    Experiment("cycles", 2, "2.5.4, figure 2.3", "Rankers in a circle", "They run.", duels, AMOUNTS),
    Experiment("shown-lists", 3, "3.5, figure 3.1", "Lists", "They stay.", lists, AMOUNTS, log=False),
)
CLAIMS = (
    Claim("circles", "cycles", "2.5.4", "MergeRUCB finds its way in a circle.", never_above),
    Claim("lists", "shown-lists", "3.5", "Lists stay.", never_above),
)

MY_POLICY = """
import rankloop as rl

class MyPolicy(rl.MergeDTS):
    pass

class Elsewhere:
    pass
"""


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "EXPERIMENTS", EXPERIMENTS)
    monkeypatch.setattr(claims, "CLAIMS", CLAIMS)


def test_experiments_are_listed_with_what_they_take() -> None:
    result = rankloop("experiments")
    assert result.exit_code == 0, result.output
    for text in ("cycles", "2.5.4", "Rankers in a circle", "300 × 2", "100k × 10*", "100M × 50", "Chapter 3"):
        assert text in result.stdout


def test_reproduce_ends_in_a_scorecard_and_a_report(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    result = rankloop("reproduce", "--out", out)
    assert result.exit_code == 0, result.output
    assert "Scorecard: 2 hold, 0 fail, 0 undecided" in result.stdout
    assert "MergeRUCB finds its way in a circle." in result.stdout
    assert "0.25 ± 0.01" in result.stdout
    assert str(out / "index.html") in result.stdout
    assert str(out / "report.md") in result.stdout
    assert "stand-in: twenty made-up rankers" in result.stderr
    assert "real data: real users" in result.stderr
    page = (out / "index.html").read_text()
    assert "rankloop reproduce --scale smoke" in page
    assert str(tmp_path) not in page + (out / "report.md").read_text()
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert rankloop("reproduce", "--out", out).exit_code == 0
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before, "nothing is run again"


def test_a_number_of_runs_is_for_everybody() -> None:
    [_, lists] = _with_runs(EXPERIMENTS, "laptop", 3)
    assert lists.amounts == {**AMOUNTS, "laptop": Amount(10**5, 3, others={"*: Fixed": Amount(100, 3)})}


def test_names_choose_and_more_runs_are_added(tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = rankloop("reproduce", "cycles", "--out", out, "--runs", 3, "--seed", 4, "--workers", 1)
    assert result.exit_code == 0, result.output
    page = (out / "index.html").read_text()
    assert "Rankers in a circle" in page
    assert "Lists stay" not in page
    assert "rankloop reproduce cycles --scale smoke --runs 3 --seed 4" in page
    assert "| MergeRUCB |" in (out / "report.md").read_text()


def test_a_policy_of_ones_own_joins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_own_module.py").write_text(MY_POLICY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    result = rankloop("reproduce", "--with", "my_own_module:MyPolicy", "--out", "out")
    assert result.exit_code == 0, result.output
    text = (tmp_path / "out" / "report.md").read_text()
    assert "| MyPolicy |" in text
    assert "has no Nobody" in refused("reproduce", "--with", "my_own_module:Nobody", "--out", "other")
    assert "no module nowhere" in refused("reproduce", "--with", "nowhere:X", "--out", "other")
    twice = ("--with", "my_own_module:MyPolicy") * 2
    assert "two policies are named MyPolicy" in refused("reproduce", *twice, "--out", "other")
    assert not (tmp_path / "other").exists()


def test_what_is_wrong_is_refused_in_one_line(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert refused("reproduce", "cycle", "--out", out) == "no experiment 'cycle': did you mean cycles?"
    assert "did you mean laptop?" in refused("reproduce", "--scale", "lap", "--out", out)
    assert "not there" in refused("reproduce", "--data", tmp_path / "nowhere", "--out", out)
    assert "--runs" in refused("reproduce", "--runs", "0", "--out", out)
    assert "--workers" in refused("reproduce", "--workers", "none", "--out", out)
    file = tmp_path / "file"
    file.write_text("")
    assert "is a file" in refused("reproduce", "--out", file)
    assert "is a file" in refused("reproduce", "--data", file, "--out", out)
    assert not out.exists()


def test_failures_are_named_and_the_rest_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Experiment("broken", 2, "2.5", "Out of order", "", failing, AMOUNTS)
    monkeypatch.setattr(catalogue, "EXPERIMENTS", (broken, *EXPERIMENTS))
    result = rankloop("reproduce", "--out", tmp_path / "out")
    assert result.exit_code == 1, result.output
    assert "could not be done" in result.stdout
    assert "this one is out of order" in result.stdout
    assert "2 hold" in result.stdout
    assert "this one is out of order" in (tmp_path / "out" / "index.html").read_text()


def test_a_test_that_breaks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(outcome: Outcome) -> Finding:
        raise KeyError("nobody")

    monkeypatch.setattr(claims, "CLAIMS", (Claim("odd", "cycles", "2.5", "It breaks.", breaks), *CLAIMS))
    result = rankloop("reproduce", "--out", tmp_path / "out")
    assert result.exit_code == 1
    assert "odd: no test: KeyError: 'nobody'" in result.stdout
    assert "2 hold, 0 fail, 1 undecided" in result.stdout


def test_a_terminal_gets_a_bar_with_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with display() as bar:
        assert isinstance(bar, Bar)
        bar.show(Status("cycles", 1, 2, "running", 3, 10, 75.0, 1, begun=0.5))
        [task] = bar._bars.tasks
        assert (task.completed, task.total) == (3.5, 10)
        assert "1/2" in task.description
        assert "3 of 10 runs, 1 min 15 s left" in task.fields["note"]
        assert "1 failed" in task.fields["note"]
        bar.note("Something [odd].")


SLOW = """
import os
import sys
sys.path[:0] = {path!r}
import test_reproduce as tiny
import rankloop as rl
from rankloop.experiments import Amount, Experiment, Panel, Player, catalogue, claims

def tie(data, amount):
    matrix = rl.PreferenceMatrix([[0.5, 0.5], [0.5, 0.5]])
    return [Panel("tie", matrix, tiny.STAND_IN, [Player("MergeRUCB", rl.MergeRUCB(2))])]

amounts = dict.fromkeys(("smoke", "laptop", "paper"), Amount(10**6, 10**5))
catalogue.EXPERIMENTS = (tiny.EXPERIMENTS[0], Experiment("tie", 2, "2.5", "A tie", "", tie, amounts))
claims.CLAIMS = tiny.CLAIMS
from rankloop.cli import main
from rankloop.runs import store
store.SAVE_EVERY = 0.1
sys.argv = ["rankloop", "reproduce", "--out", {out!r}]
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGINT")
def test_ctrl_c_keeps_what_is_finished_and_reports_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    program = SLOW.format(path=[os.path.dirname(__file__), *sys.path], out=str(out))
    with processes.started([sys.executable, "-c", program]) as process:
        while len(list(out.glob("runs/*.npz"))) < 2:
            assert process.poll() is None, process.communicate()
            time.sleep(0.1)
        stdout, stderr = processes.interrupt(process)
    assert process.returncode == 130, stderr
    assert "Traceback" not in stderr
    assert "1 holds" in stdout
    assert "The same command goes on." in stdout
    page = (out / "index.html").read_text()
    assert "Rankers in a circle" in page
    assert "A tie" in page
