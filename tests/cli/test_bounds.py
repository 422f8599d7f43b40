"""`rankloop bounds` and `rankloop advise`: what they print, and what they refuse."""

from __future__ import annotations

from pathlib import Path

import pytest
from shared_data import ROOT
from typer.testing import CliRunner

from rankloop import theory
from rankloop.cli.app import app

MERGE_DTS = ("bounds", "merge-dts", "--rankers", 136, "--gap", 0.05, "--horizon", "1e9")
BUBBLE_RANK = (
    *("bounds", "bubble-rank", "--items", 10, "--gap", 0.05, "--chi-min", 0.2),
    *("--wrong-pairs", 5, "--horizon", "5e6"),
)
DRIFT = ("bounds", "drift", "--items", 10, "--gap", 0.2, "--breakpoints", 10, "--horizon", "1e7")
HYBRID = ("bounds", "hybrid", "--features", 30, "--positions", 10, "--horizon", "5e4")
RANKERS = ("advise", "rankers", "--traffic", "1e5", "--rankers", 136, "--gap", "5e-2")
RERANK = (
    *("advise", "rerank", "--traffic", "2e4", "--items", 10, "--gap", 0.1),
    *("--attraction", 0.5, "--examination", 0.5),
)
FOLLOW = (
    *("advise", "drift", "--traffic", "1e4", "--items", 10, "--positions", 3, "--gap", 0.3),
    *("--days", 100, "--changes", 9),
)
DIVERSIFY = ("advise", "diversify", "--traffic", "1e4", "--features", 30, "--positions", 10, "--gap", 0.1)


