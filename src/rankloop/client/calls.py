"""The calls that the service knows: the request of each, and what its answer means. Nothing here does any I/O."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import quote

from rankloop.checks import check_whole
from rankloop.client.attempts import Call
from rankloop.client.errors import ServiceRefused
from rankloop.live.names import check_name, check_names
from rankloop.live.pages import check_pinned, page_of
from rankloop.live.shown import LiveDuel, Shown
from rankloop.wording import shorten

if TYPE_CHECKING:
    from rankloop.live import LiveExplanation
    from rankloop.policies import SafetyReceipt

Result = TypeVar("Result")

MOST_EVENTS = 1_000
"""Events of one request."""
MOST_BYTES = 1_000_000
"""Bytes of events in one request."""
SECONDS_TO_CREATE = 120.0
"""How long it may take to create a loop, whose policy may have to be compiled."""
SECONDS_OF_AN_ATTEMPT = 2.5
"""Seconds after which a call that can wait is sent again."""


@dataclass(frozen=True)
class PageCall(Generic[Result]):
    """A request that a page waits for, and what to show instead of its answer, for a given reason."""

    call: Call[Result]
    fall_back: Callable[[str], Result] | None


class Calls:
    """Makes calls.

    Parameters
    ----------
    timeout
        Seconds that a page waits for a list.
    patience
        Seconds within which all else must be done.
    retries
        Number of further attempts.
    positions
        Number of items that a fallback shows, for each loop or for all, as long as the service has not shown it.
    shown
        Type of the lists.

    Examples
    --------
    >>> calls = Calls(timeout=0.25, patience=10.0, retries=10, positions=2)
    >>> page = calls.rank("search", "laptop", ["sku-9", "sku-2", "sku-7"], None, {0: "ad-1"}, False)
    >>> page.call.path, page.fall_back("the service is away").items
    ('/v1/loops/search/rank', ['ad-1', 'sku-9'])
    """

    def __init__(
        self, timeout: float, patience: float, retries: int, positions: int | Mapping[str, int],
        shown: type[Shown] = Shown,
    ) -> None:  # fmt: skip
        self._timeout, self._patience, self._retries, self._shown = timeout, patience, retries, shown
        for number in positions.values() if isinstance(positions, Mapping) else (positions,):
            check_whole("positions of each loop", number, 1)
        self._told, self._learned = positions, dict[str, int]()

    # -- lists ---------------------------------------------------------------------------------------------------

    def positions(self, loop: str) -> int:
        """How many items a loop shows, as far as that is known."""
        told = self._told.get(loop, 10) if isinstance(self._told, Mapping) else self._told
        return self._learned.get(loop, told)

    def _learn_positions(self, loop: str, shown: int, offered: int) -> None:
        """Learn from a list how many items a loop shows: exactly, if more were offered; else at least so many."""
        if shown < offered or shown > self.positions(loop):
            self._learned[loop] = shown

    def rank(
        self,
        loop: str,
        key: str,
        items: Sequence[str],
        user: str | None,
        pinned: Mapping[int, str] | None,
        deferred: bool,
    ) -> PageCall[Shown]:
        """The list to show, from production's list."""
        check_name("the name of a loop", loop)
        check_name("key", key)
        if user is not None:
            check_name("user", user)
        given = check_names("items", items)
        names, pins = check_pinned(given, pinned)
        whole = page_of(names, range(len(names)), pins, len(names) + len(pins))
        allowed = {*names, *(pinned or {}).values()}
        asked: dict[str, Any] = {"key": key, "items": given}
        for word, value in (("user", user), ("pinned", pinned), ("deferred", deferred)):
            if value:
                asked[word] = value

        def read(told: Any) -> Shown:
            shown = self._list(told, loop, key, allowed)
            if not shown.items or any(place < len(shown) and name not in shown.items for place, name in pins):
                raise ValueError("the list is empty, or lacks what is pinned")
            self._learn_positions(loop, len(shown), len(whole))
            return shown

        def fall_back(reason: str) -> Shown:
            page = page_of(names, range(len(names)), pins, self.positions(loop))
            return self._shown("", page, loop, key, "fallback", reason=reason)

        return PageCall(self._page_call(_path(loop, "rank"), asked, read), fall_back)

    def interleave(
        self,
        loop: str,
        duel: str,
        lists: Mapping[str, Sequence[str]],
        positions: int | None,
        before: tuple[str, ...],
        following: Callable[[tuple[str, ...]], Any],
    ) -> PageCall[Shown]:
        """The next page of two rankers' lists; `before` is what the pages before it showed."""
        if not isinstance(lists, Mapping) or not lists:
            raise ValueError(f"give the list of each of the duel's rankers by name, not {shorten(lists)}")
        named = {ranker: list(check_names(f"the list of {ranker}", names)) for ranker, names in lists.items()}
        if positions is not None:
            check_whole("positions", positions, 1)
        allowed = {name for names in named.values() for name in names}
        asked = {"duel": duel, "lists": named, "positions": positions}

        def with_more(shown: Shown) -> Shown:
            seen = (*before, *shown.items)
            shown.following = lambda: following(seen)
            return shown

        def fall_back(reason: str) -> Shown:
            first = [name for name in next(iter(named.values())) if name not in before]
            page = first[: self.positions(loop) if positions is None else positions]
            return with_more(self._shown("", page, loop, "", "fallback", reason=reason))

        def read(told: Any) -> Shown:
            return with_more(self._list(told, loop, "", allowed))

        return PageCall(self._page_call(_path(loop, "interleave"), asked, read), fall_back)

    def duel(self, loop: str, key: str, user: str | None, default: str | None) -> PageCall[LiveDuel]:
        """The two rankers to run."""
        check_name("the name of a loop", loop)

        def read(told: Any) -> LiveDuel:
            first, second = told["rankers"]
            return LiveDuel(_text(told["id"]), (_text(first), _text(second)), loop)

        asked = {"key": key} if user is None else {"key": key, "user": user}
        # a duel that nobody shows is not learned from, so that asking twice does no harm
        call = self._page_call(_path(loop, "duel"), asked, read, repeatable=True)
        return PageCall(call, None if default is None else lambda _: LiveDuel("", (default, default), loop))

    def _page_call(
        self, path: str, asked: Any, read: Callable[[Any], Result], *, repeatable: bool = False
    ) -> Call[Result]:
        # a list that is asked for twice is two lists, and the one that nobody saw would be learned from
        return Call("POST", path, to_json(asked), read, self._timeout, self._timeout, self._retries, repeatable)

    def _list(self, told: Any, loop: str, key: str, allowed: set[str]) -> Shown:
        """A list as the service answers it, if it can stand on the page."""
        items = [_text(item) for item in told["items"]]
        if not allowed.issuperset(items) or len(set(items)) < len(items):
            raise ValueError("the list has items that are not production's, or one twice")
        return self._shown(
            _text(told["id"]), items, loop, key, _text(told["arm"]), reason=_text(told.get("reason", ""))
        )

    # -- events --------------------------------------------------------------------------------------------------

    def event(self, event: Mapping[str, Any]) -> Call[str]:
        """One event."""

        def read(told: Any) -> str:
            return _text(told["fate"])

        return self._call("POST", "/v1/events", to_json(with_id(event)), read)

    def events(self, batch: Iterable[Mapping[str, Any]]) -> tuple[list[str | None], Iterator[Call[list[str]]]]:
        """Many events: what is known of each already, and the calls that tell of the others, in order."""
        if isinstance(batch, str | bytes | Mapping) or not isinstance(batch, Iterable):
            raise ValueError(f"events are given as a list of objects, not {shorten(batch)}")
        known: list[str | None] = []
        texts: list[bytes] = []
        for event in batch:
            if isinstance(event, Mapping) and event.get("impression") == "":
                known.append("ignored")
                continue
            known.append(None)
            texts.append(to_json(with_id(event) if isinstance(event, Mapping) else event))
        return known, self._batches(texts)

    def _batches(self, texts: Sequence[bytes]) -> Iterator[Call[list[str]]]:
        some: list[bytes] = []
        size = 0
        for text in texts:
            if some and (len(some) == MOST_EVENTS or size + len(text) > MOST_BYTES):
                yield self._batch(some)
                some, size = [], 0
            some.append(text)
            size += len(text)
        if some:
            yield self._batch(some)

    def _batch(self, texts: Sequence[bytes]) -> Call[list[str]]:
        def read(told: Any) -> list[str]:
            fates = [_fate(heard) for heard in told["events"]]
            if len(fates) != len(texts):
                raise ValueError(f"{len(fates)} events were answered, not {len(texts)}")
            return fates

        return self._call("POST", "/v1/events", b"[" + b",".join(texts) + b"]", read)

    # -- loops ---------------------------------------------------------------------------------------------------

    def put_loop(self, loop: str, settings: Mapping[str, Any]) -> Call[None]:
        """Create a loop, or change it."""
        check_name("the name of a loop", loop)
        call = self._call("PUT", _path(loop), to_json(settings), _nothing)
        seconds = max(self._patience, SECONDS_TO_CREATE)
        return Call(call.method, call.path, call.body, call.read, seconds, seconds, call.retries)

    def fixed_settings(self, loop: str) -> Call[dict[str, Any]]:
        """The settings of a loop that stay as they are, and its rankers: what a change has to repeat."""

        def read(told: Any) -> dict[str, Any]:
            changing = ("mode", "traffic", "paused")
            return {word: value for word, value in told["settings"].items() if value != [] and word not in changing}

        return self._call("GET", _path(loop), None, read)

    def put_items(self, loop: str, items: Mapping[str, Mapping[str, Any]]) -> Call[None]:
        """Features of items."""
        return self._call("PUT", _path(loop, "items"), to_json({"items": items}), _nothing)

    def intervene(self, loop: str, what: str, **asked: Any) -> Call[None]:
        """Pause, resume or revert."""
        return self._call("POST", _path(loop, what), to_json(asked) if asked else None, _nothing)

    def loops(self) -> Call[tuple[str, ...]]:
        """The names of all loops."""
        return self._call("GET", "/v1/loops", None, lambda told: tuple(_text(each["loop"]) for each in told["loops"]))

    def status(self, loop: str | None) -> Call[dict[str, Any]]:
        """What a loop, or each of them, has counted and found."""
        if loop is not None:
            return self._call("GET", _path(loop), None, lambda told: _status(told["status"]))

        def read(told: Any) -> dict[str, Any]:
            return {_text(each["loop"]): _status(each["status"]) for each in told["loops"]}

        return self._call("GET", "/v1/loops", None, read)

    def best(self, loop: str, key: str) -> Call[list[str]]:
        """The list that looks best for a key."""
        return self._call("GET", _path(loop, "keys", key), None, lambda told: [_text(item) for item in told["best"]])

    def receipt(self, loop: str, key: str) -> Call[SafetyReceipt]:
        """What BubbleRank has decided for a key."""

        def read(told: Any) -> SafetyReceipt:
            from rankloop.policies.clicks.safety import Exchange, PairEvidence, SafetyReceipt

            found = told.get("receipt")
            if found is None:
                raise ServiceRefused(f"only BubbleRank gives a receipt; loop {loop!r} runs another policy")
            pairs = [PairEvidence(**pair) for pair in found["pairs"]]
            exchanges = [Exchange(**each) for each in found["exchanges"]]
            return SafetyReceipt(**{**found, "pairs": pairs, "exchanges": exchanges})

        return self._call("GET", _path(loop, "keys", key), None, read)

    def explain(self, impression: str) -> Call[LiveExplanation]:
        """Why this list."""

        def read(told: Any) -> LiveExplanation:
            from rankloop.live import LiveExplanation

            return LiveExplanation(**told)

        return self._call("GET", f"/v1/impressions/{_quoted(impression)}", None, read)

    def _call(self, method: str, path: str, body: bytes | None, read: Callable[[Any], Result]) -> Call[Result]:
        return Call(method, path, body, read, self._patience, SECONDS_OF_AN_ATTEMPT, self._retries)


