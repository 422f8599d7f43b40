"""Which policy is running, and how far it is: bars for a person, a line now and then for a log."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from rankloop.simulation import Result
from rankloop.simulation.progress import Advance

HEARTBEAT = 20.0
"""Seconds between lines where there is no terminal."""


class Board:
    """Shows several simulations, one after the other; its `progress` and `ran` are what `simulate` calls."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._begun = 0
        self._label = ""
        self._runs = 0
        self._begin = 0.0
        self._task: Any = None
        self._bars: Any = _bars() if sys.stderr.isatty() else None

    def __enter__(self) -> Self:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def start(self, label: str, runs: int) -> None:
        """Announce the next simulation, before it is compiled."""
        self._begun += 1
        self._label, self._runs, self._begin = label, runs, time.monotonic()
        if self._bars is not None:
            self._task = self._bars.add_task(self._number(label), start=False, total=None, note="compiling")
        else:
            self._print(f"{label}: {runs:,} run{'s' * (runs != 1)}")

    @contextmanager
    def progress(self, _label: str, total: int) -> Iterator[Advance]:
        """Show the steps of the simulation that was announced."""
        if self._bars is not None:
            self._bars.start_task(self._task)
            self._bars.update(self._task, total=total, note="running")
            yield lambda steps: self._bars.advance(self._task, steps)
            return
        lock = threading.Lock()
        done, spoken = 0, time.monotonic()

        def advance(steps: int) -> None:
            nonlocal done, spoken
            with lock:
                done += steps
                if time.monotonic() - spoken > HEARTBEAT:
                    spoken = time.monotonic()
                    self._print(f"{self._label}: {done / total:.0%}")

        yield advance

    def ran(self, result: Result) -> None:
        """Count a finished run."""
        if self._bars is not None:
            self._bars.update(self._task, note=f"{len(result.finished):,} of {self._runs:,} runs")

    def finish(self, result: Result) -> None:
        """Say how the simulation ended."""
        seconds = time.monotonic() - self._begin
        if self._bars is not None:
            self._bars.start_task(self._task)
            self._bars.update(self._task, total=1, completed=1, note=f"{len(result.finished):,} runs, {seconds:.0f} s")
            self._bars.stop_task(self._task)
        else:
            self._print(f"{result}, {seconds:.1f} s")

    def _number(self, label: str) -> str:
        from rich.markup import escape

        return f"[dim]{self._begun}/{self._jobs}[/] {escape(label)}"

    def _print(self, line: str) -> None:
        print(f"[{self._begun}/{self._jobs}] {line}", file=sys.stderr, flush=True)


def _bars() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskProgressColumn, TextColumn
    from rich.text import Text

    class TimeLeft(ProgressColumn):
        max_refresh = 0.5

        def render(self, task: Task) -> Text:
            if task.finished or not task.started or task.time_remaining is None:
                return Text("")
            minutes, seconds = divmod(round(task.time_remaining), 60)
            return Text(f"{minutes // 60}:{minutes % 60:02}:{seconds:02} left", style="dim")

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[note]}"),
        TimeLeft(),
        console=Console(stderr=True),
        transient=True,
    )
