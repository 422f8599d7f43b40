"""Displays of the progress of a long computation: a bar at a terminal, lines for a log."""

from __future__ import annotations

import sys
import time
import warnings
from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Protocol, Self

from rankloop.wording import duration

HEARTBEAT = 20.0
"""Seconds between lines in a log."""

PATIENCE = 2.0
"""Seconds before a patient bar appears: short work needs none."""


class Status(NamedTuple):
    """How far the work is."""

    title: str
    """Name of the first part of the work that is not finished: an experiment, or a policy."""
    number: int
    """Number of that part, from 1 on."""
    parts: int
    doing: str
    """"preparing", "compiling" or "running"."""
    done: int
    """What is finished, including earlier sessions: units when running, else parts prepared or policies compiled."""
    total: int
    seconds_left: float | None = None
    """Estimated time for all that is left; None while it is unknown."""
    failures: int = 0
    begun: float = 0.0
    """How much is done of units that are not finished, in units."""
    units: str = "runs"
    """What a unit is called."""


class Watcher(Protocol):
    """Is told how far the work is; both methods are called in the thread that started the work."""

    def show(self, status: Status) -> None:
        """Show how far the work is; called several times per second."""

    def note(self, text: str) -> None:
        """Tell something that the user should know, and that is no reason to stop."""


class Silent:
    """Shows nothing; what the user should know becomes a warning."""

    def show(self, status: Status) -> None:
        """Show nothing."""

    def note(self, text: str) -> None:
        """Warn."""
        warnings.warn(text, stacklevel=2)


class Display(ABC):
    """A watcher that people see, for a `with` statement."""

    @abstractmethod
    def show(self, status: Status) -> None:
        """Show how far the work is."""

    @abstractmethod
    def note(self, text: str) -> None:
        """Tell something that the user should know."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:  # noqa: B027 - lines leave nothing to be removed
        """Leave the terminal as it was."""


class Lines(Display):
    """Prints a line to standard error when a new part begins, and every 20 seconds.

    >>> import contextlib
    >>> with contextlib.redirect_stderr(sys.stdout):
    ...     Lines().show(Status("noise", 2, 9, "running", 40, 120, 75.0))
    [2/9] noise: 40 of 120 runs, 1 min 15 s left
    """

    def __init__(self, every: float = HEARTBEAT) -> None:
        self._every = every
        self._told: tuple[str, str] | None = None
        self._again = 0.0

    def show(self, status: Status) -> None:
        """Print a line, if it is time for one."""
        now = time.monotonic()
        # Most parts are prepared in a moment, so that only the first of them is worth a line.
        about = ("" if status.doing == "preparing" else status.title, status.doing)
        if about != self._told or now >= self._again:
            self._told, self._again = about, now + self._every
            self.note(line(status))

    def note(self, text: str) -> None:
        """Print it."""
        print(text, file=sys.stderr, flush=True)


class Bar(Display):
    """Shows a bar on standard error, with the time left.

    A patient one appears only after two seconds, and only on a terminal.
    """

    def __init__(self, patient: bool = False) -> None:
        self._shown_from = time.monotonic() + PATIENCE
        self._bars: Any = None if patient else self._start()

    def _start(self) -> Any:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = bars.add_task("preparing", total=None, note="")
        bars.start()
        return bars

    def close(self) -> None:
        """Remove the bar."""
        if self._bars is not None:
            self._bars.stop()

    def show(self, status: Status) -> None:
        """Move the bar."""
        if self._bars is None:
            if time.monotonic() < self._shown_from or not sys.stderr.isatty():
                return
            self._bars = self._start()
        from rich.markup import escape

        place = f"[dim]{status.number}/{status.parts}[/] {escape(status.title)}"
        notes = [f"{status.done:,} of {status.total:,} {status.units}"] if status.doing == "running" else []
        notes += [f"{duration(status.seconds_left)} left"] if status.seconds_left is not None else []
        notes += [f"[red]{status.failures:,} failed[/]"] if status.failures else []
        self._bars.update(
            self._task,
            description=place if status.doing == "running" else status.doing,
            total=status.total,
            completed=min(status.total, status.done + status.begun),
            note=", ".join(notes),
        )

    def note(self, text: str) -> None:
        """Print it above the bar."""
        if self._bars is not None:
            self._bars.console.print(text, markup=False, highlight=False)
        else:
            Silent().note(text)


def display() -> Display:
    """A bar where standard error is a terminal, else lines."""
    return Bar() if sys.stderr.isatty() else Lines()


def line(status: Status) -> str:
    """The status in words."""
    what = {"preparing": "experiments prepared", "compiling": "policies compiled"}.get(status.doing, status.units)
    parts = [f"{status.done:,} of {status.total:,} {what}"]
    if status.seconds_left is not None:
        parts.append(f"{duration(status.seconds_left)} left")
    if status.failures:
        parts.append(f"{status.failures:,} failed")
    return f"[{status.number}/{status.parts}] {status.title}: {', '.join(parts)}"
