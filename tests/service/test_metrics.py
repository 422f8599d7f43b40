"""What Prometheus reads: in its format, complete, and there when the store is not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from service_client import Running, served

from rankloop.live import StoreLost
from rankloop.service.limits import Limits
from rankloop.service.metrics import BUCKETS
from rankloop.service.partition_queries import GATHERED

AWKWARD = ['say "hi"', "two\nlines", "back\\slash", "{loop=1} 2", "tab\tand\rreturn", "ラーメン", "\\n", "a" * 1000]
"""Names of loops that a careless writer of the format would break it with."""

WANTED = {
    "rankloop_requests": "counter", "rankloop_request_seconds": "histogram", "rankloop_events": "counter",
    "rankloop_learning_lag_seconds": "gauge", "rankloop_open": "gauge", "rankloop_partitions_owned": "gauge",
    "rankloop_partitions": "gauge",
    "rankloop_snapshot_age_seconds": "gauge", "rankloop_uplift": "gauge", "rankloop_uplift_low": "gauge",
    "rankloop_uplift_high": "gauge", "rankloop_fallbacks": "counter",
}  # fmt: skip


def quoted(name: str) -> str:
    return "".join(f"%{byte:02X}" for byte in name.encode())


def families(client: Any) -> dict[str, Any]:
    """What is there, by name; a parser of somebody else reads it."""
    answer = client.get("/metrics")
    assert answer.status_code == 200, answer.text
    found = list(text_string_to_metric_families(answer.text))
    assert len({family.name for family in found}) == len(found)
    return {family.name: family for family in found}


def values(family: Any, label: str) -> dict[str, float]:
    return {sample.labels[label]: sample.value for sample in family.samples}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service with loops of awkward names, in which something has happened."""
    with served(tmp_path_factory.mktemp("metrics") / "shop.db", limits=Limits(guesses=1.0)) as running:
        for name in AWKWARD:
            path = f"/v1/loops/{quoted(name)}"
            assert running.admin.put(path, json={"kind": "rerank", "holdout": 0.5}).status_code == 201
            shown = running.admin.post(f"{path}/rank", json={"key": "k", "items": ["a", "b"], "user": name}).json()
            running.admin.post("/v1/events", json={"impression": shown["id"], "item": "a"})
            running.admin.post("/v1/events", json=[{"impression": shown["id"], "item": "a"}])
        running.admin.get("/v1/nowhere")
        with running.client("no-such-key") as nobody:
            for _ in range(7):
                nobody.get("/v1/loops")
        yield running


def test_the_format(shop: Running) -> None:
    for family in families(shop.admin).values():
        assert family.type in ("counter", "gauge", "histogram"), family.name
        assert family.documentation.endswith("."), family.name
        labels = [(sample.name, tuple(sorted(sample.labels.items()))) for sample in family.samples]
        assert len(set(labels)) == len(labels), family.name
        if family.type == "counter":  # whose ending the parser takes off
            assert {sample.name for sample in family.samples} <= {f"{family.name}_total"}
            assert all(sample.value >= 0 for sample in family.samples)


def test_all_that_is_wanted_is_there(shop: Running) -> None:
    found = families(shop.admin)
    assert {name: found[name].type for name in WANTED} == WANTED


def test_names_of_loops_come_back(shop: Running) -> None:
    found = families(shop.admin)
    for name in ("rankloop_open", "rankloop_keys", "rankloop_impressions", "rankloop_clicks", "rankloop_duplicates"):
        assert values(found[name], "loop") == dict.fromkeys(AWKWARD, 1.0)


def test_histogram(shop: Running) -> None:
    samples = [s for s in families(shop.admin)["rankloop_request_seconds"].samples if s.labels["route"] == "rank"]
    buckets = [(float(s.labels["le"]), s.value) for s in samples if s.name.endswith("_bucket")]
    (total,) = (s.value for s in samples if s.name.endswith("_count"))
    (seconds,) = (s.value for s in samples if s.name.endswith("_sum"))
    assert [end for end, _ in buckets] == [*BUCKETS, float("inf")]
    counts = [n for _, n in buckets]
    assert counts == sorted(counts)
    assert counts[-1] == total == len(AWKWARD)
    assert seconds > 0
    assert sum(0.001 <= end <= 0.01 for end in BUCKETS) >= 5, "answers are to take 1 to 10 ms: they must be told apart"


