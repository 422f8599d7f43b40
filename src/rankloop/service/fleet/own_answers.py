"""What a worker answers by itself, of the partitions that it holds, whoever asks."""

from __future__ import annotations

from typing import Any

from rankloop.service.dispatch import told
from rankloop.service.fleet.frames import Answer, Forward
from rankloop.service.gauges import of_process
from rankloop.service.keys import Key
from rankloop.service.owned_partitions import Elsewhere
from rankloop.service.partition_queries import GATHERED
from rankloop.service.request import Request
from rankloop.service.routes import BY_NAME
from rankloop.service.service import Service


async def answer_request(service: Service, asked: Forward) -> Answer:
    """What this worker answers to a request that another has passed on."""
    route = BY_NAME.get(asked.route)
    if route is None or route.role is None:
        return Answer(asked.number, 404)
    key = Key("", "admin", b"", tuple(asked.loops))
    request = Request(asked.parameters, asked.body, key, asked.id, forwarded=True)
    try:
        reply = await route.handler(service, request)
    except Elsewhere:
        return Answer(asked.number, 0)
    except Exception as error:
        reply = told(error, asked.id, route.name)
    return Answer(asked.number, reply.status, reply.body, reply.media, list(reply.headers))


async def gather_here(service: Service, name: str, arguments: list[Any]) -> list[tuple[int, Any]]:
    """What a function gives for each partition that this worker holds, with the partition's number."""
    function = GATHERED[name]
    found = []
    for part in service.partitions:
        if part.held:
            with part:
                value = await service.call(lambda live=part.live: function(live, *arguments))  # type: ignore[misc]
            found.append((part.number, value))
    return found


def families(service: Service) -> list[Any]:
    """What this worker counts of itself."""
    return [(name, kind, help_, list(values)) for name, kind, help_, values in of_process(service)]
