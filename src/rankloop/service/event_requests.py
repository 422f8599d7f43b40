"""Events over HTTP: each goes to the partition of its impression, and is answered once it has been written for good."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rankloop.service.messages import Heard, HeardAll, encode
from rankloop.service.owned_partitions import Elsewhere, Partition
from rankloop.service.problems import ProblemDetails
from rankloop.service.request import Request
from rankloop.service.service import Service

AT_ONCE = 50
"""Events of a batch that are taken in before others get their turn."""

_read_answers = msgspec.json.Decoder(HeardAll).decode


async def hear_all(service: Service, request: Request, given: Sequence[Any]) -> list[Heard]:
    """What becomes of events, in their order; all that was accepted has been written for good."""
    if service.only is not None:
        heard = await hear_here(service, service.only, given, request.loops)
    else:
        heard = await _hear_in_parts(service, request, given)
    if not request.forwarded:
        for each in heard:
            service.metrics.fates[each.fate] += 1
    return heard


async def _hear_in_parts(service: Service, request: Request, given: Sequence[Any]) -> list[Heard]:
    """The same where each event goes to the owner of its partition."""
    places: dict[int, list[int]] = {}
    for place, event in enumerate(given):
        id_ = event.get("impression") if type(event) is dict else None
        places.setdefault(service.partitions.number_in(id_), []).append(place)

    async def one(number: int) -> list[Heard]:
        some = [given[place] for place in places[number]]
        part = service.partitions.at(number)
        if part is not None:
            return await hear_here(service, part, some, request.loops)
        if request.forwarded or service.workers is None:
            raise Elsewhere(number)
        asked = Request({}, encode(some), request.key, request.id)
        reply = await service.workers.forward(number, "events", asked)
        if reply.status != 200:
            raise ProblemDetails(503, msgspec.json.decode(reply.body)["detail"], retry_after=1)
        return _read_answers(reply.body).events

    answers = await asyncio.gather(*map(one, places), return_exceptions=True)
    heard: dict[int, Heard] = {}
    for number, answer in zip(places, answers, strict=True):
        if isinstance(answer, BaseException):
            raise answer
        heard.update(zip(places[number], answer, strict=True))
    return [heard[place] for place in range(len(given))]


async def hear_here(
    service: Service, part: Partition, given: Sequence[Any], loops: Sequence[str] | None
) -> list[Heard]:
    """What becomes of events of one partition, which this process owns."""
    with part:
        all_heard: list[Heard | None] = []
        for start in range(0, len(given), AT_ONCE):
            if start:
                await asyncio.sleep(0)
            all_heard += hear_some(part, given[start : start + AT_ONCE], loops)
        later = [number for number, heard in enumerate(all_heard) if heard is None]
        if later:
            waited = await service.call(lambda: [hear_one(part, given[number], loops) for number in later])
            for number, heard in zip(later, waited, strict=True):
                all_heard[number] = heard
        await service.durable(part)
    return [heard for heard in all_heard if heard is not None]


def hear(part: Partition, given: Any, loops: Sequence[str] | None) -> Heard | None:
    """What becomes of an event; None if one must wait for that."""
    if type(given) is dict and given.get("type") == "finish":
        return None
    try:
        fate = part.prompt.take(given, loops)
    except ValueError as error:
        return Heard("invalid", str(error))
    return None if fate is None else Heard(fate)


def hear_some(part: Partition, given: Sequence[Any], loops: Sequence[str] | None) -> list[Heard | None]:
    """The same for some events of a batch."""
    if any(type(each) is dict and each.get("type") == "finish" for each in given):  # in their order
        return [hear(part, each, loops) for each in given]
    return [None if fate is None else heard_as(fate) for fate in part.prompt.take_many(given, loops)]


def heard_as(fate: str) -> Heard:
    """What the live loop says of an event, as it is answered."""
    return Heard("invalid", fate.removeprefix("invalid: ")) if fate.startswith("invalid: ") else Heard(fate)


def hear_one(part: Partition, given: Mapping[str, Any], loops: Sequence[str] | None) -> Heard:
    """What becomes of one event, in a thread, which may wait."""
    live, impression = part.live, str(given.get("impression"))
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
