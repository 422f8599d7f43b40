"""The OpenAPI document: it is the one in docs, and the service answers as it says."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)
from schemathesis.generation import GenerationMode
from service_client import ADMIN, Running

from rankloop.service.openapi import document
from rankloop.service.routes import ROUTES

IN_DOCS = Path(__file__).parents[2] / "docs" / "openapi.json"
EXAMPLES = int(os.environ.get("RANKLOOP_SCHEMA_EXAMPLES", "5"))
"""Requests to each operation; 5 find what is coarse, and more are asked for by hand."""


def test_the_document_in_docs_is_the_one_that_is_served() -> None:
    """`python -m rankloop.service.openapi > docs/openapi.json` writes it."""
    assert json.loads(IN_DOCS.read_text()) == document()


def test_every_route_is_described() -> None:
    described = {(method.upper(), path) for path, methods in document()["paths"].items() for method in methods}
    assert described == {(route.method, route.path) for route in ROUTES}


SCHEMA = schemathesis.openapi.from_dict(document())
OPERATIONS = {
    f"{operation.method.upper()} {operation.path}": operation
    for operation in (result.ok() for result in SCHEMA.get_all_operations())
}
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def world(running: Running) -> Running:
    """Loops of several kinds, one key, and no compiling for each loop that is made up."""
    running.service.live.warm_up = lambda: None  # type: ignore[method-assign]
    for loop, more in (("search", {"kind": "rerank"}), ("rankers", {"kind": "evaluate", "rankers": ["a", "b"]})):
        running.admin.put(f"/v1/loops/{loop}", json=more)
    running.admin.post("/v1/loops/search/rank", json={"key": "laptop", "items": ["a", "b", "c"]})
    return running


CASES = [
    pytest.param(name, mode, id=f"{name} {mode.value}")
    for name, operation in OPERATIONS.items()
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
    if mode == GenerationMode.POSITIVE
    or "security" in operation.definition.raw  # nothing can be wrong with a request that has no parts
]


@pytest.mark.parametrize(("name", "mode"), CASES)
def test_answers_are_as_described(world: Running, name: str, mode: GenerationMode) -> None:
    """Whatever is sent, with a key and without, the answer is one that the document describes, and no failure."""
    operation = OPERATIONS[name]
    places: list[dict[str, Any] | None] = [None]
    if "{loop}" in operation.path:
        given_key = {"key": "laptop"} if "{key}" in operation.path else {}
        places += [{"loop": "search", **given_key}, {"loop": "rankers", **given_key}]
    for place in places:
        _send_some(world, operation.as_strategy(generation_mode=mode, path_parameters=place))


def _send_some(world: Running, strategy: Any) -> None:
    @settings(
        max_examples=EXAMPLES, deadline=None, database=None, derandomize=True, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=strategy)
    def send(case: Any) -> None:
        for key in ({"Authorization": f"Bearer {ADMIN}"}, {}):
            response = case.call(base_url=world.address, headers=key)
            case.validate_response(response, checks=CHECKS)
            if not key and case.operation.path.startswith(("/v1", "/metrics")):
                assert response.status_code == 401

    send()


def test_the_service_is_whole_afterwards(world: Running) -> None:
    assert world.service.live.verify().ok