def test_what_has_not_happened_is_zero(shop: Running) -> None:
    found = families(shop.admin)
    assert values(found["rankloop_fallbacks"], "loop") == dict.fromkeys(AWKWARD, 0.0)
    fates = values(found["rankloop_events"], "fate")
    assert fates["accepted"] == fates["duplicate"] == len(AWKWARD)
    assert fates["late"] == fates["unknown"] == fates["foreign"] == 0


def test_labels_are_few(shop: Running) -> None:
    """Whoever sends nonsense makes no new labels."""
    before = families(shop.admin)
    shop.admin.get("/v1/loops/nobody")
    shop.admin.get("/v1/%FF%00nowhere")
    shop.admin.request("BREW", "/v1/loops")
    shop.admin.post("/v1/loops/nobody/rank", json={"key": "k", "items": ["a", "b"]})
    shop.admin.post("/v1/events", json={"impression": "nonsense", "item": "a", "type": "made up"})
    after = families(shop.admin)
    for name in before.keys() | after.keys():
        for label in ("loop", "fate", "reason"):
            labels = [{s.labels.get(label) for s in found[name].samples} for found in (before, after)]
            assert labels[0] == labels[1], name
    routes = {s.labels["route"] for s in after["rankloop_requests"].samples}
    assert routes <= {"rank", "events", "put_loop", "get_loop", "list_loops", "metrics", "make_key", "none"}


def test_refused_requests_are_counted(shop: Running) -> None:
    reasons = values(families(shop.admin)["rankloop_refused"], "reason")
    assert reasons["key"] == 7
    assert reasons["rate"] > 0
    assert reasons["busy"] == 0


def test_a_tenant_sees_its_own_loops_alone(shop: Running) -> None:
    found = families(shop.holding("read", loops=[AWKWARD[0]]))
    for family in found.values():
        assert {sample.labels["loop"] for sample in family.samples} <= {AWKWARD[0]}, family.name
    assert "rankloop_requests" not in found
    assert values(found["rankloop_fallbacks"], "loop") == {AWKWARD[0]: 0.0}


def test_fallbacks(shop: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    name = AWKWARD[1]

    def broken(*_: Any, **__: Any) -> Any:
        raise ArithmeticError("a bug")

    assert shop.service.only is not None
    monkeypatch.setattr(shop.service.only.prompt, "rank", broken)
    answer = shop.admin.post(f"/v1/loops/{quoted(name)}/rank", json={"key": "k", "items": ["a", "b"]})
    assert answer.json()["fallback"]
    try:
        assert values(families(shop.admin)["rankloop_fallbacks"], "loop")[name] == 1
    finally:
        shop.service.metrics.fallbacks[name] = 0


@pytest.mark.parametrize("hanging", [False, True])
def test_there_while_the_store_is_not(shop: Running, monkeypatch: pytest.MonkeyPatch, hanging: bool) -> None:
    expected = values(families(shop.admin)["rankloop_clicks"], "loop")
    go_on = threading.Event()

    def away(*_: Any) -> dict[str, Any]:
        if hanging:
            assert go_on.wait(60)
            return {}
        raise StoreLost("the store is away")

    with monkeypatch.context() as patch:
        patch.setitem(GATHERED, "tallies", away)
        shop.service._status = (0.0, shop.service._status[1])
        try:
            for _ in range(2):
                assert values(families(shop.admin)["rankloop_clicks"], "loop") == expected
            assert shop.service.pending <= 1
        finally:
            go_on.set()
    shop.service._status = (0.0, shop.service._status[1])
    families(shop.admin)
    shop.service._status = (0.0, shop.service._status[1])
    assert values(families(shop.admin)["rankloop_clicks"], "loop") == expected