def with_id(event: Mapping[str, Any]) -> dict[str, Any]:
    """An event with an id, so that sending it again is known to be that."""
    told = {word: value for word, value in event.items() if value is not None}
    if not told.get("id"):
        told["id"] = uuid.uuid4().hex
    return told


def merged(known: Sequence[str | None], told: Iterable[str]) -> list[str]:
    """What became of all events, of those that were known before and those that were told since."""
    following = iter(told)
    return [next(following) if fate is None else fate for fate in known]


def to_json(value: Any) -> bytes:
    """A value as it travels."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain).encode()
    except TypeError as error:
        raise ValueError(f"this cannot be sent as JSON: {error}") from None


def _plain(value: Any) -> Any:
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "tolist"):  # NumPy's numbers and arrays
        return value.tolist()
    raise TypeError(f"{shorten(value)} is neither a number, a text, a list nor an object")


def _path(loop: str, *more: str) -> str:
    return "/v1/loops/" + "/".join(map(_quoted, (loop, *more)))


def _quoted(segment: str) -> str:
    """A text as one segment of a path; a dot alone would mean something else there."""
    text = quote(segment, safe="")
    return text.replace(".", "%2E") if text.strip(".") == "" else text


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a text, not {shorten(value)}")
    return value


def _fate(heard: Any) -> str:
    fate, reason = _text(heard["fate"]), heard.get("reason")
    return f"{fate}: {_text(reason)}" if reason else fate


def _nothing(told: Any) -> None:
    if not isinstance(told, dict):
        raise TypeError("expected an object")


def _status(told: Mapping[str, Any]) -> dict[str, Any]:
    status = dict(told)
    if "uplift" in status:
        from rankloop.live import Uplift

        found = {word: value for word, value in status["uplift"].items() if word != "decided"}
        status["uplift"] = Uplift(**{**found, "impressions": tuple(found["impressions"])})
    return status
