"""The demo: four problems live, and on request simulated for longer, or with the thesis' claims."""

from __future__ import annotations

import contextlib
import csv
import json
import re
import shutil
import signal
import sys
from collections import Counter
from pathlib import Path

import processes
import pytest
from command_line import rankloop, refused

import rankloop as rl
from rankloop.cli import demo as demo_module
from rankloop.demo import running, simulated
from rankloop.examples.docs_search.rankers import RANKERS
from rankloop.experiments.catalogue import EXPERIMENTS

VISITS = 40


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a short demo, with what it printed."""
    out = tmp_path_factory.mktemp("demo")
    result = rankloop("demo", "--out", out, "--visits", VISITS, "--simulated", "--horizon", "300", "--runs", "2")
    assert result.exit_code == 0, result.output
    return out, result.stdout


def test_it_ends_in_a_page_and_data(played: tuple[Path, str]) -> None:
    out, printed = played
    page = (out / "index.html").read_text()
    answers = json.loads((out / "answers.json").read_text())
    assert [answer["kind"] for answer in answers] == ["evaluate", "rerank", "follow", "diversify"]
    for answer in answers:
        assert answer["title"] in page
        assert answer["title"] in printed
        assert f"What this can show: {' '.join(answer['able'].split())}" in printed
        assert answer["found"] in printed
    assert page.count("<svg") == 4
    evaluate, rerank, *others = answers
    assert "40 searches show little: choosing a ranker that is better than the default takes about 8,000" in printed
    assert "to see lists improve needs 9,600 in all" in rerank["able"]
    assert all("is seen 9 times in 10" in answer["able"] for answer in others)
    assert len(evaluate["rows"]) <= 5
    assert len(evaluate["all_rows"]) == len(evaluate["data"]["rankers"]) == 64
    assert "All 64 rankers" in page
    assert all(re.search(rf">{name}( [(]|<)", page) for name in RANKERS)  # two are marked
    assert (out / "index.html").as_uri() in printed
    assert {"visits.csv", "simulated.html"} <= set(re.findall(r'href="([^"]+)"', page))


def test_every_visit_is_in_the_data_and_in_the_journal(played: tuple[Path, str]) -> None:
    out, printed = played
    visits = list(csv.DictReader((out / "visits.csv").read_text().splitlines()))
    with rl.Live(out / "live.db", read_only=True) as live:
        shown = {loop: live.status(loop)["impressions"] for loop in live.loops}
    # On a busy machine the service may answer too late: the visit then has production's list, the journal perhaps one.
    made = Counter(visit["loop"] for visit in visits)
    late = Counter(visit["loop"] for visit in visits if visit["arm"] == "fallback")
    assert shown.keys() == made.keys()
    assert all(made[loop] - late[loop] <= shown[loop] <= made[loop] for loop in made), (shown, made, late)
    assert late.total() < len(visits) / 2
    derived = re.search(r"(\d+) lists re-derived from the journal, no difference[.]", printed)
    assert derived is not None
    by_policies = sum(visit["arm"] == "policy" for visit in visits)
    assert by_policies <= int(derived[1]) <= by_policies + late.total()


def test_what_is_simulated_has_a_page_and_data_too(played: tuple[Path, str]) -> None:
    out, printed = played
    page = (out / simulated.PAGE).read_text()
    parts = [part for make in simulated.PARTS for part in make(300, 2)]
    for part in parts:
        assert part.title in page
        assert part.title in printed
        assert "What this can show:" in part.text
    assert page.count("<svg") == 2 + 3 + 1 + 2
    assert "clicks per list" in page
    assert "unsafe of first 100" in page
    assert "regret after the first change" in page
    assert "undecided" not in page.partition("<body>")[2] + printed
    assert {"results.csv", "index.html"} <= set(re.findall(r'href="([^"]+)"', page))
    rows = list(csv.DictReader((out / "results.csv").read_text().splitlines()))
    assert {row["experiment"] for row in rows} == {part.title for part in parts}
    assert {row["policy"] for row in rows} == {
        type(policy(part.environment[0]) if callable(policy) else policy).__name__
        for part in parts
        for policy in part.policies
    }
    assert max(int(row["step"]) for row in rows) == 300


def test_lengths_of_what_is_not_simulated_are_refused(tmp_path: Path) -> None:
    assert "add --simulated" in refused("demo", "--horizon", "10", "--out", tmp_path / "demo")
    assert "a whole number of at least 1" in refused("demo", "--visits", "0", "--out", tmp_path / "demo")
    assert list(tmp_path.iterdir()) == []


def test_it_goes_on_to_the_claims_of_the_thesis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    nothing = running.Demo([], tmp_path / "live.db", 0, [])
    monkeypatch.setattr(running, "run", lambda *_, **__: nothing)
    monkeypatch.setattr("rankloop.cli.reproduce.reproduce", lambda names, **given: asked.append((names, given)))
    assert rankloop("demo", "--out", tmp_path, "--seed", "3", "--claims").exit_code == 0
    given = {"out": tmp_path / "reproduction", "seed": "3", "beside": "../index.html"}
    assert asked == [(list(demo_module.IN_THE_REPORT), given)]
    assert 'href="reproduction/index.html"' in (tmp_path / "index.html").read_text()
    known = {experiment.name: experiment.chapter for experiment in EXPERIMENTS}
    assert [known[name] for name in demo_module.IN_THE_REPORT] == [2, 3, 4, 5]


def test_a_difference_in_the_journal_is_said_and_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = running.Demo([], tmp_path / "live.db", 7, ["list 3 was another"])
    monkeypatch.setattr(running, "run", lambda *_, **__: found)
    result = rankloop("demo", "--out", tmp_path)
    assert result.exit_code == 1
    assert "7 lists re-derived from the journal, 1 difference: list 3 was another" in result.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes as Linux has them")
def test_it_can_be_ended_and_leaves_nothing_running(played: tuple[Path, str], tmp_path: Path) -> None:
    """SIGTERM, as `timeout` and others send it, while visitors come."""
    shutil.copytree(played[0] / "index", tmp_path / "out" / "index")  # made once
    command = [sys.executable, "-m", "rankloop", "demo", "--out", "out"]
    mark = f"RANKLOOP_TEST={tmp_path}"
    with processes.started(command, cwd=tmp_path, env=processes.environment(RANKLOOP_TEST=str(tmp_path))) as process:
        assert process.stderr is not None
        while "Which of 64 rankers" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=processes.LIMIT)
        assert process.returncode == 130, errors
    left = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # it has ended, or is not ours
            left += [path] if mark.encode() in path.read_bytes().split(b"\0") else []
    assert left == []
    with rl.Live(tmp_path / "out" / "live.db", read_only=True) as live:
        assert live.verify().ok
