"""What answers those who look: pages of the dashboard as plain data."""

from __future__ import annotations

from rankloop.live.views.history import history
from rankloop.live.views.key import key
from rankloop.live.views.keys import MOST, merge_keys, read_cursor
from rankloop.live.views.overview import merge_overviews
from rankloop.live.views.race import race
from rankloop.service.handlers import of_key
from rankloop.service.problems import ProblemDetails
from rankloop.service.request import QueryParameter, Reply, Request, no_loop
from rankloop.service.service import Service

KEYS_QUERY = {
    "after": QueryParameter("Where to go on: `next` of the page before.", {"type": "string", "maxLength": 60}),
    "limit": QueryParameter("Number of keys.", {"type": "integer", "minimum": 1, "maximum": MOST}, "50"),
    "search": QueryParameter(
        "Text that a key must contain, in upper and lower case as given.", {"type": "string", "maxLength": 1024}
    ),
}

RACE_QUERY = {
    "key": QueryParameter(
        "Key of the duels; of those without a key if not given.", {"type": "string", "maxLength": 1024}, ""
    ),
}


def check_loop(service: Service, request: Request) -> str:
    """The loop in the path, if there is one of that name."""
    if request.loop not in service.manager.loops:
        raise no_loop(request.loop)
    return request.loop


async def get_overview(service: Service, request: Request) -> Reply:
    """All loops that the key may see."""
    loops = None if request.loops is None else list(request.loops)
    return Reply.of(merge_overviews(await service.gather("overview", loops)))


async def get_keys(service: Service, request: Request) -> Reply:
    """The keys of a loop."""
    loop, asked = check_loop(service, request), request.parameters
    after, limit = asked["after"], int(asked["limit"])
    try:
        read_cursor(after)
    except ValueError as error:
        raise ProblemDetails(422, str(error), field="after") from None
    pages = await service.gather("keys", loop, after, limit, asked["search"])
    return Reply.of(merge_keys([page for page in pages if page is not None], after, limit))


async def get_key(service: Service, request: Request) -> Reply:
    """What a loop knows for a key."""
    loop, name = request.loop, request.parameters["key"]
    with service.at(loop, name) as part:
        return Reply.of(await of_key(service, loop, lambda: key(part.live, loop, name)))


async def get_history(service: Service, request: Request) -> Reply:
    """How a key came to be what it is."""
    loop, name = request.loop, request.parameters["key"]
    with service.at(loop, name) as part:
        return Reply.of(await of_key(service, loop, lambda: history(part.live, loop, name)))


async def get_race(service: Service, request: Request) -> Reply:
    """The race of rankers."""
    loop, name = check_loop(service, request), request.parameters["key"]
    with service.at(loop, name) as part:
        return Reply.of(await of_key(service, loop, lambda: race(part.live, loop, name)))
