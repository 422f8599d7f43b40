"""What the client and its asynchronous twin share: whom they call, what they remember, and when they fall back."""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from rankloop.checks import check_positive, check_whole
from rankloop.client.attempts import Steps, attempts
from rankloop.client.breaker import Breaker
from rankloop.client.calls import Calls, PageCall
from rankloop.client.errors import ServiceAway, ServiceError, ServiceRefused
from rankloop.live.shown import LiveDuel, Shown

logger = logging.getLogger("rankloop.client")

MOST_DUELS = 10_000
"""Duels whose loop is remembered."""
SILENCE = 60.0
"""Seconds for which the same warning is given once."""

Result = TypeVar("Result")

_URL = re.compile(r"https?://[^\s/?#@]+(/[^\s?#]*)?")
_KEY = re.compile(r"[!-~]+")


class BaseClient:
    """All of a client but sending and waiting."""

    _lists: ClassVar[type[Shown]] = Shown

    def __init__(
        self,
        url: str | None,
        key: str | None,
        timeout: float,
        patience: float,
        retries: int,
        positions: int | Mapping[str, int],
    ) -> None:
        url = url or os.environ.get("RANKLOOP_URL", "")
        key = key or os.environ.get("RANKLOOP_KEY", "")
        if not isinstance(url, str) or not _URL.fullmatch(url):
            raise ValueError(f"url must be the service's address, such as http://127.0.0.1:8000, not {url!r}")
        if not isinstance(key, str) or not _KEY.fullmatch(key):
            raise ValueError(
                "give an access key, or set RANKLOOP_KEY: `rankloop live keys create --role rank` makes one"
            )
        check_positive("timeout", timeout)
        check_positive("patience", patience)
        check_whole("retries", retries, 0)
        self._url, self._key, self._patience = url.rstrip("/"), key, patience
        self._calls = Calls(timeout, patience, retries, positions, self._lists)
        self._duels: OrderedDict[str, str] = OrderedDict()
        self._warned: dict[str, float] = {}
        self._closed = False
        self._forget()
        self.fallbacks = 0
        """Lists of production that were answered because the service was away."""

    def _forget(self) -> None:
        """Know nothing of the service's state; locks are new, since another thread may have held them at a fork."""
        self._breaker = Breaker()
        self._memory = threading.Lock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._url!r})"

    def _check_open(self) -> None:
        if self._closed:
            raise ValueError("this client is closed: make another one")

    def _guarded(self, page: PageCall[Result]) -> Steps[Result]:
        """What a page waits for; what stands in its place if the service is away, or will not give it."""
        if not self._breaker.lets_through():
            away = ServiceAway("the service did not answer before, and is left alone for a moment", undone=True)
            return self._fall_back(page, away)
        try:
            result = yield from attempts(page.call)
        except ServiceRefused as error:
            self._breaker.worked()
            if error.status == 422:
                raise
            return self._fall_back(page, error)
        except ServiceAway as error:
            self._breaker.failed()
            return self._fall_back(page, error)
        self._breaker.worked()
        return result

    def _fall_back(self, page: PageCall[Result], error: ServiceError) -> Result:
        if page.fall_back is None:
            raise error
        reason = str(error)
        with self._memory:
            self.fallbacks += 1
            now = time.monotonic()
            warn = now - self._warned.get(reason, -SILENCE) >= SILENCE
            if warn:
                if len(self._warned) > 100:
                    self._warned.clear()
                self._warned[reason] = now
        if warn:
            logger.warning("%s: a page does without the service: %s", self._url, reason)
        return page.fall_back(reason)

    def _duel(self, page: PageCall[LiveDuel]) -> Steps[LiveDuel]:
        """The two rankers to run."""
        duel = yield from self._guarded(page)
        if duel.id:
            with self._memory:
                self._duels[duel.id] = duel.loop
                if len(self._duels) > MOST_DUELS:
                    self._duels.popitem(last=False)
        return duel

    def _interleaved(
        self, duel: str | LiveDuel, lists: Mapping[str, Sequence[str]], positions: int | None, loop: str | None,
        before: tuple[str, ...] = (),
    ) -> Steps[Shown]:  # fmt: skip
        """One list of two; the first ranker's list if the service is away, or gave no duel."""
        id_ = duel.id if isinstance(duel, LiveDuel) else duel
        with self._memory:
            known = duel.loop if isinstance(duel, LiveDuel) else loop or self._duels.get(id_, "")
        if id_ and not known:
            raise ValueError("this duel was not made here: give interleave the duel itself, or loop=")

        def following(seen: tuple[str, ...]) -> Any:
            return self._drive(self._interleaved(id_, lists, positions, known, seen))

        page = self._calls.interleave(known, id_, lists, positions, before, following)
        if not id_:
            return self._fall_back(page, ServiceAway("there was no duel"))
        return (yield from self._guarded(page))

    def _drive(self, steps: Steps[Any]) -> Any:
        raise NotImplementedError
