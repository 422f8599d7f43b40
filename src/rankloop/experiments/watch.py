"""How long work is watched: what a display is told, and a line now and then where there is none."""

from __future__ import annotations

import sys
import time
import warnings
from typing import NamedTuple, Protocol

from rankloop.wording import duration

HEARTBEAT = 20.0
"""Seconds between lines in a log."""


class Status(NamedTuple):
    """Where the work stands."""

    experiment: str
    """The first that is not finished."""
    number: int
    """Of that experiment, from 1 on."""
    experiments: int
    doing: str
    """"preparing", "compiling" or "running"."""
    done: int
    """Units that are finished, those of earlier times included; before that experiments that are prepared, and pairs
    of policy and environment that are compiled."""
    total: int
    seconds_left: float | None
    """Of all experiments, from the measured time a step of each policy; None while that is unknown."""
    failures: int = 0


class Watcher(Protocol):
    """Shows progress; both methods are called in the thread that called the runner."""

    def show(self, status: Status) -> None:
        """Show where the work stands; called several times a second."""

    def note(self, text: str) -> None:
        """Tell something that the user should know, and that is no reason to stop."""


class Silent:
    """Shows nothing; what the user should know becomes a warning."""

    def show(self, status: Status) -> None:
        """Show nothing."""

    def note(self, text: str) -> None:
        """Warn."""
        warnings.warn(text, stacklevel=2)


class Lines:
    """A line on standard error for each experiment, and every 20 seconds: for logs.

    >>> import contextlib
    >>> with contextlib.redirect_stderr(sys.stdout):
    ...     Lines().show(Status("noise", 2, 9, "running", 40, 120, 75.0))
    [2/9] noise: 40 of 120 units, 1 min 15 s left
    """

    def __init__(self, every: float = HEARTBEAT) -> None:
        self._every = every
        self._told: tuple[str, str] | None = None
        self._again = 0.0

    def show(self, status: Status) -> None:
        """Print a line, if it is time for one."""
        now = time.monotonic()
        if (status.experiment, status.doing) != self._told or now >= self._again:
            self._told, self._again = (status.experiment, status.doing), now + self._every
            print(line(status), file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        """Print it."""
        print(text, file=sys.stderr, flush=True)


def line(status: Status) -> str:
    """The status in words."""
    what = {"preparing": "experiments prepared", "compiling": "policies compiled"}.get(status.doing, "units")
    parts = [f"{status.done:,} of {status.total:,} {what}"]
    if status.seconds_left is not None:
        parts.append(f"{duration(status.seconds_left)} left")
    if status.failures:
        parts.append(f"{status.failures:,} failed")
    return f"[{status.number}/{status.experiments}] {status.experiment}: {', '.join(parts)}"
