"""What answers each route."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any, TypeVar

import msgspec

from rankloop.live import Settings, Shown
from rankloop.live.events import FIELDS
from rankloop.live.settings import CHANGEABLE
from rankloop.service import messages
from rankloop.service.gauges import gauges
from rankloop.service.logs import logger
from rankloop.service.messages import MOST_EVENTS, Heard
from rankloop.service.problems import Problem, senseless, unreadable
from rankloop.service.request import Reply, Request, no_loop
from rankloop.service.service import Service, plain_status

AT_ONCE = 50
"""Events of a batch that are taken in before others get their turn."""

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
        if loop not in service.live.loops:
            raise no_loop(loop) from None
        raise senseless(error, fields) from None


# -- the hot path ------------------------------------------------------------------------------------------------


async def rank(service: Service, request: Request) -> Reply:
    """The list to show."""
    asked, loop = read_rank(request.body), request.parameters["loop"]
    try:
        shown = service.prompt.rank(
            loop, asked.key, asked.items, user=asked.user, pinned=asked.pinned, deferred=asked.deferred
        )
        if shown is None:
            shown = await service.rank_waiting(loop, asked)
    except ValueError as error:
        if loop not in service.live.loops:
            raise no_loop(loop) from None
        raise senseless(error, ("key", "items", "user", "pinned")) from None
    except Exception as error:
        logger.exception("loop %s answers with production's list", loop)
        shown = service.fall_back(loop, asked, str(error) or type(error).__name__)
    if shown.arm == "fallback":
        service.metrics.fallbacks[loop] += 1
    return Reply.of(ranked(shown))


def ranked(shown: Shown) -> messages.Ranked:
    """A list as it is answered."""
    return messages.Ranked(shown.id, shown.items, shown.loop, shown.arm, shown.fallback, shown.reason)


async def events(service: Service, request: Request) -> Reply:
    """Take events, and answer once they have been written for good."""
    given, loops = read_events(request.body), request.loops
    if type(given) is dict:
        heard = hear(service, given, loops)
        if heard is None:
            (heard,) = await service.call(lambda: hear_waiting(service, [given], loops))
        await service.durable()
        service.metrics.fates[heard.fate] += 1
        if heard.fate == "invalid":
            raise senseless(ValueError(heard.reason), FIELDS)
        return Reply.of(heard)
    if len(given) > MOST_EVENTS:
        raise Problem(422, f"a request has at most {MOST_EVENTS:,} events, not {len(given):,}: send them in parts")
    all_heard: list[Heard | None] = []
    for start in range(0, len(given), AT_ONCE):
        if start:
            await asyncio.sleep(0)
        all_heard += hear_some(service, given[start : start + AT_ONCE], loops)
    later = [number for number, heard in enumerate(all_heard) if heard is None]
    if later:
        waited = await service.call(lambda: hear_waiting(service, [given[number] for number in later], loops))
        for number, heard in zip(later, waited, strict=True):
            all_heard[number] = heard
    await service.durable()
    for heard in all_heard:
        assert heard is not None
        service.metrics.fates[heard.fate] += 1
    return Reply.of({"events": all_heard})


def hear(service: Service, given: Any, loops: Sequence[str] | None) -> Heard | None:
    """What becomes of an event; None if one must wait for that."""
    if type(given) is dict and given.get("type") == "finish":
        return None
    try:
        fate = service.prompt.take(given, loops)
    except ValueError as error:
        return Heard("invalid", str(error))
    return None if fate is None else Heard(fate)


def hear_some(service: Service, given: Sequence[Any], loops: Sequence[str] | None) -> list[Heard | None]:
    """The same for some events of a batch."""
    if any(type(each) is dict and each.get("type") == "finish" for each in given):  # in their order
        return [hear(service, each, loops) for each in given]
    return [None if fate is None else heard_as(fate) for fate in service.prompt.take_many(given, loops)]


def heard_as(fate: str) -> Heard:
    """What the live loop says of an event, as it is answered."""
    return Heard("invalid", fate.removeprefix("invalid: ")) if fate.startswith("invalid: ") else Heard(fate)


def hear_waiting(service: Service, given: Sequence[Mapping[str, Any]], loops: Sequence[str] | None) -> list[Heard]:
    """The same in a thread, which may wait."""
    return [hear_one(service, each, loops) for each in given]


def hear_one(service: Service, given: Mapping[str, Any], loops: Sequence[str] | None) -> Heard:
    """What becomes of one event."""
    live, impression = service.live, str(given.get("impression"))
    if loops is not None and (live.loop_of(impression) or "") not in loops:
        return Heard("unknown")
    if given.get("type") != "finish":
        return heard_as(live.events([given])[0])
    try:
        for word in given:
            if word not in ("impression", "type", "seen", "id", "at"):
                raise ValueError(f"an event of type finish has no field {word[:80]!r}: it has impression and seen")
        return Heard(live.finish(impression, seen=given.get("seen")))
    except ValueError as error:
        return Heard("invalid", str(error))


# -- rankers -----------------------------------------------------------------------------------------------------


async def duel(service: Service, request: Request) -> Reply:
    """The two rankers to run."""
    asked, loop = read_duel(request.body or b"{}"), request.loop
    found = await about(
        service, loop, service.call(lambda: service.live.duel(loop, asked.key, user=asked.user)), ("key", "user")
    )
    return Reply.of(messages.DuelAnswer(found.id, list(found.rankers), found.loop))


async def interleave(service: Service, request: Request) -> Reply:
    """One list of two."""
    asked, loop = read_interleave(request.body), request.loop

    def call() -> Shown:
        if service.live.loop_of(asked.duel) != loop:
            service.live.settings(loop)
            raise ValueError(f"duel {asked.duel[:40]!r} does not belong to this loop: ask for one with /duel")
        return service.live.interleave(asked.duel, asked.lists, positions=asked.positions)

    shown = await about(service, loop, service.call(call), ("duel", "lists", "positions"))
    return Reply.of(ranked(shown))


# -- loops -------------------------------------------------------------------------------------------------------


def describe(service: Service, loop: str) -> messages.LoopAnswer:
    """A loop with its settings and its status."""
    settings = service.live.settings(loop).to_json()
    del settings["seed"]  # with it, one could foretell what is shown
    return messages.LoopAnswer(loop, settings, plain_status(service.live.status(loop)))


async def list_loops(service: Service, request: Request) -> Reply:
    """All loops that the key may see."""

    def call() -> list[messages.LoopAnswer]:
        return [describe(service, loop) for loop in service.live.loops if request.sees(loop)]

    return Reply.of(messages.LoopsAnswer(await service.call(call)))


async def get_loop(service: Service, request: Request) -> Reply:
    """A loop."""
    loop = request.loop
    return Reply.of(await about(service, loop, service.call(lambda: describe(service, loop)), ()))


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
            raise Problem(422, f"{word}: a parameter of a policy is a number, a text, true, false or null", field=word)

    def call() -> tuple[bool, messages.LoopAnswer]:
        live = service.live
        try:
            settings = Settings.checked(**given)
        except ValueError as error:
            raise senseless(error, fields) from None
        except (TypeError, OverflowError, MemoryError, ArithmeticError) as error:
            raise Problem(422, f"the policy refuses these settings ({error})") from None
        is_new = loop not in live.loops
        try:
            live.create(loop, **given)
        except ValueError as error:
            problem = senseless(error, fields)
            raise problem if is_new else Problem(409, problem.detail, field=problem.field) from None
        there = live.settings(loop)
        asked = {word: getattr(settings, word) for word in CHANGEABLE if word in given}
        changed = {word: value for word, value in asked.items() if value != getattr(there, word)}
        if changed:
            try:
                live.change(loop, **changed)
            except ValueError as error:
                problem = senseless(error, fields)
                raise Problem(409, problem.detail, field=problem.field) from None
        if is_new:
            live.warm_up()
        return is_new, describe(service, loop)

    is_new, answer = await service.call(call)
    logger.info("loop %s was %s", loop, "created" if is_new else "changed")
    return Reply.of(answer, 201 if is_new else 200)


async def put_items(service: Service, request: Request) -> Reply:
    """Feed a catalogue."""
    loop, asked = request.loop, read_items(request.body)
    items = {name: msgspec.to_builtins(features) for name, features in asked.items.items()}
    doing = service.call(lambda: service.live.put_items(loop, items))
    await about(service, loop, doing, ("relevance", "topics", "items"))
    return Reply.of(messages.Done(loop, f"{len(items)} items are known"))


async def pause(service: Service, request: Request) -> Reply:
    """Show production's lists."""
    return await intervene(service, request, service.live.pause, "paused")


