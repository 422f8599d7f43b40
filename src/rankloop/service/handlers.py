"""What answers each route."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import msgspec

from rankloop.live import Settings, Shown
from rankloop.live.events import FIELDS
from rankloop.live.settings import CHANGEABLE
from rankloop.service import messages
from rankloop.service.event_requests import hear_all
from rankloop.service.gauges import FALLBACKS, of_loops, of_process
from rankloop.service.logs import logger
from rankloop.service.messages import MOST_EVENTS
from rankloop.service.metrics import of_workers, text
from rankloop.service.problems import ProblemDetails, senseless, unreadable
from rankloop.service.request import Reply, Request, no_loop
from rankloop.service.service import Service

Body = TypeVar("Body")


def decoder(type_: type[Body]) -> Callable[[bytes], Body]:
    """Reads bodies of a type."""
    decode = msgspec.json.Decoder(type_).decode

    def read(body: bytes) -> Body:
        try:
            return decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise unreadable(error) from None

    return read


read_rank = decoder(messages.RankRequest)
read_duel = decoder(messages.DuelRequest)
read_interleave = decoder(messages.InterleaveRequest)
read_revert = decoder(messages.RevertRequest)
read_items = decoder(messages.ItemsRequest)
read_key = decoder(messages.KeyRequest)
read_object = decoder(dict[str, Any])
read_event = decoder(dict[str, Any])
read_events: Callable[[bytes], Any] = decoder(dict[str, Any] | list[Any])  # type: ignore[arg-type]


async def about(service: Service, loop: str, doing: Awaitable[Body], fields: Sequence[str]) -> Body:
    """What a call about a loop gives; what it refuses is told as a problem."""
    try:
        return await doing
    except ValueError as error:
        if loop not in service.manager.loops:
            raise no_loop(loop) from None
        raise senseless(error, fields) from None


# -- the hot path ------------------------------------------------------------------------------------------------


async def rank(service: Service, request: Request) -> Reply:
    """The list to show."""
    asked, loop = read_rank(request.body), request.parameters["loop"]
    part = service.at(loop, asked.key)
    try:
        shown = part.prompt.rank(
            loop, asked.key, asked.items, user=asked.user, pinned=asked.pinned, deferred=asked.deferred
        )
        if shown is None:
            shown = await service.rank_waiting(part, loop, asked)
    except ValueError as error:
        if loop not in service.manager.loops:
            raise no_loop(loop) from None
        raise senseless(error, ("key", "items", "user", "pinned")) from None
    except Exception as error:
        logger.exception("loop %s answers with production's list", loop)
        shown = service.fall_back(loop, asked, str(error) or type(error).__name__)
    if shown.arm == "fallback":
        service.metrics.fallbacks[loop] += 1
    return Reply.of(ranked(shown))


def rank_without(service: Service, request: Request, reason: str) -> Reply:
    """Production's list, where whoever should choose one is away or has too much to do."""
    asked, loop = read_rank(request.body), request.parameters["loop"]
    try:
        shown = service.fall_back(loop, asked, reason)
    except ValueError as error:
        if loop not in service.manager.loops:
            raise no_loop(loop) from None
        raise senseless(error, ("items", "pinned")) from None
    service.metrics.fallbacks[loop] += 1
    return Reply.of(ranked(shown))


def ranked(shown: Shown) -> messages.Ranked:
    """A list as it is answered."""
    return messages.Ranked(shown.id, shown.items, shown.loop, shown.arm, shown.fallback, shown.reason)


async def events(service: Service, request: Request) -> Reply:
    """Take events, and answer once they have been written for good."""
    given = read_events(request.body)
    if type(given) is dict:
        (heard,) = await hear_all(service, request, [given])
        if heard.fate == "invalid":
            raise senseless(ValueError(heard.reason), FIELDS)
        return Reply.of(heard)
    if len(given) > MOST_EVENTS:
        raise ProblemDetails(
            422, f"a request has at most {MOST_EVENTS:,} events, not {len(given):,}: send them in parts"
        )
    return Reply.of(messages.HeardAll(await hear_all(service, request, given)))


# -- rankers -----------------------------------------------------------------------------------------------------


async def duel(service: Service, request: Request) -> Reply:
    """The two rankers to run."""
    asked, loop = read_duel(request.body or b"{}"), request.loop
    with service.at(loop, asked.key) as part:
        doing = service.call(lambda: part.live.duel(loop, asked.key, user=asked.user))
        found = await about(service, loop, doing, ("key", "user"))
    return Reply.of(messages.DuelAnswer(found.id, list(found.rankers), found.loop))


