"""The dashboard and the alerts: every metric and label that they name is one that a service gives."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import processes
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from service_client import Running, served

from rankloop.service.gauges import of_loops

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
FROM_ELSEWHERE = {"up"}
"""Metrics that Prometheus itself makes."""


@pytest.fixture(scope="module")
def metrics(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Labels of each metric that a service has given, by the sample's name."""
    with served(tmp_path_factory.mktemp("deploy") / "shop.db") as running:
        running.admin.put("/v1/loops/search", json={"kind": "rerank"})
        rank(running)
        found: dict[str, set[str]] = {}
        for family in text_string_to_metric_families(running.admin.get("/metrics").text):
            found.setdefault(family.name + ("_total" if family.type == "counter" else ""), set())
            for sample in family.samples:
                found.setdefault(sample.name, set()).update(sample.labels)
        for name in ("rankloop_uplift", "rankloop_uplift_low", "rankloop_uplift_high"):
            found[name].add("loop")  # once enough has been heard to tell
        return found


def rank(running: Running) -> None:
    shown = running.admin.post("/v1/loops/search/rank", json={"key": "k", "items": ["a", "b"]}).json()
    running.admin.post("/v1/events", json={"impression": shown["id"], "item": "a"})


def panels(dashboard: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for panel in dashboard["panels"]:
        yield panel
        yield from panel.get("panels", ())


def expressions() -> Iterator[tuple[str, str]]:
    dashboard = json.loads((DEPLOY / "grafana" / "rankloop.json").read_text())
    for panel in panels(dashboard):
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["name"], variable["definition"]
    for rule in rules():
        yield rule["alert"], rule["expr"]


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((DEPLOY / "prometheus" / "rankloop-alerts.yaml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def test_metrics_of_dashboard_and_alerts_exist(metrics: dict[str, set[str]]) -> None:
    used = set()
    for title, expression in expressions():
        bare = re.sub(r'"[^"]*"', '""', expression)
        names = set(re.findall(r"\b((?:rankloop|process)_\w+|up)\b(?=[\{\[ ),])", bare))
        assert names, f"{title}: {expression}"
        for name in names - FROM_ELSEWHERE:
            assert name in metrics, f"{title}: {name}"
        used |= names
        allowed = {"job", "instance", "worker"}.union(*(metrics.get(name, set()) for name in names))
        for group in re.findall(r"\{([^}]*)\}|\bby \(([^)]*)\)", bare):
            for label in re.findall(r"\b([a-z]+)\b(?=\s*(?:=|!=|=~|!~|,|$))", "".join(group)):
                assert label in allowed, f"{title}: {label}"
    wanted = {
        "rankloop_requests_total", "rankloop_request_seconds_bucket", "rankloop_events_total", "rankloop_open",
        "rankloop_learning_lag_seconds", "rankloop_partitions_owned", "rankloop_snapshot_age_seconds",
        "rankloop_uplift", "rankloop_uplift_low", "rankloop_uplift_high", "rankloop_fallbacks_total",
    }  # fmt: skip
    assert wanted <= used


def test_what_every_machine_tells_is_not_added_up() -> None:
    """What loops have counted is that of the whole store, whichever machine is asked; workers count for themselves."""
    of_store = {name for name, *_ in of_loops({})} | {"rankloop_partitions"}
    aggregated = re.compile(r"\b(sum|max)(?: by \([a-z, ]*\) | ?)\((?:rate\(|increase\()?(rankloop_\w+)")
    seen = set()
    for title, expression in expressions():
        found = set(aggregated.findall(expression))
        named = set() if expression.startswith("label_values") else set(re.findall(r"\brankloop_\w+", expression))
        for name in named & of_store:
            assert ("max", name) in found, f"{title}: {expression}"
            assert ("sum", name) not in found, f"{title}: {expression}"
        seen |= found
    assert {("max", "rankloop_impressions_total"), ("sum", "rankloop_fallbacks_total")} <= seen


def test_dashboard_is_whole() -> None:
    dashboard = json.loads((DEPLOY / "grafana" / "rankloop.json").read_text())
    shown = list(panels(dashboard))
    assert len({panel["id"] for panel in shown}) == len(shown)
    places = set()
    for panel in shown:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24, panel["title"]
        assert not cells & places, f"{panel['title']} lies over another panel"
        places |= cells
    rows = [panel["title"] for panel in shown if panel["type"] == "row"]
    assert len(rows) == 6, rows


FALLBACKS, LISTS = 'rankloop_fallbacks_total{loop="a"}', 'rankloop_impressions_total{loop="a"}'
FIRED: list[tuple[str, dict[str, str], bool]] = [
    ("RankloopPartitionWithoutOwner", {"rankloop_partitions": "6x100", "rankloop_partitions_owned": "2x100"}, True),
    ("RankloopPartitionWithoutOwner", {"rankloop_partitions": "6x100", "rankloop_partitions_owned": "3x100"}, False),
    ("RankloopFallbacks", {FALLBACKS: "0+1x100", LISTS: "0+150x100"}, True),
    ("RankloopFallbacks", {FALLBACKS: "0+1x100", LISTS: "0+250x100"}, False),
    ("RankloopDown", {'up{job="rankloop"}': "0x100"}, True),
    ("RankloopHurts", {'rankloop_uplift_high{loop="a"}': "-0.1x100"}, True),
    ("RankloopHurts", {'rankloop_uplift_high{loop="a"}': "0.1x100"}, False),
]
"""Alerts, what each of two machines tells every minute, and whether the alert is there after 90 minutes."""


def test_alerts_fire(tmp_path: Path) -> None:
    """As Prometheus itself computes them, with two machines that tell the same."""
    promtool = processes.tool("promtool", where="apt-get install prometheus")
    tests = []
    for alert, told, fires in FIRED:
        series = [
            {"series": f"{name}{{instance=\"{machine}\",{labels or '}'}", "values": values}
            for metric, values in told.items()
            for name, _, labels in [metric.partition("{")]
            for machine in ("one", "two")
        ]  # fmt: skip
        asked = f'count(ALERTS{{alertname="{alert}",alertstate="firing"}}) > bool 0 or vector(0)'
        wanted = {"expr": asked, "eval_time": "90m", "exp_samples": [{"labels": "{}", "value": int(fires)}]}
        tests.append({"interval": "1m", "input_series": series, "promql_expr_test": [wanted]})
    (tmp_path / "tests.yaml").write_text(
        json.dumps({"rule_files": [str(DEPLOY / "prometheus" / "rankloop-alerts.yaml")], "tests": tests})
    )
    ended = processes.run([promtool, "test", "rules", str(tmp_path / "tests.yaml")], check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_alerts_say_what_to_do() -> None:
    told = (ROOT / "docs" / "operations.md").read_text()
    for rule in rules():
        assert rule["annotations"]["summary"], rule
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert rule["alert"] in told, f"docs/operations.md does not say what to do about {rule['alert']}"
