"""`rankloop live`: what it prints of a store, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from postgres_server import Server
from service_client import ADMIN, served
from typer.testing import CliRunner, Result

import rankloop as rl
from rankloop.cli.app import app
from rankloop.live.directory import Directory
from rankloop.live.shared_loops import SharedLoops

NAME = "laptop <b>גיימינג</b> 🎮"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A store with some traffic, and the id of its last impression."""
    path = tmp_path_factory.mktemp("live") / "shop.db"
    with rl.Live(path, background=False) as live:
        live.create("search", kind="rerank", holdout=0.0, seed=1)
        live.create("rankers", kind="evaluate", rankers=["bm25", "dense"], seed=1)
        for visitor in range(20):
            shown = live.rank("search", NAME, ["a", "b", "c"], user=str(visitor))
            live.click(shown.id, "b")
            live.finish(shown.id)
        live.click("nonsense", "b")
    return path, shown.id


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["live", *arguments])


def test_status_counts_what_happened(shop: tuple[Path, str]) -> None:
    result = run("status", "--store", str(shop[0]), "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == 0
    assert found["search"]["impressions"] == found["search"]["learned"] == found["search"]["clicks"] == 20
    assert found["search"]["unknown"] == 1
    assert found["search"]["uplift"]["impressions"] == [20, 0]
    assert found["rankers"]["survivors"] == ["bm25", "dense"]


def test_status_as_a_table(shop: tuple[Path, str]) -> None:
    text = run("status", "--store", str(shop[0])).stdout
    assert "BubbleRank" in text
    assert "MergeDTS" in text
    assert "1 unknown" in text


def test_explain_says_who_decided_and_what_was_learned(shop: tuple[Path, str]) -> None:
    path, impression = shop
    text = run("explain", impression, "--store", str(path)).stdout
    assert NAME in text
    assert "decided by  policy" in text
    assert "learned from 1 click" in text
    found = json.loads(run("explain", impression, "--store", str(path), "--json").stdout)
    assert sorted(found["items"]) == ["a", "b", "c"]
    assert found["production"] == ["a", "b", "c"]


def test_verify_finds_no_difference(shop: tuple[Path, str]) -> None:
    result = run("verify", "--store", str(shop[0]))
    assert result.exit_code == 0
    assert "20 impressions learned from" in result.stdout
    assert "no difference" in result.stdout


def test_verify_notices_a_journal_that_was_altered(shop: tuple[Path, str], tmp_path: Path) -> None:
    import shutil
    import sqlite3

    from rankloop.live.entries import Kind

    altered = tmp_path / "altered.db"
    shutil.copy(shop[0], altered)
    with sqlite3.connect(altered) as connection:
        (closed,) = connection.execute("SELECT min(seq) FROM journal WHERE kind = ?", (Kind.CLOSE,)).fetchone()
        connection.execute("DELETE FROM journal WHERE seq = ?", (closed,))
    result = run("verify", "--store", str(altered), "--json")
    assert result.exit_code == 1
    assert not json.loads(result.stdout)["ok"]


def test_revert_asks_first(shop: tuple[Path, str], tmp_path: Path) -> None:
    import shutil

    copied = tmp_path / "copy.db"
    shutil.copy(shop[0], copied)
    with rl.Live(copied, read_only=True) as live:
        observed = live.receipt("search", NAME).lists_learned_from
    assert observed == 20
    refused = CliRunner().invoke(app, ["live", "revert", "search", NAME, "--store", str(copied)], input="n\n")
    assert refused.exit_code != 0
    with rl.Live(copied, read_only=True) as live:
        assert live.receipt("search", NAME).pairs
    assert run("revert", "search", NAME, "--store", str(copied), "--yes").exit_code == 0
    with rl.Live(copied, read_only=True) as live:
        assert not live.receipt("search", NAME).pairs


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_export_writes_every_entry(shop: tuple[Path, str], tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"journal.{suffix}"
    result = run("export", str(target), "--store", str(shop[0]))
    assert result.exit_code == 0, result.output
    if suffix == "jsonl":
        rows = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
    else:
        import pyarrow.parquet as pq

        rows = pq.read_table(target).to_pylist()
    choices = [row for row in rows if row["entry"] == "choice"]
    clicks = [row for row in rows if row.get("event") == "click"]
    assert len(choices) == len(clicks) == 20
    assert all(row["key"] == NAME and row["propensity"] in (1, 0.5) for row in choices)
    assert {row["item"] for row in clicks} == {"b"}


def test_what_is_refused_is_one_line(shop: tuple[Path, str], tmp_path: Path) -> None:
    path = str(shop[0])
    cases = {
        ("status", "--store", str(tmp_path / "none.db")): "there is no store",
        ("status", "serch", "--store", path): "did you mean 'search'?",
        ("explain", "nonsense", "--store", path): "no impression",
        ("revert", "search", "nobody asked", "--yes", "--store", path): "has not been asked",
        ("export", str(tmp_path / "journal.csv"), "--store", path): "must end in",
    }
    for arguments, expected in cases.items():
        result = run(*arguments)
        assert result.exit_code == 2, arguments
        assert expected in result.output
        assert "Traceback" not in result.output


def test_looking_does_not_disturb_the_program_that_writes(tmp_path: Path) -> None:
    path = tmp_path / "busy.db"
    with rl.Live(path, background=False) as live:
        live.create("search", kind="rerank", seed=1)
        shown = live.rank("search", "key", ["a", "b"], user="u")
        live.click(shown.id, "a")
        assert json.loads(run("status", "--store", str(path), "--json").stdout)["search"]["clicks"] == 1
        assert run("verify", "--store", str(path)).exit_code == 0
        refused = run("revert", "search", "key", "--yes", "--store", str(path))
        assert refused.exit_code == 2
        assert "held by process" in refused.output
        assert live.click(shown.id, "b") == "accepted"


def test_pause_and_resume(shop: tuple[Path, str], tmp_path: Path) -> None:
    import shutil

    copied = tmp_path / "copy.db"
    shutil.copy(shop[0], copied)
    for command, mode in (("pause", "paused"), ("pause", "paused"), ("resume", "live")):
        assert run(command, "search", "--store", str(copied)).exit_code == 0
        assert json.loads(run("status", "--store", str(copied), "--json").stdout)["search"]["mode"] == mode


def test_a_service_that_runs_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds its store: who tries to change that is told so, and whom to ask."""
    store, asking = str(tmp_path / "shop.db"), "ask it: --url"
    with served(store) as running:
        running.admin.put("/v1/loops/search", json={"kind": "rerank", "holdout": 0})
        for _ in range(3):
            shown = running.admin.post("/v1/loops/search/rank", json={"key": NAME, "items": ["a", "b", "c"]}).json()
            events = [{"impression": shown["id"], "item": "a"}, {"impression": shown["id"], "type": "finish"}]
            running.admin.post("/v1/events", json=events)
        for command in (("revert", "search", NAME, "--yes"), ("pause", "search"), ("resume", "search")):
            held = run(*command, "--store", store)
            assert held.exit_code == 2
            assert asking in " ".join(held.output.split())
            assert "RANKLOOP_ADMIN_KEY" in run(*command, "--url", running.address).output  # it is not set
        monkeypatch.setenv("RANKLOOP_ADMIN_KEY", ADMIN)
        monkeypatch.setenv("RANKLOOP_URL", running.address)

        def status() -> Any:
            return running.admin.get("/v1/loops/search").json()["status"]

        assert run("pause", "search").exit_code == 0
        assert status()["mode"] == "paused"
        assert run("resume", "search").exit_code == 0
        assert status()["mode"] == "live"
        refused = CliRunner().invoke(app, ["live", "revert", "search", NAME], input="n\n")
        assert refused.exit_code != 0
        assert "best list now: a, b, c" in refused.output
        assert running.service.live.receipt("search", NAME).pairs
        reverted = run("revert", "search", NAME, "--yes")
        assert reverted.exit_code == 0, reverted.output
        assert not running.service.live.receipt("search", NAME).pairs
        for command in (("pause", "nowhere"), ("revert", "search", "never asked", "--yes")):
            wrong = run(*command)
            assert wrong.exit_code == 2
            assert "refused: " in wrong.output


def test_pausing_a_store_that_workers_share(postgres: Server) -> None:
    url = postgres.empty_database("pausing")
    directory = Directory(url, partitions=2)
    directory.open()
    loops = SharedLoops(directory)
    loops.create("search", kind="rerank")
    for command, paused in (("pause", True), ("resume", False)):
        assert run(command, "search", "--store", url).exit_code == 0
        loops.look()
        assert loops.settings("search").paused is paused
    assert "did you mean 'search'?" in run("pause", "serch", "--store", url).output
    directory.close()
