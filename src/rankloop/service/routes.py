"""The table of routes: which path does what, for whom. The router and the OpenAPI document are made from it.

To add a route, write a handler and add a line to `ROUTES`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any
from urllib.parse import unquote_to_bytes

from msgspec import Meta

from rankloop.service import beacon, handlers, messages, ubi, view_messages, views
from rankloop.service.dashboard import static_files as serving
from rankloop.service.messages import Role
from rankloop.service.request import QueryParameter, Reply, Request
from rankloop.service.service import Service

Events = Annotated[list[messages.Event], Meta(max_length=messages.MOST_EVENTS)]
Records = Annotated[list[Any], Meta(max_length=messages.MOST_EVENTS)]
Handler = Callable[[Service, Request], Awaitable[Reply]]


@dataclass(frozen=True)
class Route:
    """One method of one path.

    Parameters
    ----------
    method, path
        What it answers to; `{loop}` and `{key}` are parameters.
    handler
        What answers.
    role
        What the key must be allowed to do; None where no key is needed.
    summary
        What it does, in a sentence.
    takes
        Type of the request's body, if it has one; several if any of them will do.
    gives
        Type of the answer's body for each status other than those of problems.
    problems
        Statuses of problems that it may answer with, besides those that any route may.
    query
        What may stand in the address after a question mark, by name.
    browser
        Whether a web page may call it with a browser's key.
    media
        Type of an answer that is not JSON.
    fall_back
        What answers instead, given the reason, if the worker that should is away, or has too much to do.
    """

    method: str
    path: str
    handler: Handler
    role: Role | None
    summary: str
    takes: Any = None
    gives: Mapping[int, Any] = field(default_factory=dict)
    problems: Sequence[int] = ()
    query: Mapping[str, QueryParameter] = field(default_factory=dict)
    browser: bool = False
    media: str = "application/json"
    fall_back: Callable[[Service, Request, str], Reply] | None = None

    @property
    def name(self) -> str:
        """What it is called in metrics and in the OpenAPI document."""
        return self.handler.__name__

    @property
    def parts(self) -> tuple[str, ...]:
        """The segments of its path."""
        return tuple(self.path[1:].split("/"))


def _loop(method: str, end: str, *more: Any, **options: Any) -> Route:
    return Route(method, f"/v1/loops/{{loop}}{end}", *more, **options)


ROUTES: list[Route] = [
    _loop("POST", "/rank", handlers.rank, "rank", "The list to show, from production's list.",
          takes=messages.RankRequest, gives={200: messages.Ranked}, problems=(404,), fall_back=handlers.rank_without),
    Route("POST", "/v1/events", handlers.events, "events", "Tell of one event, or of up to 1,000.",
          takes=(messages.Event, Events), gives={200: (messages.Heard, messages.HeardAll)}, browser=True),
    Route("POST", "/v1/ubi/events", ubi.ubi_events, "events", "Events of User Behavior Insights, up to 1,000.",
          takes=(dict[str, Any], Records), gives={200: messages.HeardAll}, browser=True),
    Route("POST", "/v1/ubi/queries", ubi.ubi_queries, "events", "Queries of User Behavior Insights, up to 1,000.",
          takes=(dict[str, Any], Records), gives={200: messages.HeardAll}, browser=True),
    _loop("POST", "/duel", handlers.duel, "rank", "The two rankers to run for the next user.",
          takes=messages.DuelRequest, gives={200: messages.DuelAnswer}, problems=(404,)),
    _loop("POST", "/interleave", handlers.interleave, "rank", "One list of the lists of a duel's two rankers.",
          takes=messages.InterleaveRequest, gives={200: messages.Ranked}, problems=(404,)),
    Route("GET", "/v1/loops", handlers.list_loops, "read", "All loops, with what they have counted and found.",
          gives={200: messages.LoopsAnswer}),
    _loop("GET", "", handlers.get_loop, "read", "A loop, with what it has counted and found.",
          gives={200: messages.LoopAnswer}, problems=(404,)),
    _loop("PUT", "", handlers.put_loop, "admin", "Create a loop, or change what may change while it runs.",
          takes=messages.LoopRequest, gives={200: messages.LoopAnswer, 201: messages.LoopAnswer}, problems=(409,)),
    _loop("PUT", "/items", handlers.put_items, "admin", "Features of items, new or changed.",
          takes=messages.ItemsRequest, gives={200: messages.Done}, problems=(404,)),
    _loop("POST", "/pause", handlers.pause, "admin", "Show production's lists from now on.",
          gives={200: messages.Done}, problems=(404,)),
    _loop("POST", "/resume", handlers.resume, "admin", "Let the policy choose again.",
          gives={200: messages.Done}, problems=(404,)),
    _loop("POST", "/revert", handlers.revert, "admin", "Set a key back to production's list.",
          takes=messages.RevertRequest, gives={200: messages.Done}, problems=(404,)),
    Route("GET", "/v1/overview", views.get_overview, "read", "All loops at a glance, and what happened lately.",
          gives={200: view_messages.OverviewAnswer}),
    _loop("GET", "/race", views.get_race, "read", "The race of rankers.",
          gives={200: view_messages.RaceAnswer}, problems=(404,), query=views.RACE_QUERY),
    _loop("GET", "/keys", views.get_keys, "read", "The keys of a loop, those with the most traffic first.",
          gives={200: view_messages.KeysPage}, problems=(404,), query=views.KEYS_QUERY),
    _loop("GET", "/keys/{key}", views.get_key, "read", "What a loop knows for a key, and its receipt.",
          gives={200: view_messages.KeyAnswer}, problems=(404,)),
    _loop("GET", "/keys/{key}/history", views.get_history, "read", "How a key came to be what it is.",
          gives={200: view_messages.HistoryAnswer}, problems=(404,)),
    _loop("POST", "/keys/{key}/revert", handlers.revert_key, "admin", "Set a key back to production's list.",
          gives={200: messages.Done}, problems=(404,)),
    Route("GET", "/v1/impressions/{id}", handlers.get_impression, "read", "Why this list.",
          gives={200: dict[str, Any]}, problems=(404,)),
    Route("GET", "/v1/keys", handlers.list_keys, "admin", "All access keys, without their secrets.",
          gives={200: messages.KeysAnswer}),
    Route("POST", "/v1/keys", handlers.make_key, "admin", "Make an access key; it is shown this once.",
          takes=messages.KeyRequest, gives={201: messages.KeyMade}),
    Route("GET", "/v1/key", serving.key_used, "read", "What the key that asks may do.",
          gives={200: messages.KeyUsed}),
    Route("DELETE", "/v1/keys/{id}", handlers.revoke_key, "admin", "Make an access key invalid at once.",
          gives={200: messages.KeyInfo}, problems=(404,)),
    Route("GET", "/health/live", handlers.health_live, None, "Whether the process should go on.",
          gives={200: messages.Health, 503: messages.Health}),
    Route("GET", "/health/ready", handlers.health_ready, None, "Whether requests should be sent here.",
          gives={200: messages.Health, 503: messages.Health}),
    Route("GET", "/metrics", handlers.metrics, "read", "Counts for Prometheus.",
          gives={200: str}, media="text/plain; version=0.0.4; charset=utf-8"),
    Route("GET", "/openapi.json", handlers.openapi, None, "This description.", gives={200: dict[str, Any]}),
    Route("GET", "/beacon.js", beacon.beacon, None, "The script that reports what users do on a web page.",
          gives={200: str}, media=beacon.MEDIA),
    Route("GET", "/", serving.dashboard, None, "The dashboard, a page that asks for a key.",
          gives={200: str}, media="text/html; charset=utf-8"),
    Route("GET", "/dashboard/{version}/{file}", serving.dashboard_file, None, "A script or style of the dashboard.",
          gives={200: str}, media="*/*"),
]  # fmt: skip
"""All routes."""
BY_NAME = {route.name: route for route in ROUTES}


class Router:
    """Finds routes.

    >>> router = Router(ROUTES)
    >>> methods, parameters = router.find(b"/v1/loops/caf%C3%A9/keys/a%2Fb")
    >>> sorted(methods), parameters
    (['GET'], {'loop': 'café', 'key': 'a/b'})
    >>> router.find(b"/v1/nowhere")
    ({}, {})
    """

    REMEMBERED, LONGEST_REMEMBERED = 1_000, 2_048
    """Paths that need not be taken apart again, and the bytes of the longest: anybody can send them."""

    def __init__(self, routes: Sequence[Route]) -> None:
        self._by_shape: dict[int, list[tuple[tuple[str, ...], dict[str, Route]]]] = {}
        for route in routes:
            shapes = self._by_shape.setdefault(len(route.parts), [])
            for parts, methods in shapes:
                if parts == route.parts:
                    methods[route.method] = route
                    break
            else:
                shapes.append((route.parts, {route.method: route}))
        self._known: dict[bytes, tuple[dict[str, Route], dict[str, str]]] = {}

    def find(self, path: bytes) -> tuple[dict[str, Route], dict[str, str]]:
        """The routes of a path by method, none if there is no such path, and its parameters."""
        known = self._known.get(path)
        if known is None:
            known = self._find(path)
            if known[0] and len(path) <= self.LONGEST_REMEMBERED:
                if len(self._known) >= self.REMEMBERED:
                    self._known.clear()
                self._known[path] = known
        return known

    def _find(self, path: bytes) -> tuple[dict[str, Route], dict[str, str]]:
        try:
            segments = [unquote_to_bytes(part).decode() for part in path[1:].split(b"/")]
        except UnicodeDecodeError:
            return {}, {}
        for parts, methods in self._by_shape.get(len(segments), ()):
            parameters = {}
            for part, segment in zip(parts, segments, strict=True):
                if part[:1] == "{":
                    parameters[part[1:-1]] = segment
                elif part != segment:
                    break
            else:
                return methods, parameters
        return {}, {}