async def interleave(service: Service, request: Request) -> Reply:
    """One list of two."""
    asked, loop = read_interleave(request.body), request.loop

    def call() -> Shown:
        if part.live.loop_of(asked.duel) != loop:
            part.live.settings(loop)
            raise ValueError(f"duel {asked.duel[:40]!r} does not belong to this loop: ask for one with /duel")
        return part.live.interleave(asked.duel, asked.lists, positions=asked.positions)

    with service.at_id(asked.duel) as part:
        shown = await about(service, loop, service.call(call), ("duel", "lists", "positions"))
    return Reply.of(ranked(shown))


# -- loops -------------------------------------------------------------------------------------------------------


async def describe(service: Service, loops: Sequence[str]) -> list[messages.LoopAnswer]:
    """Loops with their settings and their status."""
    answers = []
    for loop, status in (await service.statuses(loops)).items():
        settings = service.manager.settings(loop).to_json()
        del settings["seed"]  # with it, one could foretell what is shown
        answers.append(messages.LoopAnswer(loop, settings, status))
    return answers


async def list_loops(service: Service, request: Request) -> Reply:
    """All loops that the key may see."""
    seen = [loop for loop in service.manager.loops if request.sees(loop)]
    return Reply.of(messages.LoopsAnswer(await describe(service, seen)))


async def get_loop(service: Service, request: Request) -> Reply:
    """A loop."""
    if request.loop not in service.manager.loops:
        raise no_loop(request.loop)
    (answer,) = await describe(service, [request.loop])
    return Reply.of(answer)


async def put_loop(service: Service, request: Request) -> Reply:
    """Create a loop, or change it."""
    loop, given = request.loop, read_object(request.body)
    fields = messages.LoopRequest.__struct_fields__
    try:
        msgspec.convert(given, messages.LoopRequest)
    except msgspec.ValidationError as error:
        raise unreadable(error) from None
    for word, value in given.items():
        if word not in fields and isinstance(value, dict | list):
            raise ProblemDetails(
                422, f"{word}: a parameter of a policy is a number, a text, true, false or null", field=word
            )

    def call() -> bool:
        manager = service.manager
        try:
            settings = Settings.checked(**given)
        except ValueError as error:
            raise senseless(error, fields) from None
        except (TypeError, OverflowError, MemoryError, ArithmeticError) as error:
            raise ProblemDetails(422, f"the policy refuses these settings ({error})") from None
        is_new = loop not in manager.loops
        try:
            manager.create(loop, **given)
        except ValueError as error:
            problem = senseless(error, fields)
            raise problem if is_new else ProblemDetails(409, problem.detail, field=problem.field) from None
        there = manager.settings(loop)
        asked = {word: getattr(settings, word) for word in CHANGEABLE if word in given}
        changed = {word: value for word, value in asked.items() if value != getattr(there, word)}
        if changed:
            try:
                manager.change(loop, **changed)
            except ValueError as error:
                problem = senseless(error, fields)
                raise ProblemDetails(409, problem.detail, field=problem.field) from None
        if is_new:
            there.warm_up()
        return is_new

    is_new = await service.call(call)
    await service.spread()
    logger.info("loop %s was %s", loop, "created" if is_new else "changed")
    (answer,) = await describe(service, [loop])
    return Reply.of(answer, 201 if is_new else 200)


async def put_items(service: Service, request: Request) -> Reply:
    """Feed a catalogue."""
    loop, asked = request.loop, read_items(request.body)
    items = {name: msgspec.to_builtins(features) for name, features in asked.items.items()}
    doing = service.call(lambda: service.manager.put_items(loop, items))
    await about(service, loop, doing, ("relevance", "topics", "items"))
    await service.spread()
    return Reply.of(messages.Done(loop, f"{len(items)} items are known"))


async def pause(service: Service, request: Request) -> Reply:
    """Show production's lists."""
    return await intervene(service, request, True, "paused")


async def resume(service: Service, request: Request) -> Reply:
    """Let the policy choose again."""
    return await intervene(service, request, False, "resumed")


async def intervene(service: Service, request: Request, paused: bool, done: str) -> Reply:
    """Stop a loop, or let it go on."""
    loop = request.loop
    await about(service, loop, service.call(lambda: service.manager.change(loop, paused=paused)), ())
    await service.spread()
    logger.info("loop %s was %s", loop, done)
    return Reply.of(messages.Done(loop, done))


