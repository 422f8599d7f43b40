"""`rankloop clicks`, as a person calls it."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from rankloop.cli.app import app
from rankloop.environments import click_problems


def run(*arguments: object):
    return CliRunner().invoke(app, ["clicks", *(str(argument) for argument in arguments)])


def test_models_are_fitted_and_judged(tmp_path) -> None:
    models = tmp_path / "models.json"
    fitted = run("fit", "synthetic", "--model", "cm,DCM,PBM", "--out", models)
    assert fitted.exit_code == 0, fitted.output
    assert "20,000 sessions, 100 queries" in fitted.stdout
    assert len(json.loads(models.read_text())["queries"]) == 100
    assert len(click_problems(models, "PBM")) == 100
    judged = run("evaluate", models, "synthetic")
    assert judged.exit_code == 0, judged.output
    lines = [line.split() for line in judged.stdout.splitlines()]
    assert lines[1][:4] == ["model", "log-likelihood", "perplexity", "@1"]
    assert [line[0] for line in lines[2:]] == ["CM", "DCM", "PBM"]
    perplexity = {line[0]: float(line[2]) for line in lines[2:]}
    assert 1 < perplexity["DCM"] < perplexity["CM"] < 1.5


def test_written_logs_are_fitted_alike(tmp_path) -> None:
    for name in ("log.tsv", "log.csv"):
        assert run("generate", tmp_path / name, "--sessions", "5e2", "--queries", 9).exit_code == 0
        result = run("fit", tmp_path / name, "--queries", 3, "--exact", "--out", tmp_path / f"{name}.json")
        assert result.exit_code == 0, result.output
    assert (tmp_path / "log.tsv.json").read_text() == (tmp_path / "log.csv.json").read_text()


def test_what_is_skipped_is_said(tmp_path) -> None:
    log = tmp_path / "log.tsv"
    log.write_text("1\t0\tQ\tx\t0\ta\tb\n1\t1\tC\tz\n")
    result = run("fit", log, "--out", tmp_path / "models.json")
    assert result.exit_code == 0
    assert "1 × a click on an item that was not shown (first on line 2)" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["fit", "{}/none.tsv"], "no file"),
        (["fit", "{}/broken.tsv"], "broken.tsv, line 1: an action that is neither Q nor C"),
        (["fit", "synthetic", "--model", "XYZ"], "there is no click model 'XYZ'"),
        (["fit", "synthetic", "--smoothing", "-1"], "smoothing must be"),
        (["fit", "synthetic", "--out", "{}/none/models.json"], "there is no directory"),
        (["fit", "synthetic", "--queries", "0"], "--queries must be a whole number of at least 1, not 0"),
        (["fit", "synthetic", "--queries", "9", "--among", "3"], "--among must be at least --queries, 9, not 3"),
        (["fit", "synthetic", "--among", "3"], "give both"),
        (["fit", "synthetic", "--seed", "soon"], "--seed must be a whole number such as 1000 or 1e6, not 'soon'"),
        (["fit", "synthetic", "--model", "DMC"], "did you mean DCM?"),
        (["generate", "{}/log.tsv", "--sessions", "1.5"], "--sessions must be a whole number of at least 1, not 1.5"),
        (["generate", "{}/log.tsv", "--model", "XYZ"], "--model must be CM, DCM or PBM, not 'XYZ'"),
        (["evaluate", "{}/broken.tsv", "synthetic"], "is not JSON"),
        (["evaluate", "{}/none.json", "synthetic"], "no file"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(tmp_path, arguments, complaint) -> None:
    (tmp_path / "broken.tsv").write_text("nonsense\n")
    result = run(*(argument.replace("{}", str(tmp_path)) for argument in arguments))
    assert result.exit_code == 2
    assert complaint in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("rankloop: ")