async def resume(service: Service, request: Request) -> Reply:
    """Let the policy choose again."""
    return await intervene(service, request, service.live.resume, "resumed")


async def intervene(service: Service, request: Request, call: Callable[[str], None], done: str) -> Reply:
    """Do something to a loop."""
    loop = request.loop
    await about(service, loop, service.call(lambda: call(loop)), ())
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
    await of_key(service, loop, lambda: service.live.revert(loop, key))
    logger.info("a key of loop %s was set back to production's list", loop)
    return Reply.of(messages.Done(loop, "reverted"))


async def of_key(service: Service, loop: str, call: Callable[[], Body]) -> Body:
    """What a call about a key gives; there is no such key if it is refused."""
    try:
        return await service.call(call)
    except ValueError as error:
        raise no_loop(loop) if loop not in service.live.loops else Problem(404, str(error), field="key") from None


async def get_key(service: Service, request: Request) -> Reply:
    """What a loop knows for a key."""
    loop, key, live = request.loop, request.parameters["key"], service.live

    def call() -> messages.KeyAnswer:
        best = live.best(loop, key)
        given = live.receipt(loop, key) if live.settings(loop).policy == "BubbleRank" else None
        receipt = asdict(given) if is_dataclass(given) and not isinstance(given, type) else None
        return messages.KeyAnswer(loop, key, best, receipt)

    return Reply.of(await of_key(service, loop, call))


async def get_impression(service: Service, request: Request) -> Reply:
    """Why a list was shown."""
    id_ = request.parameters["id"]

    def call() -> dict[str, Any]:
        loop = service.live.loop_of(id_)
        if loop is None or not request.sees(loop):
            raise Problem(404, "there is no impression with this id here", field="id")
        try:
            return service.live.explain(id_).to_json()
        except ValueError as error:
            raise Problem(404, str(error), field="id") from None

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

    return await service.call(call)


async def revoke_key(service: Service, request: Request) -> Reply:
    """Make an access key invalid."""
    only_whole_service(request)
    try:
        key = await service.call(lambda: service.keys.revoke(request.parameters["id"]))
    except KeyError as error:
        raise Problem(404, error.args[0], field="id") from None
    logger.info("access key %s was revoked", key.id)
    return Reply.of(key.info)


def only_whole_service(request: Request) -> None:
    """Refuse the key of a tenant."""
    if request.loops is not None:
        raise Problem(403, "this key is for single loops: access keys are made with one for the whole service")


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
    statuses = {loop: status for loop, status in (await service.status()).items() if request.sees(loop)}
    text = service.metrics.text(gauges(service, statuses, whole=request.loops is None))
    return Reply(200, text.encode(), b"text/plain; version=0.0.4; charset=utf-8")


async def openapi(service: Service, request: Request) -> Reply:
    """The description of all this."""
    return Reply(200, service.description)
