"""The OpenAPI document, made from the table of routes and the types of what travels."""

from __future__ import annotations

import functools
from typing import Any

import msgspec

from rankloop.service import messages
from rankloop.service.problems import MEDIA_TYPE, TITLES
from rankloop.service.routes import ROUTES, Route
from rankloop.version import __version__

PARAMETERS = {
    "loop": "Name of a loop.",
    "key": "Key that has a learner of its own, such as a query; slashes and blanks percent-encoded.",
    "id": "Id of an impression, or of an access key.",
    "version": "Version of the dashboard's files, from the page itself.",
    "file": "Name of a file of the dashboard.",
}
DESCRIPTION = """\
Lists out, clicks in, learned once. Production's list goes to `rank`, the list to show comes back with an id, and what
users do with it goes to `events` with that id. All times are in seconds since 1970. Errors are problems (RFC 9457) with
a sentence in `detail` and, where it is a single one, the `field` that was wrong."""


@functools.cache
def document() -> dict[str, Any]:
    """The description of the whole service.

    >>> document()["paths"]["/v1/loops/{loop}/rank"]["post"]["operationId"]
    'rank'
    """
    types: list[Any] = [messages.ProblemAnswer]
    for route in ROUTES:
        for type_ in (route.takes, *route.gives.values()):
            types += _alternatives(type_)
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    schema_of = dict(zip(map(repr, types), schemas, strict=True))
    paths: dict[str, Any] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schema_of)
    return {
        "openapi": "3.1.0",
        "info": {"title": "rankloop", "version": __version__, "description": DESCRIPTION},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _alternatives(type_: Any) -> tuple[Any, ...]:
    if type_ is None:
        return ()
    return type_ if isinstance(type_, tuple) else (type_,)


def _schema(type_: Any, schema_of: dict[str, Any]) -> Any:
    schemas = [schema_of[repr(each)] for each in _alternatives(type_)]
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _operation(route: Route, schema_of: dict[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {"operationId": route.name, "summary": route.summary}
    if route.role is not None:
        operation["security"] = [{"key": []}]
        operation["description"] = f"For keys of role {route.role}" + ("." if route.role == "admin" else " or admin.")
        if route.role == "events":
            operation["description"] = "For keys of role events, rank or admin."
    named = [part[1:-1] for part in route.parts if part.startswith("{")]
    if named or route.query:
        operation["parameters"] = [
            {
                "name": name,
                "in": "path",
                "required": True,
                "description": PARAMETERS[name],
                "schema": {"type": "string"},
            }
            for name in named
        ] + [
            {"name": name, "in": "query", "description": each.description, "schema": dict(each.schema)}
            for name, each in route.query.items()
        ]
    if route.takes is not None:
        content = {"application/json": {"schema": _schema(route.takes, schema_of)}}
        operation["requestBody"] = {"required": True, "content": content}
    responses = {}
    for status, type_ in route.gives.items():
        told = "As asked." if status < 400 else TITLES[status] + "."
        responses[str(status)] = _response(told, route.media, _schema(type_, schema_of))
    for status in sorted({*_problems(route), *route.problems} - set(route.gives)):
        schema = schema_of[repr(messages.ProblemAnswer)]
        response = _response(TITLES[status] + ".", MEDIA_TYPE.decode(), schema)
        if status in (429, 503):
            response["headers"] = {
                "Retry-After": {"description": "Seconds after which to try again.", "schema": {"type": "integer"}}
            }
        responses[str(status)] = response
    operation["responses"] = responses
    return operation


def _problems(route: Route) -> set[int]:
    """The problems that a route may tell of because of what it takes and whom it is for."""
    found = {503}
    if route.role is not None:
        found |= {401, 403, 429}
    if any(part.startswith("{") for part in route.parts):
        found.add(404)
    if route.method != "GET":
        found |= {400, 408, 413}
    if route.takes is not None or route.query:
        found.add(422)
    return found


def _response(description: str, media: str, schema: Any) -> dict[str, Any]:
    return {"description": description, "content": {media: {"schema": schema}}}


if __name__ == "__main__":
    import json

    print(json.dumps(document(), indent=1, ensure_ascii=False))
