"""`rankloop diversify`: what it does, what it refuses, and how it goes on."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from command_line import rankloop
from shared_data import SHARED

import rankloop as rl
from rankloop.cli.arguments import feature_policies
from rankloop.datasets import read_ratings

MOVIELENS = SHARED / "movielens"


def refused(*arguments: object) -> str:
    """The last line of a refusal: the progress of reading stands before it."""
    result = rankloop("diversify", *arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    return result.stderr.strip().splitlines()[-1].removeprefix("rankloop: ")


@pytest.fixture(scope="module")
def ratings(tmp_path_factory) -> Path:
    """A small MovieLens: 60 users, 40 films, 4 genres."""
    folder = tmp_path_factory.mktemp("movielens")
    draw = np.random.default_rng(0)
    genres = ["Comedy", "Crime", "Drama", "War"]
    films = [f"{a}::Film {a} (1999)::{'|'.join(genres[: 1 + a % 4])}" for a in range(1, 41)]
    films.append("99::Nobody's (1999)::Western")  # a genre of no film that anybody rated
    (folder / "movies.dat").write_text("\n".join(films) + "\n")
    lines = []
    for user in range(1, 61):
        for film in draw.choice(40, 20, replace=False) + 1:
            lines.append(f"{user}::{film}::{5 if (film + user) % 4 == 0 else draw.integers(1, 6)}")
    (folder / "ratings.dat").write_text("\n".join(lines) + "\n")
    return folder


SMALL = ("--users", 2, "--horizon", 200, "--positions", 4, "--topics", 4)


def test_diversify_compares_explains_and_goes_on(ratings: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = ("diversify", ratings, *SMALL, "--out", out, "--policies", "CascadeHybrid,CascadeLinUCB(gamma=0.5)")
    result = rankloop(*command)
    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader((out / "results.csv").read_text().splitlines()))
    assert {row["policy"] for row in rows} == {"CascadeHybrid", "CascadeLinUCB(gamma=0.5)"}
    assert all(row["runs"] == "2" and 0 < float(row["clicks_a_list"]) <= 1 for row in rows)
    text = (out / "lists.txt").read_text()
    assert text.count("Film ") == 8
    assert "Comedy" in text
    assert text.strip() in result.stdout
    for picture in ("pictures/diversify-regret.png", "coverage.png"):
        assert (out / picture).read_bytes().startswith(b"\x89PNG")
    again = rankloop(*command, "--runs", 2)
    assert again.exit_code == 0, again.output
    rows = list(csv.DictReader((out / "results.csv").read_text().splitlines()))
    assert all(row["runs"] == "4" for row in rows)


def test_features_with_and_without_singular_values(ratings: Path, tmp_path: Path) -> None:
    """Each form gives what `hybrid_problems` gives for it, and one folder does not take both."""
    out = {}
    for option, scaled in (("--scaled", True), ("--unscaled", False)):
        out[scaled] = tmp_path / option
        command = ("diversify", ratings, *SMALL, "--policies", "CascadeLinUCB", option, "--out", out[scaled])
        result = rankloop(*command)
        assert result.exit_code == 0, result.output
        assert ("features without singular values" in result.stdout) == (not scaled)
        problems = rl.hybrid_problems(read_ratings(ratings), trade_off=0.5, n_topics=4, n_users=2, scaled=scaled)
        direct = rl.simulate(lambda user: rl.CascadeLinUCB(user.relevance, 4), problems, horizon=200, progress=False)
        saved = rl.Result.load(out[scaled] / "CascadeLinUCB.npz")
        assert saved.regret[:, -1] == pytest.approx(direct.regret[:, -1])
    message = refused(ratings, *SMALL, "--policies", "CascadeLinUCB", "--unscaled", "--out", out[True])
    assert "problem" in message


def test_all_feature_policies_can_be_compared_on_the_made_up_catalogue(tmp_path: Path) -> None:
    result = rankloop("diversify", "--policies", "all", "--users", 1, "--horizon", 20, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    for name in feature_policies():
        assert name in result.stdout
    assert "FeaturePolicy" not in feature_policies()


@pytest.mark.skipif(not MOVIELENS.exists(), reason="needs ../shared/data")
def test_twenty_topics_of_eighteen_are_all(tmp_path: Path) -> None:
    result = rankloop(
        "diversify", MOVIELENS, "--users", 1, "--horizon", 20, "--policies", "CascadeLinUCB", "--out", tmp_path / "out"
    )
    assert result.exit_code == 0, result.output
    assert "has 18 topics: all are taken, not 20" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--lambda", "1.5"), "--lambda must be a number from 0 to 1, not '1.5'"),
        (("--lambda", "x"), "--lambda must be a number from 0 to 1, not 'x'"),
        (("--positions", 41, "--horizon", 10), "n_positions = 41 is more than the 40 items"),
        (("--users", 0), "--users must be"),
        (("--topics", 0), "--topics must be"),
        (("--policies", "CascadeHybird"), "did you mean CascadeHybrid?"),
        (("--policies", "CascadeHybrid(relevance=3)"), "features follow from the ratings"),
        (("--policies", "CascadeHybrid(gamma=-1)"), "gamma must be"),
        (("--policies", "BubbleRank"), "no policy 'BubbleRank'"),
    ],
)
def test_diversify_refuses(ratings: Path, tmp_path: Path, arguments, message) -> None:
    assert message in refused(ratings, *arguments, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_diversify_refuses_files_that_hold_no_ratings(ratings: Path, tmp_path: Path) -> None:
    assert "no file" in refused(tmp_path / "nothing.zip")
    assert "holds no ratings" in refused(tmp_path)
    for file in ratings.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "ratings.dat").write_text("1::3::5\n1::77::4\n")
    assert "77" in refused(tmp_path)
