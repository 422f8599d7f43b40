"""A service that does not answer is left alone for a moment, so that pages do not wait for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Breaker:
    """Counts failures in a row; after some, nobody is let through for a while, and then one to try.

    Parameters
    ----------
    failures
        Number of failures in a row after which it opens.
    rest
        Seconds for which it stays open.
    clock
        Function that tells the time in seconds.

    Examples
    --------
    >>> now = [0.0]
    >>> breaker = Breaker(2, 1.0, clock=lambda: now[0])
    >>> for _ in range(2):
    ...     assert breaker.lets_through()
    ...     breaker.failed()
    >>> breaker.lets_through()
    False
    >>> now[0] = 1.0
    >>> breaker.lets_through(), breaker.lets_through()
    (True, False)
    >>> breaker.worked()
    >>> breaker.lets_through()
    True
    """

    def __init__(self, failures: int = 5, rest: float = 1.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._rest, self._clock = failures, rest, clock
        self._failures, self._until = 0, 0.0
        self._lock = threading.Lock()

    def lets_through(self) -> bool:
        """Whether to ask the service now."""
        with self._lock:
            if self._failures < self._most:
                return True
            now = self._clock()
            if now < self._until:
                return False
            self._until = now + self._rest  # one tries; the others wait for what it finds
            return True

    def worked(self) -> None:
        """The service has answered."""
        with self._lock:
            self._failures = 0

    def failed(self) -> None:
        """The service has not answered, or could not."""
        with self._lock:
            self._failures += 1
            if self._failures >= self._most:
                self._until = self._clock() + self._rest
