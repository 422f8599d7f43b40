"""`rankloop serve` and `rankloop live keys`, as a user runs them."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import processes
import pytest
from command_line import refused
from typer.testing import CliRunner, Result

import rankloop as rl
from rankloop.cli.app import app

ADMIN = "admin-key-of-the-tests"


@contextmanager
def service(folder: Path, *arguments: str, **variables: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """A service in a folder, and the lines that it greets with."""
    given = processes.environment(**variables)
    if "RANKLOOP_ADMIN_KEY" not in variables:
        given.pop("RANKLOOP_ADMIN_KEY", None)
    command = [sys.executable, "-m", "rankloop", "serve", "--port", "0", *arguments]
    with processes.started(command, cwd=folder, env=given) as process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            if line.startswith("  curl") and line.count("/rank") == 0 and "PUT" not in line:
                break
        yield process, lines


def end(process: subprocess.Popen[str]) -> tuple[str, str]:
    process.send_signal(signal.SIGTERM)
    output = process.communicate(timeout=processes.LIMIT)
    assert process.returncode == 0, output
    return output


def test_without_arguments_it_works(tmp_path: Path) -> None:
    """It prints an address, a key and three lines for curl that work; and the key only once."""
    with service(tmp_path) as (process, lines):
        address = re.search(r"http://127\.0\.0\.1:\d+", lines[0])
        assert address is not None
        key = lines[1].removeprefix("admin key, shown this once: ")
        curls = [line.strip() for line in lines if line.startswith("  curl")]
        assert len(curls) == 3
        answers = [json.loads(processes.run([*shlex.split(line), "-sS", "--fail"]).stdout) for line in curls]
        assert answers[0]["loop"] == "search"
        assert sorted(answers[1]["items"]) == ["sku-2", "sku-9"]
        assert answers[2]["status"]["impressions"] == 1
        _, errors = end(process)
        assert key not in errors
        assert key.split("_", 2)[2] not in errors
    assert (tmp_path / "rankloop.db").exists()
    with service(tmp_path) as (process, lines):
        assert not [line for line in lines if "rl_" in line]
        assert "rankloop live keys create --role admin" in lines[1]
        end(process)
    with rl.Live(tmp_path / "rankloop.db", background=False) as live:
        assert live.status("search")["impressions"] == 1
        assert live.verify().ok


def test_a_file_of_settings_and_an_admin_key(tmp_path: Path) -> None:
    (tmp_path / "rankloop.toml").write_text('[serve]\nbody = 1000\n[loops.search]\nkind = "rerank"\n')
    with service(tmp_path, "--config", "rankloop.toml", RANKLOOP_ADMIN_KEY=ADMIN) as (process, lines):
        address = lines[0].split()[-1]
        assert ADMIN not in "".join(lines)
        with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {ADMIN}"}, timeout=60) as client:
            assert [each["loop"] for each in client.get("/v1/loops").json()["loops"]] == ["search"]
            body = {"key": "laptop", "items": ["x" * 900, "y" * 900]}
            assert client.post("/v1/loops/search/rank", json=body).status_code == 413
        end(process)


def test_logs_are_json_lines(tmp_path: Path) -> None:
    with service(tmp_path, RANKLOOP_ADMIN_KEY=ADMIN) as (process, lines):
        address = lines[0].split()[-1]
        httpx.get(f"{address}/v1/loops", headers={"Authorization": f"Bearer {ADMIN}"}, timeout=60)
        _, errors = end(process)
    records = [json.loads(line) for line in errors.splitlines()]
    assert [record["message"] for record in records] == ["ready", "closed"]
    assert ADMIN not in errors


def test_draining_finishes_and_writes_everything(tmp_path: Path) -> None:
    """What was acknowledged before SIGTERM is there, and the store was left in order."""
    with service(tmp_path, RANKLOOP_ADMIN_KEY=ADMIN) as (process, lines):
        address = lines[0].split()[-1]
        with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {ADMIN}"}, timeout=60) as client:
            client.put("/v1/loops/search", json={"kind": "rerank", "holdout": 0})
            for _ in range(20):
                shown = client.post("/v1/loops/search/rank", json={"key": "laptop", "items": ["a", "b"]}).json()
                assert client.post("/v1/events", json={"impression": shown["id"], "item": "b"}).status_code == 200
            end(process)
    with rl.Live(tmp_path / "rankloop.db", background=False, read_only=True) as live:
        assert live._journal.header.clean
        assert live.status("search")["clicks"] == 20


def test_what_is_refused(tmp_path: Path) -> None:
    told = refused("serve", "--workers", "2", "--store", tmp_path / "shop.db")
    assert "an SQLite store has one writer, so it takes one worker" in told
    assert "--store postgresql://" in told
    with rl.Live(tmp_path / "shop.db", background=False):
        told = refused("live", "keys", "list", "--store", tmp_path / "shop.db")
        assert "is held by process" in told
        assert "--url" in told


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs `rankloop live keys` in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str, **variables: str) -> Result:
        return CliRunner().invoke(app, ["live", "keys", *arguments], env=variables)

    return call


def test_keys_from_the_command_line(tmp_path: Path, run: Any) -> None:
    made = run("create", "--role", "rank", "--loop", "search", "--expires", "90d", "--note", "shop")
    key = made.stdout.strip()
    assert re.fullmatch(r"rl_[0-9a-f]{12}_[\w-]{43}", key)
    (listed,) = json.loads(run("list", "--json").stdout)
    assert (listed["role"], listed["loops"], listed["note"]) == ("rank", ["search"], "shop")
    assert listed["expires"] - listed["created"] == 90 * 86_400
    assert key.split("_", 2)[2] not in run("list").stdout
    assert run("revoke", listed["id"]).exit_code == 0
    assert json.loads(run("list", "--json").stdout)[0]["revoked"] is not None
    assert "there is no access key 'nobody'" in run("revoke", "nobody").stderr
    assert "there is no role" in run("create", "--role", "boss").stderr
    assert key.split("_", 2)[2].encode() not in (tmp_path / "rankloop.db").read_bytes()


def test_keys_of_a_service_that_runs(tmp_path: Path, run: Any) -> None:
    with service(tmp_path, RANKLOOP_ADMIN_KEY=ADMIN) as (process, lines):
        address = lines[0].split()[-1]
        asked = {"RANKLOOP_ADMIN_KEY": ADMIN, "RANKLOOP_URL": address}
        key = run("create", "--role", "read", **asked).stdout.strip()
        header = {"Authorization": f"Bearer {key}"}
        assert httpx.get(f"{address}/v1/loops", headers=header, timeout=60).status_code == 200
        (listed,) = json.loads(run("list", "--json", **asked).stdout)
        assert run("revoke", listed["id"], **asked).exit_code == 0
        assert httpx.get(f"{address}/v1/loops", headers=header, timeout=60).status_code == 401
        assert "not known here" in run("list", RANKLOOP_ADMIN_KEY="wrong", RANKLOOP_URL=address).stderr
        end(process)


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "rankloop", "serve", "--port", port]
        ended = processes.run(command, cwd=tmp_path, env=processes.environment(), check=False)
    assert ended.returncode == 2
    assert ended.stderr.strip().endswith("choose another with --host or --port")
    assert os.linesep not in ended.stderr.strip()
