"""How much the service takes on: beyond, it says so at once and stays alive."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from rankloop.checks import check_known, is_number
from rankloop.service.problems import ProblemDetails


@dataclass(frozen=True)
class Limits:
    """Limits of a service, which stand under `[serve]` in `rankloop.toml`.

    Parameters
    ----------
    body
        Bytes of a request.
    requests
        Requests that are being answered at the same time.
    threads
        Calls that wait for the store, or for a key that is not in memory, at the same time.
    patience
        Seconds after which `rank` answers with production's list.
    rate
        Requests per second of one key; 0 for no limit.
    browser_rate
        Requests per second of one address that uses a browser's key.
    guesses
        Requests per second of one address without a valid key.
    slow
        Seconds from which a request is told of in the log.

    Examples
    --------
    >>> Limits.told({"body": 2_000_000}).body
    2000000
    """

    body: int = 4_000_000
    requests: int = 2_000
    threads: int = 500
    patience: float = 0.5
    rate: float = 0.0
    browser_rate: float = 20.0
    guesses: float = 5.0
    slow: float = 1.0

    @classmethod
    def told(cls, values: Mapping[str, Any]) -> Limits:
        """Limits from a file of settings."""
        for word, value in values.items():
            check_known("setting of [serve]", word, [field.name for field in fields(cls)])
            if not is_number(value) or value < 0:
                raise ValueError(f"{word} of [serve] must be a number of at least 0, not {value!r}")
        return cls(**values)


class RequestRates:
    """Counts requests of many, each of whom may make so many per second, and five seconds' worth at once.

    Parameters
    ----------
    rate
        Requests per second; 0 for no limit.
    clock
        Function that tells the time in seconds.

    Examples
    --------
    >>> now = [0.0]
    >>> rates = RequestRates(2.0, clock=lambda: now[0])
    >>> [rates.wait("somebody") for _ in range(11)][-2:]
    [0.0, 0.5]
    >>> now[0] = 1.0
    >>> rates.wait("somebody")
    0.0
    """

    MOST = 10_000
    """Of those who are remembered; who has not asked for longest is forgotten."""
    BURST = 5.0

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._free_at: OrderedDict[str, float] = OrderedDict()

    def wait(self, who: str) -> float:
        """Count a request; seconds to wait until the next one would be let through, 0 if this one is."""
        if not self._rate:
            return 0.0
        wait = self.full(who)
        if not wait:
            now = self._clock()
            self._free_at[who] = max(self._free_at.get(who, now), now) + 1 / self._rate
            self._free_at.move_to_end(who)
            if len(self._free_at) > self.MOST:
                self._free_at.popitem(last=False)
        return wait

    def full(self, who: str) -> float:
        """Seconds that somebody has to wait, without counting anything."""
        if not self._rate or who not in self._free_at:
            return 0.0
        ahead = self._free_at[who] - self._clock() - self.BURST + 1 / self._rate
        return ahead if ahead > 1e-9 else 0.0

    def check(self, who: str, what: str) -> None:
        """Count a request, or refuse it."""
        wait = self.wait(who)
        if wait:
            raise too_many(what, self._rate, wait)


def too_many(what: str, rate: float, wait: float) -> ProblemDetails:
    """What to say to somebody who asks too often."""
    return ProblemDetails(
        429, f"{what} may make {rate:g} requests per second: wait, and send again", retry_after=int(wait) + 1
    )
