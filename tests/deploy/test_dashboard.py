"""The dashboard and the alerts: every metric and label that they name is one that a service gives."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from service_client import Running, served

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


def test_alerts_say_what_to_do() -> None:
    told = (ROOT / "docs" / "operations.md").read_text()
    for rule in rules():
        assert rule["annotations"]["summary"], rule
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert rule["alert"] in told, f"docs/operations.md does not say what to do about {rule['alert']}"
