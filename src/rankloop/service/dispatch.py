"""One request answered, whoever it came from: by this process, or by the worker that owns what it is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankloop.live import StoreError, StoreLost
from rankloop.service.logs import logger, request_id
from rankloop.service.messages import encode
from rankloop.service.owned_partitions import Elsewhere
from rankloop.service.problems import MEDIA_TYPE, ProblemDetails
from rankloop.service.request import Reply, Request
from rankloop.service.service import Service

if TYPE_CHECKING:
    from rankloop.service.routes import Route


async def answer(service: Service, route: Route, request: Request) -> Reply:
    """What answers a request; one about a partition of another worker is forwarded, once."""
    try:
        return await route.handler(service, request)
    except Elsewhere as there:
        if request.forwarded or service.workers is None:
            raise
        try:
            return await service.workers.forward(there.partition, route.name, request)
        except Exception as error:
            if route.fall_back is None:
                raise
            if not isinstance(error, ProblemDetails | StoreError):
                logger.exception("passing on a request failed", extra={"fields": {"route": route.name}})
            return route.fall_back(service, request, str(error) or type(error).__name__)


def told(error: Exception, id_: str, route: str) -> Reply:
    """What to answer where something has failed."""
    if isinstance(error, ProblemDetails):
        return problem(error, id_)
    if isinstance(error, StoreLost):
        return problem(ProblemDetails(503, f"{error}: nothing is lost, send again", retry_after=1), id_)
    if isinstance(error, StoreError):
        return problem(ProblemDetails(503, str(error), retry_after=5), id_)
    if isinstance(error, Elsewhere):
        return problem(ProblemDetails(503, f"{error}: send again in a moment", retry_after=1), id_)
    request_id.set(id_)
    logger.error("something failed inside", extra={"fields": {"route": route}}, exc_info=error)
    return problem(ProblemDetails(500, "something failed inside; the log of the service has this request's id"), id_)


def problem(error: ProblemDetails, id_: str) -> Reply:
    """The answer that tells of a problem."""
    return Reply(error.status, encode(error.to_json(id_)), MEDIA_TYPE, error.headers)