async def revert(service: Service, request: Request) -> Reply:
    """Set a key back."""
    return await set_back(service, request.loop, read_revert(request.body).key)


async def revert_key(service: Service, request: Request) -> Reply:
    """The same with the key in the path."""
    return await set_back(service, request.loop, request.parameters["key"])


async def set_back(service: Service, loop: str, key: str) -> Reply:
    """Set a key back to production's list."""
    with service.at(loop, key) as part:
        await of_key(service, loop, lambda: part.live.revert(loop, key))
    logger.info("a key of loop %s was set back to production's list", loop)
    return Reply.of(messages.Done(loop, "reverted"))


async def of_key(service: Service, loop: str, call: Callable[[], Body]) -> Body:
    """What a call about a key gives; there is no such key if it is refused."""
    try:
        return await service.call(call)
    except ValueError as error:
        raise (
            no_loop(loop) if loop not in service.manager.loops else ProblemDetails(404, str(error), field="key")
        ) from None


async def get_impression(service: Service, request: Request) -> Reply:
    """Why a list was shown."""
    id_ = request.parameters["id"]

    def call() -> dict[str, Any]:
        loop = part.live.loop_of(id_)
        if loop is None or not request.sees(loop):
            raise ProblemDetails(404, "there is no impression with this id here", field="id")
        try:
            return part.live.explain(id_).to_json()
        except ValueError as error:
            raise ProblemDetails(404, str(error), field="id") from None

    with service.at_id(id_) as part:
        return Reply.of(await service.call(call))


# -- access keys -------------------------------------------------------------------------------------------------


async def list_keys(service: Service, request: Request) -> Reply:
    """All access keys."""
    only_whole_service(request)
    return Reply.of(messages.KeysAnswer([key.info for key in await service.call(service.keys.all)]))


async def make_key(service: Service, request: Request) -> Reply:
    """Make an access key."""
    only_whole_service(request)
    asked = read_key(request.body)

    def call() -> Reply:
        try:
            text, key = service.keys.make(
                asked.role, loops=asked.loops, expires=asked.expires, origins=asked.origins, note=asked.note
            )
        except ValueError as error:
            raise senseless(error, ("role", "loops", "expires", "origins", "note")) from None
        logger.info("access key %s was made for role %s", key.id, key.role)
        return Reply.of(messages.KeyMade(text, key.info), 201)

    made = await service.call(call)
    await service.spread()
    return made


async def revoke_key(service: Service, request: Request) -> Reply:
    """Make an access key invalid."""
    only_whole_service(request)
    try:
        key = await service.call(lambda: service.keys.revoke(request.parameters["id"]))
    except KeyError as error:
        raise ProblemDetails(404, error.args[0], field="id") from None
    await service.spread()
    logger.info("access key %s was revoked", key.id)
    return Reply.of(key.info)


def only_whole_service(request: Request) -> None:
    """Refuse the key of a tenant."""
    if request.loops is not None:
        raise ProblemDetails(403, "this key is for single loops: access keys are made with one for the whole service")


# -- the service itself ------------------------------------------------------------------------------------------


async def health_live(service: Service, request: Request) -> Reply:
    """Whether the process should go on."""
    reason = service.why_not_alive()
    return Reply.of(messages.Health("failed", reason), 503) if reason else Reply.of(messages.Health("alive"))


async def health_ready(service: Service, request: Request) -> Reply:
    """Whether requests should be sent here."""
    if not service.ready:
        return Reply.of(messages.Health("draining" if service.draining else "loading"), 503)
    reason = service.why_not_alive()
    return Reply.of(messages.Health("failed", reason), 503) if reason else Reply.of(messages.Health("ready"))


async def metrics(service: Service, request: Request) -> Reply:
    """Counts for Prometheus."""
    statuses = {loop: status for loop, status in (await service.recent_statuses()).items() if request.sees(loop)}
    processes = of_process(service) if service.workers is None else of_workers(await service.workers.metrics())
    families = list(of_loops(statuses))
    for name, kind, help_, values in processes:
        if request.loops is None:
            families.append((name, kind, help_, values))
        elif name == FALLBACKS:
            families.append((name, kind, help_, [each for each in values if request.sees(each[0]["loop"])]))
    return Reply(200, text(families).encode(), b"text/plain; version=0.0.4; charset=utf-8")


async def openapi(service: Service, request: Request) -> Reply:
    """The description of all this."""
    return Reply(200, service.description)