def printed(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def rows(*arguments: object) -> dict[str, str]:
    """What stands in the table, by its label."""
    _, *lines = printed(*arguments).splitlines()
    return {label: value for label, _, value in (line.strip().rpartition("  ") for line in lines)}


def starting(table: dict[str, str], label: str) -> str:
    (value,) = (value for key, value in table.items() if key.startswith(label))
    return value


def test_merge_dts() -> None:
    bound = float(theory.merge_dts_bound(10**9, n_arms=136, gap=0.05, epsilon=1e-9))
    table = rows(*MERGE_DTS)
    assert starting(table, "MergeDTS, with probability of at least 1 - 1e-09, less than") == f"{bound:,.0f}"
    assert starting(table, "MergeDTS, expected, at most") == f"{bound + 1:,.0f}"
    assert starting(table, "duels of two rankers before their batch is merged") == f"{bound / (2 * 4 * 136):,.0f}"
    assert not any("says nothing" in label for label in table)
    assert "says nothing" in printed(*MERGE_DTS, "--horizon", "1e6")


def test_duel_takes_names_and_files(tmp_path: Path) -> None:
    table = rows("bounds", "duel", "cycle", "--horizon", "1e7")
    assert starting(table, "smallest gap") == "0.01"
    assert starting(table, "a Condorcet winner and assumptions 2.1 and 2.2") == "met"
    matrix = [[0.5, 0.75], [0.25, 0.5]]
    (tmp_path / "two.csv").write_text("0.5,0.75\n0.25,0.5\n")
    table = rows("bounds", "duel", tmp_path / "two.csv", "--horizon", "1e6")
    assert starting(table, "any consistent policy") == f"{float(theory.dueling_lower_bound(1e6, matrix)):.4g}"
    assert starting(table, "smallest gap") == "0.25"


def test_no_bound_of_merge_dts_where_an_assumption_fails(tmp_path: Path) -> None:
    (tmp_path / "ties.csv").write_text("0.5,0.7,0.7\n0.3,0.5,0.5\n0.3,0.5,0.5\n")
    table = rows("bounds", "duel", tmp_path / "ties.csv")
    assert starting(table, "any consistent policy")
    assert [value for label, value in table.items() if "MergeDTS" in label] == [
        "no bound: assumption 2.2 is not met: 2 of 3 rankers are uninformative, more than a third: 1; 2"
    ]


def test_bubble_rank() -> None:
    table = rows(*BUBBLE_RANK)
    bound = theory.bubble_rank_bound(5e6, n_items=10, initial_inversions=5, gap=0.05, chi_min=0.2)
    assert starting(table, "expected regret") == f"{float(bound):,.0f}"
    assert starting(table, "pairs in the wrong order in any list") == "10"
    assert starting(table, "which holds for all lists") == "0.99998"


def test_drift() -> None:
    table = rows(*DRIFT, "--attraction", 0.5)
    assert starting(table, "window") == f"{theory.best_window(10**7, 10):,}"
    assert float(starting(table, "gamma")) == pytest.approx(theory.best_discount(10**7, 10), abs=1e-7)
    lower = float(theory.drift_lower_bound(1e7, n_items=10, attraction=0.5, gap=0.2))
    assert starting(table, "any policy on the hard problem") == f"{lower:,.0f}"
    given = {"gaps": [0.2] * 10, "breakpoints": 10, "epsilon": 0.7}
    table = rows(*DRIFT, "--window", "1e3", "--gamma", 0.999, "--epsilon", 0.7)
    ducb, swucb = (
        theory.cascade_ducb_bound(1e7, gamma=0.999, **given),
        theory.cascade_swucb_bound(1e7, window=1000, **given),
    )
    assert starting(table, "CascadeDUCB") == f"{float(ducb):,.0f}"
    assert starting(table, "CascadeSWUCB") == f"{float(swucb):,.0f}"


def test_hybrid() -> None:
    table = rows(*HYBRID, "--largest-attraction", 0.1)
    assert starting(table, "gamma") == "18.6996"
    assert starting(table, "eta") == f"{theory.hybrid_eta(10, 0.1):.4f}"
    assert starting(table, "expected regret against eta") == "638,682"


def test_advice_is_printed() -> None:
    assert printed(*RANKERS) == f"{theory.advise_rankers(1e5, n_rankers=136, gap=0.05)}\n"
    given = {"n_items": 10, "gap": 0.1, "attraction": 0.5, "examination": 0.5}
    assert printed(*RERANK, "--wrong-pairs", 3) == f"{theory.advise_reranking(2e4, **given, wrong_pairs=3)}\n"
    assert printed(*RERANK) == f"{theory.advise_reranking(2e4, **given)}\n"
    advice = theory.advise_drift(1e4, n_items=10, n_positions=3, gap=0.3, days=100, changes=9)
    assert printed(*FOLLOW) == f"{advice}\n"
    assert printed(*DIVERSIFY) == f"{theory.advise_diversity(1e4, n_features=30, n_positions=10, gap=0.1)}\n"


@pytest.mark.parametrize("group", ["bounds", "advise"])
def test_examples_in_the_help_run(group: str) -> None:
    module = __import__(f"rankloop.cli.{group}", fromlist=["app"])
    commands = module.app.registered_commands
    assert len(commands) >= 4
    for command in commands:
        (example,) = [line for line in command.callback.__doc__.splitlines() if "Example: rankloop " in line]
        assert printed(*example.partition("rankloop ")[2].split())


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((*MERGE_DTS, "--rankers", "1"), "--rankers must be a whole number of at least 2, not 1"),
        ((*MERGE_DTS, "--horizon", "soon"), "--horizon must be a whole number such as 1000 or 1e6, not 'soon'"),
        ((*MERGE_DTS, "--gap", "0"), "gap must be more than 0 and at most 0.5, not be 0.0"),
        ((*MERGE_DTS, "--gap", "nan"), "--gap must be a number, not 'nan'"),
        ((*MERGE_DTS, "--gap", "wide"), "--gap"),
        ((*MERGE_DTS, "--alpha", "0.26"), "the bound of MergeDTS needs alpha above 1/2, not alpha = 0.26"),
        ((*MERGE_DTS, "--batch-size", "3"), "needs batches of at least 4 rankers, not --batch-size = 3"),
        (MERGE_DTS[:-2], "Missing option '--horizon'"),
        (("bounds", "duel", "cycles"), "no matrix 'cycles': did you mean cycle?"),
        (("bounds", "duel", "missing.csv"), "no file missing.csv"),
        ((*BUBBLE_RANK, "--wrong-pairs", "46"), "--wrong-pairs = 46 is more than all pairs of 10 items"),
        ((*DRIFT, "--epsilon", "0.5"), "epsilon must lie between 0.5 and 1, not be 0.5"),
        ((*DRIFT, "--breakpoints", "0"), "--breakpoints must be a whole number of at least 1, not 0"),
        ((*DRIFT, "--attraction", "0.1"), "gap must be more than 0 and at most 0.1, not be 0.2"),
        ((*HYBRID, "--largest-attraction", "2"), "--largest-attraction must be more than 0 and at most 1, not be 2.0"),
        ((*RANKERS, "--traffic", "0"), "traffic must be a positive number, not 0.0"),
        ((*RERANK, "--gap", "0.6"), "gap must be more than 0 and at most 0.5, not be 0.6"),
        ((*FOLLOW, "--positions", "10"), "--positions must be less than the 10 items, not 10"),
        ((*DIVERSIFY, "--looks", "11"), "looks must be a number from 1 to 10, not 11.0"),
        (("bounds", "regret"), "no command 'regret': did you mean"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments: tuple[object, ...], complaint: str) -> None:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("rankloop: ")
    assert complaint in result.stderr


def test_a_matrix_without_a_winner_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "circle.csv"
    path.write_text("0.5,0.6,0.4\n0.4,0.5,0.6\n0.6,0.4,0.5\n")
    result = CliRunner().invoke(app, ["bounds", "duel", str(path)])
    assert result.exit_code == 2
    assert result.stderr == (
        "rankloop: circle: the lower bound needs a Condorcet winner, and no arm of the matrix beats every other\n"
    )


def test_the_documentation_shows_what_is_printed() -> None:
    blocks = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8").split("```console\n")[1:]
    commands = [block.partition("```")[0].strip() for block in blocks if block.startswith("$ rankloop ")]
    assert len(commands) == 9
    for block in commands:
        command, _, output = block.partition("\n")
        assert printed(*command.removeprefix("$ rankloop ").split()).strip() == output.strip()
